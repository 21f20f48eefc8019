package compare

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/exanet-mpi/exanet/launch/preload"
)

// Launched is a program of an MPI under the launcher of that, without our library in its environment.
func Launched(h preload.MPI, ranks int, program string, args, env []string) (Way, error) {
	w, err := launcher(h, env)
	if err != nil {
		return Way{}, err
	}
	if h == preload.OpenMPI && ranks > runtime.NumCPU() {
		w.Words = append(w.Words, "--oversubscribe")
	}
	w.Words = append(append(w.Words, "-np", strconv.Itoa(ranks), program), args...)
	return w, nil
}

// LaunchedOn is the same with so many ranks on each host of a list. The launcher reaches the hosts by the remote shell
// at a path. Between hosts the MPIs talk over TCP, unless the environment says otherwise; Open MPI, which would have
// the ranks of a host on one core, binds none.
func LaunchedOn(h preload.MPI, hosts []string, each int, shell, program string, args, env []string) (Way, error) {
	w, err := launcher(h, slices.Concat([]string{"UCX_TLS=tcp,self,sm", "OMPI_MCA_pml=ob1",
		"OMPI_MCA_btl=vader,tcp,self"}, env)) // of one name the last counts
	if err != nil {
		return Way{}, err
	}
	n := strconv.Itoa(each)
	if h == preload.OpenMPI { // versions 4 and 5 have different names for the shell
		w.Env = append(w.Env, "OMPI_MCA_plm_rsh_agent="+shell, "PRTE_MCA_plm_ssh_agent="+shell)
		w.Words = append(w.Words, "--bind-to", "none", "--host", strings.Join(hosts, ":"+n+",")+":"+n)
	} else {
		w.Words = append(w.Words, "-launcher", "ssh", "-launcher-exec", shell, "-hosts", strings.Join(hosts, ","),
			"-ppn", n)
	}
	w.Words = append(append(w.Words, "-np", strconv.Itoa(each*len(hosts)), program), args...)
	return w, nil
}

// launcher is that of an MPI, without arguments.
func launcher(h preload.MPI, env []string) (Way, error) {
	name := "mpirun." + string(h)
	path, err := exec.LookPath(name)
	if err != nil {
		return Way{}, fmt.Errorf("the launcher of %s: %w", h, err)
	}
	w := Way{Name: h.String(), Path: path, Words: []string{name}, Env: preload.Without(env)}
	if h == preload.OpenMPI && os.Getuid() == 0 {
		w.Env = append(w.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	}
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
