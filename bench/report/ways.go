package report

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// way is one in which a job is run: a host MPI, or none for programs in Go, and whose
// communication carries the messages.
type way struct {
	host  preload.MPI // "": a program in Go
	stack stack
}

type stack int

const (
	alone    stack = iota // the host MPI's own
	ours                  // this build
	baseline              // another build of this
)

func (w way) String() string {
	name := [...]string{alone: "", ours: "Exanet", baseline: "baseline"}[w.stack]
	switch {
	case w == tcpAlone:
		return "TCP alone"
	case w.host == "":
		return name + " in Go"
	case w.stack == alone:
		return w.host.String()
	}
	return name + " under " + w.host.String()
}

var hosts = []preload.MPI{preload.MPICH, preload.OpenMPI}

// tcpAlone is a connection between two hosts without any MPI.
var tcpAlone = way{"", alone}

// hosts are the MPIs that there is a benchmark program for.
func (c *Config) hosts() []preload.MPI {
	return slices.DeleteFunc(slices.Clone(hosts), func(h preload.MPI) bool {
		_, err := os.Stat(c.built("osu", h))
		return err != nil
	})
}

// built is the path of a program that is built for each host.
func (c *Config) built(name string, h preload.MPI) string {
	return filepath.Join(c.Programs, name+"-"+string(h))
}

// ways are those of a job: of the first MPI each, then of the second.
func (c *Config) ways(j *job) (list []way) {
	for _, h := range j.hosts {
		for s := alone; s <= baseline; s++ {
			if ((way{h, s}) != tcpAlone || j.inGo != nil) && (s != baseline || c.Baseline != "" && j.baseline) {
				list = append(list, way{h, s})
			}
		}
	}
	return list
}

// command makes the command of a job in a way, which runs in a directory.
func (c *Config) command(j *job, w way, dir string) (compare.Way, error) {
	cmd := compare.Way{Name: w.String(), Limit: j.limit, Dir: dir}
	programs, dirs := c.Programs, c.Dirs
	if w.stack == baseline {
		programs, dirs = c.Baseline, []string{c.Baseline}
	}
	if w.host == "" {
		cmd.Path, cmd.Env = c.Exanet, c.Env
		if w.stack == baseline {
			cmd.Path = filepath.Join(programs, "exanet")
		}
		if j.spread > 0 {
			each := ":" + strconv.Itoa(j.ranks/j.spread)
			cmd.Words = append([]string{"exanet", "run", "--shell", c.Shell, "--hosts",
				strings.Join(c.Hosts[:j.spread], each+",") + each, cmd.Path}, j.inGo...)
			if w == tcpAlone {
				cmd.Words = append(cmd.Words, "--tcp")
			}
			return cmd, nil
		}
		cmd.Words = append([]string{"exanet", "run", "-n", strconv.Itoa(j.ranks), filepath.Join(programs, j.program)},
			j.args...)
		return cmd, nil
	}
	program := strings.ReplaceAll(j.program, "{MPI}", string(w.host))
	if !filepath.IsAbs(program) && !j.installed {
		program = c.built(program, w.host)
	}
	// One thread a rank, for the libraries that start as many as there are cores.
	env := append(slices.Clip(c.Env), "OPENBLAS_NUM_THREADS=1", "LAMMPS_POTENTIALS=/usr/share/lammps/potentials")
	var launched compare.Way
	var err error
	if j.spread > 0 {
		cmd.Dir = "/" // which all hosts have
		launched, err = compare.LaunchedOn(w.host, c.Hosts[:j.spread], j.ranks/j.spread, c.Shell, program, j.args, env)
	} else {
		launched, err = compare.Launched(w.host, j.ranks, program, j.args, env)
	}
	if err == nil && w.stack != alone {
		launched, err = launched.Preloaded(w.host, dirs)
	}
	if err != nil {
		return cmd, err
	}
	cmd.Path, cmd.Words, cmd.Env = launched.Path, launched.Words, launched.Env
	return cmd, nil
}
