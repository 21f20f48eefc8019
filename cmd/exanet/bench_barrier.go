package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/floor"
	"github.com/exanet-mpi/exanet/mpi"
)

// barrierFigures is what --json prints of barrier.
type barrierFigures struct {
	Benchmark string  `json:"benchmark"`
	Unit      string  `json:"unit"`
	Ranks     int     `json:"ranks"`
	Value     float64 `json:"value"`
	switchFigures
	Repeats []float64 `json:"repeats"`
}

// switchFigures puts a barrier in terms of context switches.
type switchFigures struct {
	Switch   float64 `json:"context_switch_us"` // one, between two processes on one core
	Cores    int     `json:"cores"`             // that the ranks can use at once
	Switches float64 `json:"switches"`          // that one core could make meanwhile
	PerRank  float64 `json:"switches_per_rank"` // that all cores could make, divided by the ranks
}

func inSwitches(us, contextSwitch float64, ranks, cores int) switchFigures {
	f := switchFigures{Switch: contextSwitch, Cores: min(cores, ranks), Switches: us / contextSwitch}
	f.PerRank = f.Switches * float64(f.Cores) / float64(ranks)
	return f
}

func newBarrier() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "barrier",
		Short: "Mean time of a barrier (osu_barrier), and what it is worth in context switches",
		Long: `Print the mean time of a barrier of all ranks. Where ranks share a core, a barrier
needs at least one context switch for each of them: so the time of a context
switch is measured as well (two processes on one core that hand a word back and
forth with sched_yield), and the ratio printed.`,
		Example: `  exanet bench barrier -n 16
  exanet run -n 8 exanet bench barrier --repeat 5`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 1)
			if err != nil {
				return err
			}
			return runBarrier(cmd, &f, sweep)
		},
	}
	f.add(cmd, 2, "")
	return cmd
}

func runBarrier(cmd *cobra.Command, f *sweepFlags, sweep bench.Sweep) error {
	var row bench.Row
	first := false
	err := asRanks(cmd, f.ranks, func(world *mpi.Comm) (err error) {
		row, err = bench.Barrier(world, sweep)
		first = world.Rank() == 0
		return err
	})
	if err != nil || !first {
		return err
	}
	// The ranks have finished: rank 0 has the cores for itself.
	contextSwitch, err := contextSwitch(cmd.Context())
	if err != nil {
		return err
	}
	out, s := cmd.OutOrStdout(), inSwitches(row.Value, contextSwitch, row.Size, runtime.NumCPU())
	if f.json {
		return writeJSON(out, barrierFigures{"barrier", "us", row.Size, row.Value, s, row.Repeats})
	}
	if err := bench.WriteOSUBarrier(out, title(cmd, row.Size, f.repeat), row); err != nil {
		return err
	}
	return writeSwitches(out, s)
}

func writeSwitches(w io.Writer, s switchFigures) error {
	_, err := fmt.Fprintf(w, "# %s: %.2f us\n# A barrier takes as long as %.1f of them: %.2f for each rank, since %d "+
		"can run at once\n",
		floor.YieldName, s.Switch, s.Switches, s.PerRank, s.Cores)
	return err
}

// contextSwitch returns the median time of a context switch in microseconds.
func contextSwitch(ctx context.Context) (float64, error) {
	p, err := floor.Open(ctx, startFloorPeer)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	var repeats []float64
	for range 5 {
		us, err := p.Yield()
		if err != nil {
			return 0, err
		}
		repeats = append(repeats, us)
	}
	return bench.Median(repeats), nil
}
