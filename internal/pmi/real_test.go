package pmi_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/pmirank"
)

func TestMain(m *testing.M) {
	pmirank.Main()
	os.Exit(m.Run())
}

// Under Hydra, ranks see what the others show, whichever way they are connected to it.
func TestHydra(t *testing.T) {
	for _, args := range [][]string{{"-np", "4"}, {"-np", "4", "-pmi-port"}, {"-np", "1"}} {
		out, err := pmirank.Run(t, pmirank.Gather, nil, "mpirun.mpich", args...)
		require.NoError(t, err, out)
		n, err := strconv.Atoi(args[1])
		require.NoError(t, err)
		pmirank.RequireJob(t, n, out)
	}
}

// A rank that aborts ends the others, and its code is the job's.
func TestHydraAbort(t *testing.T) {
	out, err := pmirank.Run(t, pmirank.Abort, nil, "mpirun.mpich", "-np", "3")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, out)
	require.Equal(t, pmirank.Code, exit.ExitCode(), out)
}
