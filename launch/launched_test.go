package launch_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/pmirank"
)

func init() {
	for _, how := range []string{"", "killed", "aborts", "exits", "no such file"} {
		roles["launched "+how] = func([]string) int { return launchedRole(how) }
	}
}

const otherCode = 64 // of ranks that end because another one has

// launchedRole is a program that tells what it is, sends long and short messages around, and unless how is empty
// has rank 1 end as that says while the others wait for it.
func launchedRole(how string) int {
	mpi.Main(func(c *mpi.Comm) error {
		next, before := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
		for _, n := range []int{1, 1000, 1 << 20} {
			out, in := slices.Repeat([]byte{byte(c.Rank())}, n), make([]byte, n)
			if _, err := mpi.Sendrecv(c, out, next, 0, in, before, 0); err != nil {
				return err
			}
			if i := slices.IndexFunc(in, func(b byte) bool { return b != byte(before) }); i >= 0 {
				return fmt.Errorf("byte %d is %d", i, in[i])
			}
		}
		if how != "" && c.Rank() == 1 {
			switch how {
			case "killed":
				return syscall.Kill(os.Getpid(), syscall.SIGKILL)
			case "aborts":
				c.Abort(7)
			case "exits":
				os.Exit(5)
			}
			return errors.New(how)
		}
		if how != "" {
			_, err := mpi.Recv(c, make([]byte, 1), 1, 1)
			if how == "exits" { // as a program whose errors are fatal
				os.Exit(otherCode)
			}
			return err
		}
		sum, err := mpi.AllreduceValue(c, c.Rank(), mpi.Sum)
		fmt.Println(c.Rank(), "of", c.Size(), "sum", sum)
		return err
	})
	return 0
}

// underHydra has MPICH's mpirun start so many ranks.
func underHydra(t *testing.T, ranks int, env, how string) (string, error) {
	t.Helper()
	return pmirank.Run(t, "launched "+how, []string{env}, "mpirun.mpich", "-np", strconv.Itoa(ranks))
}

// saidUnderHydra is underHydra, but returns what the ranks have written to stderr. It goes by a file: when a rank has
// ended Hydra may fail by itself, before it has shown that.
func saidUnderHydra(t *testing.T, ranks int, env, how string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "errors")
	_, failed := pmirank.Run(t, "launched "+how, []string{env}, "mpirun.mpich", "-np", strconv.Itoa(ranks), "sh", "-c",
		`exec "$0" 2>>`+file)
	said, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(said), failed
}

// A program that another launcher starts is one job, over shared memory and over the network.
func TestUnderAnotherLauncher(t *testing.T) {
	for _, env := range []string{"EXANET_DEVICE=host", "EXANET_DEVICE=network", "EXANET_VARIANT=rtr"} {
		for _, n := range []int{1, 2, 5} {
			out, err := underHydra(t, n, env, "")
			require.NoError(t, err, "%s, %d ranks: %s", env, n, out)
			var want []string
			for r := range n {
				want = append(want, fmt.Sprintf("%d of %d sum %d", r, n, n*(n-1)/2))
			}
			require.ElementsMatch(t, want, strings.Split(strings.TrimSpace(out), "\n"), env)
		}
	}
}

// However a rank ends, the job does, and nobody waits for it. The others leave the launcher time to end them.
func TestARankOfAnotherLauncherEnds(t *testing.T) {
	for _, how := range []string{"killed", "aborts", "exits", "no such file"} {
		for _, device := range []string{"host", "network"} {
			said, err := saidUnderHydra(t, 3, "EXANET_DEVICE="+device, how)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, said)
			switch how {
			case "aborts":
				require.Equal(t, 7, exit.ExitCode(), said)
			case "exits":
				// Hydra may tell how it has ended the others, or mix the codes of several.
				require.Zero(t, exit.ExitCode()&otherCode, "%s: %s", device, said)
			case "no such file":
				require.Contains(t, said, "rank 1: no such file")
			}
		}
	}
}

// Ranks that are told unlike things do not begin.
func TestRanksOfAnotherLauncherDisagree(t *testing.T) {
	said, err := saidUnderHydra(t, 2, "EXANET_VARIANT=none", "")
	require.Error(t, err)
	require.Contains(t, said, `there is no protocol "none"`)
}

// The networks that ranks of another launcher use are theirs to choose.
func TestNetworksUnderAnotherLauncher(t *testing.T) {
	t.Setenv("EXANET_DEVICE", "network")
	out, err := underHydra(t, 2, "EXANET_NETWORK=nosuch0,lo", "")
	require.NoError(t, err, out)
	said, err := saidUnderHydra(t, 2, "EXANET_NETWORK=nosuch0", "")
	require.Error(t, err)
	require.Regexp(t, `rank 0 cannot take part: EXANET_NETWORK="nosuch0" names no address of its host \S+, which has `+
		`\S+ \(\S+\)`, said)
}
