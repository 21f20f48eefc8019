package mpi

import (
	"fmt"
	"os"
	"strconv"
)

// otherLaunchers are those whose jobs Init cannot always join, the variables by which their ranks know how many they
// are, and what makes it possible. Slurm sets the one of a step for what srun starts alone, not for a batch script.
var otherLaunchers = []struct{ name, size, do string }{
	{"Hydra or another launcher of PMI", "PMI_SIZE", "see what has taken PMI_FD out of the environment"},
	{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", importPMIx},
	{"srun", "SLURM_STEP_NUM_TASKS", "give it --mpi=pmi2"},
}

const importPMIx = `import _ "github.com/exanet-mpi/exanet/mpi/pmix" in the program`

// refuseOthers returns an error if another launcher has started this process as one rank of several, and there is no
// way to reach it. Each would be a world of its own, and wrong results would look like right ones.
func refuseOthers() error {
	for _, l := range otherLaunchers {
		if n, err := strconv.Atoi(os.Getenv(l.size)); err == nil && n > 1 {
			return fmt.Errorf("%s has started %d ranks (%s=%d), and this one cannot join its job: "+
				"%s, or start the program with exanet run -n %d", l.name, n, l.size, n, l.do, n)
		}
	}
	// PMIx tells the number of ranks on request only.
	if r, err := strconv.Atoi(os.Getenv("PMIX_RANK")); err == nil && r > 0 {
		return fmt.Errorf("a launcher of PMIx has started several ranks (PMIX_RANK=%d), and this one cannot join "+
			"its job: %s, or start the program with exanet run -n N", r, importPMIx)
	}
	return nil
}
