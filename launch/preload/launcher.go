package preload

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/ldso"
)

// launcher is a kind of launcher: what is needed of its command line.
type launcher struct {
	mpi    MPI            // whose programs it starts; "": any
	takes  map[string]int // options, without dashes, that are followed by values, and by how many
	flags  []string       // options without
	joined bool           // the value of a short option may follow it in the same word: -n4

	// instruct returns the words after the launcher with the options that set
	// LD_PRELOAD for the programs, and EXANET_ variables.
	instruct func(l *line, env environment, library string) []string
}

// launcherOf is what to type for an MPI.
var launcherOf = map[MPI]string{MPICH: "mpirun.mpich or mpiexec.hydra", OpenMPI: "mpirun.openmpi or orterun"}

var (
	hydra   = &launcher{mpi: MPICH, instruct: instructHydra, takes: hydraTakes, flags: hydraFlags}
	openMPI = &launcher{mpi: OpenMPI, instruct: instructOpenMPI, takes: openMPITakes, flags: openMPIFlags}
	slurm   = &launcher{instruct: instructSlurm, takes: slurmTakes, flags: slurmFlags, joined: true}
)

// launcherNames are those that only one kind has.
var launcherNames = map[string]*launcher{
	"mpiexec.hydra": hydra, "mpirun.hydra": hydra, "mpiexec.mpich": hydra, "mpirun.mpich": hydra, "hydra": hydra,
	"orterun": openMPI, "prterun": openMPI, "prun": openMPI, "mpiexec.openmpi": openMPI, "mpirun.openmpi": openMPI,
	"srun": slurm,
}

// launcherAt returns what kind of launcher an executable is, nil if it is none. The
// name mpirun may be anyone's: then what the file is tells, found through symbolic
// links as those of Debian's alternatives.
func launcherAt(path string) *launcher {
	name := path
	for range 40 { // as many links as the kernel follows
		if kind, ok := launcherNames[filepath.Base(name)]; ok {
			return kind
		}
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	if base := filepath.Base(path); base != "mpirun" && base != "mpiexec" {
		return nil
	}
	if o, err := ldso.Open(path); err == nil {
		for _, lib := range o.Needed {
			if strings.HasPrefix(lib, "libopen-") || strings.HasPrefix(lib, "libprrte") {
				return openMPI
			}
		}
	}
	// A wrapper script, or a binary with everything in it.
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 4<<20))
	switch text = bytes.ToLower(text); {
	case bytes.Contains(text, []byte("hydra")):
		return hydra
	case bytes.Contains(text, []byte("prte")) || bytes.Contains(text, []byte("orterun")):
		return openMPI
	case bytes.Contains(text, []byte("srun")):
		return slurm
	}
	return nil
}

// option reads the option at words[at], if there is one.
func (l *launcher) option(words []string, at int) (option, bool) {
	word := words[at]
	if len(word) < 2 || word[0] != '-' {
		return option{}, false
	}
	name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if word[1] != '-' && l.joined && len(name) > 1 {
		return option{at, 1, name[:1], []string{word[2:]}}, true
	}
	o := option{at: at, n: 1, name: name}
	want := l.takes[name]
	if joined {
		o.values = append(o.values, value)
		want--
	}
	for ; want > 0 && at+o.n < len(words); want-- {
		o.values = append(o.values, words[at+o.n])
		o.n++
	}
	return o, true
}

// knows reports whether an option is one of the launcher's.
func (l *launcher) knows(name string) bool {
	_, ok := l.takes[name]
	return ok || slices.Contains(l.flags, name)
}
