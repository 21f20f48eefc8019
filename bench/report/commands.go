package report

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/launch/preload"
)

// The ways in which a job is run. What is not of a host is this MPI with programs in
// Go, or the machine itself.
const (
	mpichAlone   = "MPICH"
	mpichOurs    = "Exanet under MPICH"
	openmpiAlone = "Open MPI"
	openmpiOurs  = "Exanet under Open MPI"
	inGo         = "Exanet in Go"
)

var fourWays = []string{mpichAlone, mpichOurs, openmpiAlone, openmpiOurs}

// host returns the MPI of a way, and whether the library is preloaded.
func hostOf(way string) (host preload.MPI, ours bool) {
	switch way {
	case mpichAlone, mpichOurs:
		return preload.MPICH, way == mpichOurs
	case openmpiAlone, openmpiOurs:
		return preload.OpenMPI, way == openmpiOurs
	}
	return "", true
}

// program is the path of the benchmarks for a host.
func (c *Config) program(h preload.MPI) string { return filepath.Join(c.Programs, "osu-"+string(h)) }

// command makes the command of a job in a way.
func (c *Config) command(j *job, way string) (compare.Way, error) {
	host, ours := hostOf(way)
	w := compare.Way{Name: way, Env: c.Env, Limit: j.limit, Dir: j.dir}
	if host == "" {
		w.Path = c.Exanet
		w.Words = append([]string{"exanet"}, j.args...)
		return w, nil
	}
	program := j.program
	if program == "" {
		program = c.program(host)
	}
	launcher := "mpirun." + string(host)
	path, err := exec.LookPath(launcher)
	if err != nil {
		return w, fmt.Errorf("the launcher of %s: %w", host, err)
	}
	w.Path, w.Words, w.Env = path, []string{launcher}, append(preload.Without(c.Env), j.env...)
	if host == preload.OpenMPI {
		if j.ranks > runtime.NumCPU() {
			w.Words = append(w.Words, "--oversubscribe")
		}
		if os.Getuid() == 0 {
			w.Env = append(w.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		}
	}
	w.Words = append(w.Words, "-np", strconv.Itoa(j.ranks), program)
	w.Words = append(w.Words, j.args...)
	if ours {
		p, err := preload.Plan(preload.Config{Words: w.Words, Env: w.Env, MPI: host, Dirs: c.Dirs})
		if err != nil {
			return w, err
		}
		w.Path, w.Words, w.Env = p.Path, p.Words, p.Env
	}
	return w, nil
}
