package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

// progressFlags are those of the benchmark.
type progressFlags struct {
	sweepFlags
	unit      time.Duration
	alone     bool
	variant   string
	withPeers bool
}

func newProgressBench() *cobra.Command {
	var f progressFlags
	cmd := &cobra.Command{
		Use:   "progress",
		Short: "How far a message gets while its ranks compute (Small and Yuan)",
		Long: `Two ranks meet in a barrier, send and receive one message by non-blocking calls and
waits, and compute for some units before they post, between that and the wait, and
after it. The mean time of such a round is printed in microseconds, with a column for
each order of Small and Yuan's figures 9 and 10 (docs/who-comes-first.md):

` + orderTable() + `
With --alone nothing makes progress while a rank computes, as in the MPIs of the paper.

With --variant there is a table for each order, with a column for each protocol, of
medians of rounds (--repeat, then 5 if not given). With --peers the columns are of the
same benchmark in C (bench/osu): under MPICH and Open MPI as they are, and with the
preload library and each protocol. make preload bench-programs builds both.`,
		Example: `  exanet bench progress --repeat 5
  exanet bench progress --variant all
  exanet bench progress --peers --variant ticket,customized --sizes 30000,400000
  EXANET_VARIANT=customized exanet bench progress --alone --sizes 65536 --unit 50us`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 2)
			if err != nil {
				return err
			}
			switch {
			case f.unit < 0:
				return usageErrorf("--unit %v: want a time that is not negative, as 18us", f.unit)
			case f.ranks != 2:
				return usageErrorf("progress is between two ranks, not %d", f.ranks)
			case f.withPeers && (f.alone || f.warmup >= 0):
				return usageErrorf("--peers: those have neither --alone nor --warmup")
			}
			if f.withPeers || f.variant != "" {
				return f.sideBySide(cmd, sweep.Sizes)
			}
			var opts []mpi.Option
			if f.alone {
				opts = append(opts, mpi.WithoutBackground())
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				columns, err := bench.Progress(world, sweep, bench.Orders, f.unit)
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
	cmd.Flags().DurationVar(&f.unit, "unit", bench.ProgressUnit, "what a unit of computation takes")
	cmd.Flags().BoolVar(&f.alone, "alone", false, "no progress while a rank computes")
	cmd.Flags().StringVar(&f.variant, "variant", "", "protocols to measure side by side, each in jobs of its own: "+
		"all, or a comma list of "+strings.Join(mpi.Variants(), ", "))
	cmd.Flags().BoolVar(&f.withPeers, "peers", false, "beside other MPIs: the benchmark in C, alone and preloaded")
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
