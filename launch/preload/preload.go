// Package preload turns a command that starts an MPI program into the same
// command with the preload library (cmd/libexanet) in front of the program's MPI.
//
//	preload.go    Plan, which joins the rest
//	words.go      the launcher and the programs in a command line
//	launcher.go   the launchers, options.go their options
//	instruct.go   how each is told about environment variables
//	program.go    which MPI a program uses: its libraries
//	script.go     the same for scripts: what they load
//	library.go    the library for an MPI, and whether it fits the program
//	list.go       the value of LD_PRELOAD
//
// Nothing is run but Python, which knows best where its modules are.
package preload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/ldso"
)

// MPI is one that there is a library for.
type MPI string

const (
	MPICH   MPI = "mpich"
	OpenMPI MPI = "openmpi"
	ABI     MPI = "abi" // any whose library has the standard ABI
)

// MPIs are all of them.
var MPIs = []MPI{MPICH, OpenMPI, ABI}

func (m MPI) String() string {
	switch m {
	case MPICH:
		return "MPICH"
	case OpenMPI:
		return "Open MPI"
	case ABI:
		return "the standard ABI"
	}
	return string(m)
}

// Config says what to plan for.
type Config struct {
	Words []string // the command
	Env   []string // its environment
	MPI   MPI      // what its programs use; "": look
	Dirs  []string // where the library may be, the best first
}

// Command is what to run.
type Command struct {
	Path    string   // of the executable
	Words   []string // its name as the user has written it, and its arguments
	Env     []string
	MPI     MPI
	Library string // what is preloaded
	Ranks   int    // how many there will be, 0 if the command does not say
}

// Error says why there is nothing to run.
type Error struct {
	What string // the program, launcher or library
	Err  error
	code int
}

func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ExitCode is what a command line should exit with, as in shells: 127 for a
// program that does not exist, 126 for one that cannot be executed, 2 for one
// that cannot be preloaded.
func (e *Error) ExitCode() int { return e.code }

func refuse(what, format string, args ...any) error {
	return &Error{what, fmt.Errorf(format, args...), 2}
}

// planner has what the steps of Plan need.
type planner struct {
	Config
	env    environment
	search *ldso.Search
}

// Plan returns the command with the library preloaded, which MPI it is found out
// from its programs, the launcher or both. Errors are of type *Error.
func Plan(cfg Config) (*Command, error) {
	env := environment(cfg.Env)
	p := &planner{cfg, env, ldso.NewSearch(env.get("LD_LIBRARY_PATH"))}
	line, err := p.read(cfg.Words)
	if err != nil {
		return nil, err
	}
	mpi, err := p.agree(line)
	if err != nil {
		return nil, err
	}
	lib, err := p.library(mpi, line.programs())
	if err != nil {
		return nil, err
	}
	c := &Command{Path: line.path, Words: cfg.Words, Env: cfg.Env, MPI: mpi, Library: lib, Ranks: line.ranks()}
	if line.launcher == nil {
		c.Env = env.with("LD_PRELOAD", preloadList(env.get("LD_PRELOAD"), lib, line.sections[0].program.sanitizer))
	} else {
		c.Words = slices.Concat(cfg.Words[:line.at+1], line.launcher.instruct(line, env, lib))
		if line.launcher == hydra { // its proxy keeps the ranks in one session then (cmd/libexanet/c/session.c)
			c.Env = env.with("LD_PRELOAD", preloadList(env.get("LD_PRELOAD"), lib, ""))
		}
	}
	return c, nil
}

// agree returns the MPI that the programs of a line and its launcher have in
// common.
func (p *planner) agree(line *line) (MPI, error) {
	mpi, because := p.MPI, fmt.Sprintf("--mpi says %v", p.MPI)
	for _, prog := range line.programs() {
		switch {
		case prog.mpi == "" || p.MPI != "":
		case mpi == "":
			mpi, because = prog.mpi, prog.String()
		case mpi != prog.mpi:
			return "", refuse(prog.name, "uses %v (%s), but %s", prog.mpi, prog.soname, because)
		}
	}
	l := line.launcher
	switch {
	case l == nil && mpi == "":
		return "", refuse(line.sections[0].program.name,
			"nothing tells which MPI it uses: start it with that MPI's mpirun, or say --mpi mpich, openmpi or abi")
	case l == nil || l.mpi == "" && mpi != "":
		return mpi, nil
	case l.mpi == "":
		return "", refuse(line.word, "neither it nor its program tells which MPI is used: say --mpi mpich, openmpi or "+
			"abi")
	case mpi == ABI:
		return mpi, p.matches(line)
	case mpi != "" && mpi != l.mpi:
		return "", refuse(line.word, "is %v's launcher, but %s: start it with %s", l.mpi, because, launcherOf[mpi])
	}
	return l.mpi, nil
}

// matches checks that the programs of the standard ABI find the library of their launcher's MPI. With --mpi abi the
// ranks may have another LD_LIBRARY_PATH than this process.
func (p *planner) matches(l *line) error {
	for _, prog := range l.programs() {
		if prog.behind != "" && prog.behind != l.launcher.mpi && p.MPI != ABI {
			return refuse(l.word, "is %v's launcher, but %s finds the %s of %v: start it with %s, or say "+
				"--mpi abi if its ranks find another", l.launcher.mpi, prog.name, prog.soname,
				prog.behind, launcherOf[prog.behind])
		}
	}
	return nil
}

// environment is a list of NAME=VALUE, of which the last of a name counts.
type environment []string

func (e environment) get(name string) string {
	for _, v := range slices.Backward(e) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// with returns a copy with a variable set, or removed if the value is empty.
func (e environment) with(name, value string) environment {
	c := slices.DeleteFunc(slices.Clone(e), func(v string) bool { return strings.HasPrefix(v, name+"=") })
	if value != "" {
		c = append(c, name+"="+value)
	}
	return c
}

// ours returns the set variables that the library looks at.
func (e environment) ours() (names []string) {
	for _, v := range e {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "EXANET_") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// lookPath finds an executable as a shell does, in the PATH of the environment,
// with relative names seen from dir.
func (e environment) lookPath(name, dir string) (string, error) {
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, d := range filepath.SplitList(e.get("PATH")) {
			candidates = append(candidates, filepath.Join(d, name))
		}
	}
	err := &Error{name, fmt.Errorf("there is no such program"), 127}
	if name == "" {
		return "", &Error{"no program", errors.New("its name is empty"), 127}
	}
	for _, c := range candidates {
		at := c
		if !filepath.IsAbs(at) {
			at = filepath.Join(dir, at)
			if !filepath.IsAbs(at) {
				at = "./" + at
			}
		}
		info, fail := os.Stat(at)
		switch {
		case fail != nil:
		case info.IsDir():
			err = &Error{name, fmt.Errorf("is a directory, no program"), 126}
		case info.Mode()&0o111 == 0:
			err = &Error{name, fmt.Errorf("is not executable"), 126}
		default:
			return at, nil
		}
	}
	return "", err
}
