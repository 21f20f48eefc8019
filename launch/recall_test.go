package launch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { roles["stumble"] = stumbleRole }

// stumbleRole is a program whose rank 1 fails, and whose others say so at once.
func stumbleRole([]string) int {
	world, err := mpi.Init()
	if err == nil && world.Rank() == 1 {
		fmt.Fprintln(os.Stderr, "rank 1 begins\nthe disk is full")
		return 1
	}
	if err == nil {
		_, err = mpi.Recv(world, make([]byte, 1), 1, 0)
	}
	fmt.Fprintln(os.Stderr, err)
	return 2
}

// The error of the rank that has failed first is the last line if what others say behind the launcher's line would
// bury it.
func TestTheFirstErrorIsNotBuried(t *testing.T) {
	defer launch.BePatient(time.Minute)() // the ranks are to end by themselves
	for _, ranks := range []int{2, 8} {
		o := runJob(t, self(ranks, "stumble"))
		var re *launch.RankError
		require.ErrorAs(t, o.err, &re)
		require.Equal(t, 1, re.Rank)
		require.Regexp(t, `(?m)^rank 1 begins\nthe disk is full$`, o.errs)
		_, behind, ok := strings.Cut(o.errs, "; the other ranks are ended\n")
		require.True(t, ok, o.errs)
		if strings.Count(behind, "mpi: rank ") < 2 {
			require.NotContains(t, behind, "exanet: ")
		} else {
			require.Regexp(t, `\nexanet: the first to fail: rank 1 \(pid \d+\) exited with code 1; its last words: `+
				`the disk is full\n$`, behind)
		}
	}
}
