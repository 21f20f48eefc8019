package netns_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/netns"
)

// Whatever a test does on a host, its process is of none: Kill would end it.
func TestProcessStays(t *testing.T) {
	w := netns.New(t, 2)
	mine := func() string {
		name, err := os.Readlink("/proc/self/ns/net")
		require.NoError(t, err)
		return name
	}
	was := mine()
	for i := range 500 {
		here := was
		w.Do(i%2, func() { here, _ = os.Readlink("/proc/thread-self/ns/net") })
		require.NotEqual(t, was, here)
		require.Equal(t, was, mine())
	}
	w.Kill(t, 0)
	w.Kill(t, 1)
}
