package mpi

import (
	"fmt"
	"os"
	"strconv"
)

// otherLaunchers are those whose jobs Init cannot join, and the variables by which their ranks know how
// many they are. Slurm sets the one of a step for what srun starts alone, not for a batch script.
var otherLaunchers = []struct{ name, size string }{
	{"Hydra or another launcher of PMI", "PMI_SIZE"},
	{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_STEP_NUM_TASKS"},
}

// refuseOthers returns an error if another launcher has started this process as one rank of several.
// Each would be a world of its own, and wrong results would look like right ones.
func refuseOthers() error {
	for _, l := range otherLaunchers {
		if n, err := strconv.Atoi(os.Getenv(l.size)); err == nil && n > 1 {
			return fmt.Errorf("%s has started %d ranks (%s=%d), but Go programs cannot join its job: "+
				"start this one with exanet run -n %d", l.name, n, l.size, n, n)
		}
	}
	// PMIx tells the number of ranks on request only.
	if r, err := strconv.Atoi(os.Getenv("PMIX_RANK")); err == nil && r > 0 {
		return fmt.Errorf("a launcher of PMIx has started several ranks (PMIX_RANK=%d), but Go programs cannot "+
			"join its job: start this one with exanet run -n N", r)
	}
	return nil
}
