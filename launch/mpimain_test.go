package launch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { roles["main"] = mainRole }

// mainRole is a program that calls mpi.Main. With an argument, rank 1 fails while the
// others wait for it.
func mainRole(args []string) int {
	mpi.Main(func(world *mpi.Comm) error {
		if len(args) > 0 && world.Rank() == 1 {
			return errors.New(args[0])
		}
		sum, err := mpi.AllreduceValue(world, world.Rank(), mpi.Sum)
		fmt.Println(sum)
		return err
	})
	fmt.Println("after", mpi.Finalized())
	return 0
}

// A program of mpi.Main says which rank failed and why, and the launcher ends the others.
func TestMainOfAProgram(t *testing.T) {
	cfg := self(3, "main")
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	require.ElementsMatch(t, strings.Fields(strings.Repeat("3 after true ", 3)), strings.Fields(o.out))
	require.Empty(t, o.errs)

	cfg.Args = []string{"no such file"}
	o = runJob(t, cfg)
	var re *launch.RankError
	require.ErrorAs(t, o.err, &re)
	require.Equal(t, 1, re.Rank)
	require.Equal(t, 1, re.ExitCode())
	require.Regexp(t, `^rank 1: no such file\nexanet: rank 1 \(pid \d+\) exited with code 1; .*\n$`, o.errs)

	cfg.Args, cfg.Env = nil, append(cfg.Env, "EXANET_VARIANT=none") // Init fails at each rank, and one says so
	o = runJob(t, cfg)
	require.ErrorAs(t, o.err, &re)
	require.Contains(t, o.errs, `mpi: Init: cannot begin or end MPI: there is no protocol "none"`)
	require.Equal(t, 1, strings.Count(o.errs, "there is no protocol"), o.errs)
}
