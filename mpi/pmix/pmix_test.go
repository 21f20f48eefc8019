package pmix

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/pmirank"
)

func TestMain(m *testing.M) {
	pmirank.Main()
	os.Exit(m.Run())
}

// asRoot are what Open MPI's mpirun wants of root.
var asRoot = []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}

// needed skips a test where the library is not installed.
func needed(t *testing.T) *library {
	lib, err := load()
	if err != nil {
		t.Skipf("there is no library of PMIx: %v", err)
	}
	return lib
}

// Under Open MPI's launcher, ranks see what the others show.
func TestOpenMPI(t *testing.T) {
	needed(t)
	out, err := pmirank.Run(t, pmirank.Gather, asRoot, "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", "4")
	require.NoError(t, err, out)
	pmirank.RequireJob(t, 4, out)
}

// A rank that aborts ends those that wait for it, and its code is the job's.
func TestOpenMPIAbort(t *testing.T) {
	needed(t)
	out, err := pmirank.Run(t, pmirank.Abort, asRoot, "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", "3")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out)
	require.Equal(t, pmirank.Code, exit.ExitCode(), out)
}
