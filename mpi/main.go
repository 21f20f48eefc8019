package mpi

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/exanet-mpi/exanet/internal/env"
)

// launcherEnds is how long Main leaves it to the launcher to end this rank after
// another has died, which takes the launcher a second at most.
const launcherEnds = 3 * time.Second

// Main is all that the main function of most programs has to call: it joins the job (Init), runs main
// with the world communicator, and leaves (Finalize). If one of them fails, Main prints the error,
// with the rank, on the standard error and ends the process with exit code 1; then the launcher ends
// the other ranks. Their errors would only say that a rank has died, which the launcher has said: so
// they wait a moment to be ended before they print them. So do all but rank 0 with a mistake in the settings, if the
// launcher has told a process its rank.
//
// Main returns if all went well. MPI is over then. In tests, Run runs the same
// function.
func Main(main func(world *Comm) error, opts ...Option) {
	err := asProcess(main, opts)
	if err == nil {
		return
	}
	var setting settingError
	if errors.Is(err, ErrProcFailed) || errors.As(err, &setting) && !firstRank() {
		time.Sleep(launcherEnds)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// rankVariables are those by which launchers tell a process its rank, the most particular one first.
var rankVariables = []string{env.Rank, "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}

// firstRank reports whether this process is rank 0, as far as its environment tells.
func firstRank() bool {
	for _, name := range rankVariables {
		if rank, told := os.LookupEnv(name); told {
			return rank == "0"
		}
	}
	return true
}

func asProcess(main func(*Comm) error, opts []Option) error {
	if main == nil {
		return initError(errors.New("there is no function for the rank to run"), "")
	}
	world, err := Init(opts...)
	if err != nil {
		return err
	}
	if err := ofRank(world.Rank(), main(world)); err != nil {
		return err
	}
	return Finalize()
}
