package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

// idleFigures is what --json prints of idle.
type idleFigures struct {
	Benchmark string          `json:"benchmark"`
	Ranks     int             `json:"ranks"`
	Calls     []bench.Blocked `json:"calls"`
}

func newIdle() *cobra.Command {
	var f struct {
		ranks int
		time  time.Duration
		json  bool
	}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Processor time of a rank that is blocked in a call",
		Long: `Let all ranks but the first block in Recv, in Probe and in Barrier while rank 0
sleeps, and print the processor time that a rank used meanwhile (getrusage, all
threads; the rank that used most).`,
		Example: `  exanet bench idle
  exanet bench idle -n 8 --time 5s
  exanet run -n 4 exanet bench idle`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.ranks < 2 {
				return usageErrorf("%s needs at least 2 ranks: -n %d", cmd.CommandPath(), f.ranks)
			}
			if f.time <= 0 {
				return usageErrorf("--time %v: use a duration above 0, as in 1s", f.time)
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				calls, err := bench.Idle(world, f.time)
				if err != nil || world.Rank() != 0 {
					return err
				}
				if f.json {
					return writeJSON(cmd.OutOrStdout(), idleFigures{"idle", world.Size(), calls})
				}
				return bench.WriteIdle(cmd.OutOrStdout(),
					fmt.Sprintf("%s, %d ranks, blocked for %v", cmd.CommandPath(), world.Size(), f.time), calls)
			})
		},
	}
	cmd.Flags().IntVarP(&f.ranks, "ranks", "n", 2, "number of ranks to start; inside a job its own number holds")
	cmd.Flags().DurationVar(&f.time, "time", time.Second, "how long rank 0 sleeps")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}
