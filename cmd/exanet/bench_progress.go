package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

func newProgressBench() *cobra.Command {
	var f sweepFlags
	var unit time.Duration
	var alone bool
	cmd := &cobra.Command{
		Use:   "progress",
		Short: "How far a message gets while its ranks compute (Small and Yuan)",
		Long: `Two ranks meet in a barrier, send and receive one message by non-blocking calls and
waits, and compute for some units before they post, between that and the wait, and
after it. The mean time of such a round is printed in microseconds, with a column for
each order of Small and Yuan's figures 9 and 10 (docs/who-comes-first.md):

` + orderTable() + `
With --alone nothing makes progress while a rank computes, as in the MPIs of the paper.`,
		Example: `  exanet bench progress --repeat 5
  EXANET_VARIANT=customized exanet bench progress --alone --sizes 65536 --unit 50us`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 2)
			if err != nil {
				return err
			}
			if unit < 0 {
				return usageErrorf("--unit %v: want a time that is not negative, as 18us", unit)
			}
			var opts []mpi.Option
			if alone {
				opts = append(opts, mpi.WithoutBackground())
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				columns, err := bench.Progress(world, sweep, bench.Orders, unit)
				if err != nil || world.Rank() != 0 {
					return err
				}
				if f.json {
					return writeJSON(cmd.OutOrStdout(), columns)
				}
				return bench.WriteColumns(cmd.OutOrStdout(), title(cmd, world.Size(), f.repeat), "Round (us)", columns)
			}, opts...)
		},
	}
	f.add(cmd, 2, "30000,100000,400000")
	cmd.Flags().DurationVar(&unit, "unit", bench.ProgressUnit, "what a unit of computation takes")
	cmd.Flags().BoolVar(&alone, "alone", false, "no progress while a rank computes")
	return cmd
}

// orderTable says when the ranks compute in each order.
func orderTable() string {
	var b strings.Builder
	for _, o := range bench.Orders {
		b.WriteString(o.String() + "\n")
	}
	return b.String()
}
