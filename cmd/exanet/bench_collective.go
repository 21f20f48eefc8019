package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

func newCollective() *cobra.Command {
	var f sweepFlags
	var name string
	cmd := &cobra.Command{
		Use:   "coll",
		Short: "Mean time of a collective (osu_allreduce and its like)",
		Long: `Print the mean time of a collective of all ranks in microseconds for each size:
that of the vector, or of the block of one rank. Several collectives are measured
one after the other. EXANET_COLL forces algorithms, see exanet info --collectives.`,
		Example: `  exanet bench coll --op allreduce -n 8 --sizes 8:1048576
  exanet bench coll --op all --sizes 8,1024
  EXANET_COLL=bcast:scatter_ring exanet bench coll --op bcast -n 4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 1)
			if err != nil {
				return err
			}
			names, err := someOf("op", name, bench.Collectives())
			if err != nil {
				return err
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				for i, n := range names {
					rows, err := bench.Collective(world, n, sweep)
					if err != nil {
						return fmt.Errorf("%s: %w", n, err)
					}
					if world.Rank() != 0 {
						continue
					}
					if err := f.write(cmd, world.Size(), i, n, rows); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.add(cmd, 2, "4:1048576")
	cmd.Flags().StringVar(&name, "op", "allreduce", "the collectives: all, or a comma list of "+
		strings.Join(bench.Collectives(), ", "))
	return cmd
}

// write prints the figures of the i-th collective.
func (f *sweepFlags) write(cmd *cobra.Command, ranks, i int, name string, rows []bench.Row) error {
	out := cmd.OutOrStdout()
	if f.json {
		return writeJSON(out, figures{Benchmark: name, Unit: "us", Ranks: ranks, Rows: rows})
	}
	if i > 0 {
		fmt.Fprintln(out)
	}
	return bench.WriteOSU(out, title(cmd, ranks, f.repeat)+", "+name, bench.MicrosecondsTitle, rows)
}

func newOverlap() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "overlap",
		Short: "How much of a non-blocking Allreduce is hidden behind a computation",
		Long: `Print the mean time of a non-blocking Allreduce and its Wait in microseconds:
alone, with a computation in between that takes as long, and with the program
away for as long, so that its core is free. If all is hidden they are equal;
if nothing is, the others are twice the first. On a host whose cores all compute,
the processor's share of the communication cannot be hidden.`,
		Example: `  exanet bench overlap --sizes 1048576 --repeat 5`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 2)
			if err != nil {
				return err
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				columns, err := bench.Overlap(world, sweep)
				if err != nil || world.Rank() != 0 {
					return err
				}
				if f.json {
					return writeJSON(cmd.OutOrStdout(), columns)
				}
				out := cmd.OutOrStdout()
				if err := bench.WriteColumns(out, title(cmd, world.Size(), f.repeat), bench.MicrosecondsTitle,
					columns); err != nil {
					return err
				}
				return bench.WriteRatios(out, bench.PureName, columns)
			})
		},
	}
	f.add(cmd, 2, "8192:4194304")
	return cmd
}
