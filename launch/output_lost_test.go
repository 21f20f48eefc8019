package launch_test

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
)

// Output that cannot be written is an error of the job, although its ranks did
// nothing wrong.
func TestLostOutputIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	j, err := launch.Start(context.Background(), launch.Config{Ranks: 2, Prog: "echo", Args: []string{"hello"},
		Stdout: full, Stderr: os.Stderr})
	require.NoError(t, err)
	var lost *launch.OutputError
	require.ErrorAs(t, j.Wait(), &lost)
	require.ErrorIs(t, lost, syscall.ENOSPC)
}
