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

// openMPI has Open MPI's launcher start ranks.
func openMPI(t *testing.T, role, ranks string) (string, error) {
	if _, err := load(); err != nil {
		t.Skipf("there is no library of PMIx: %v", err)
	}
	asRoot := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	return pmirank.Run(t, role, asRoot, "mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-np", ranks)
}

// Under Open MPI's launcher, ranks see what the others show.
func TestOpenMPI(t *testing.T) {
	out, err := openMPI(t, pmirank.Gather, "4")
	require.NoError(t, err, out)
	pmirank.RequireJob(t, 4, out)
}

// A rank that aborts ends the others, and its code is the job's.
func TestOpenMPIAbort(t *testing.T) {
	out, err := openMPI(t, pmirank.Abort, "3")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out)
	require.Equal(t, pmirank.Code, exit.ExitCode(), out)
}
