package compare

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"github.com/exanet-mpi/exanet/launch/preload"
)

// Launched is a program of an MPI under the launcher of that, without our library in its environment.
func Launched(h preload.MPI, ranks int, program string, args, env []string) (Way, error) {
	launcher := "mpirun." + string(h)
	path, err := exec.LookPath(launcher)
	if err != nil {
		return Way{}, fmt.Errorf("the launcher of %s: %w", h, err)
	}
	w := Way{Name: h.String(), Path: path, Words: []string{launcher}, Env: preload.Without(env)}
	if h == preload.OpenMPI {
		if ranks > runtime.NumCPU() {
			w.Words = append(w.Words, "--oversubscribe")
		}
		if os.Getuid() == 0 {
			w.Env = append(w.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		}
	}
	w.Words = append(append(w.Words, "-np", strconv.Itoa(ranks), program), args...)
	return w, nil
}

// With is w with a setting more in its environment.
func (w Way) With(setting string) Way {
	w.Env = append(slices.Clip(w.Env), setting)
	return w
}

// Preloaded is w with our library, which is in one of the directories.
func (w Way) Preloaded(h preload.MPI, dirs []string) (Way, error) {
	p, err := preload.Plan(preload.Config{Words: w.Words, Env: w.Env, MPI: h, Dirs: dirs})
	if err != nil {
		return w, err
	}
	w.Path, w.Words, w.Env = p.Path, p.Words, p.Env
	return w, nil
}
