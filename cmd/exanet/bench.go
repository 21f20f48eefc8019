package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/bench/floor"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, benchCommand) }

// benchCommand returns "exanet bench" and what is below it.
func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this MPI, and what the machine could do at best",
		Long: `Measure this MPI in the terms of the OSU micro-benchmarks, and what the machine
could do at best between two processes without any MPI.

Outside a job the benchmarks start their own ranks. Started by a launcher they
take part as one of its ranks.`,
		Example: `  exanet bench latency --sizes 8,1024,65536
  exanet bench bw --repeat 5
  exanet run -n 2 exanet bench latency
  exanet bench floor --with latency,bw`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLatency(), newMultiLatency(), newBandwidth(), newBothWays(), newMessageRate(), newBarrier(),
		newCollective(), newOverlap(), newProgressBench(), newIdle(), newFloor(), newFloorPeer(), newReport())
	return cmd
}

// settleTime is long enough for the scheduler to move fresh processes apart.
const settleTime = 100 * time.Millisecond

// sweepFlags are the flags that the benchmarks have in common.
type sweepFlags struct {
	ranks              int
	sizes              string
	iterations, warmup int
	repeat             int
	json               bool
}

// add registers the flags. Without sizes there is no --sizes.
func (f *sweepFlags) add(cmd *cobra.Command, ranks int, sizes string) {
	flags := cmd.Flags()
	flags.IntVarP(&f.ranks, "ranks", "n", ranks, "number of ranks to start; inside a job its own number holds")
	if sizes != "" {
		flags.StringVar(&f.sizes, "sizes", sizes, "message sizes in bytes: from:to for powers of two, or a comma list")
	}
	flags.IntVar(&f.iterations, "iterations", 0, "timed iterations; 0: as the OSU benchmark has it for each size")
	flags.IntVar(&f.warmup, "warmup", -1, "untimed iterations before them; -1: as the OSU benchmark, and 0.1 s "+
		"before the first size")
	flags.IntVar(&f.repeat, "repeat", 1, "sweeps to make; the medians are printed")
	flags.BoolVar(&f.json, "json", false, "print JSON, with the figure of every sweep")
}

// sweep checks the flags.
func (f *sweepFlags) sweep(cmd *cobra.Command, least int) (bench.Sweep, error) {
	s := bench.Sweep{Iterations: f.iterations, Warmup: f.warmup, Repeat: f.repeat}
	switch {
	case f.ranks < least:
		return s, usageErrorf("%s needs at least %d ranks: -n %d", cmd.CommandPath(), least, f.ranks)
	case f.iterations < 0:
		return s, usageErrorf("--iterations %d: use 0 or more", f.iterations)
	case f.warmup < -1:
		return s, usageErrorf("--warmup %d: use -1 or more", f.warmup)
	case f.repeat < 1:
		return s, usageErrorf("--repeat %d: use 1 or more", f.repeat)
	}
	if f.sizes != "" || cmd.Flags().Lookup("sizes") != nil {
		sizes, err := bench.ParseSizes(f.sizes)
		if err != nil {
			return s, usageErrorf("--sizes: %v", err)
		}
		s.Sizes = sizes
	}
	if f.warmup < 0 {
		s.Settle = settleTime
	}
	return s, nil
}

// inJob reports whether a launcher has started this process as a rank.
func inJob() bool { return os.Getenv("EXANET_RANK") != "" }

// asRanks runs f as a rank of this job. Outside a job it starts n ranks that
// execute the same command with the same flags.
func asRanks(cmd *cobra.Command, n int, f func(world *mpi.Comm) error, opts ...mpi.Option) error {
	if !inJob() {
		return launchSelf(cmd.Context(), n, sameCommand(cmd), nil, cmd.OutOrStdout())
	}
	world, err := mpi.Init(opts...)
	if err != nil {
		return err
	}
	if err := f(world); err != nil {
		return err
	}
	return mpi.Finalize()
}

// sameCommand returns the arguments that make this executable run cmd again
// with the flags that are set.
func sameCommand(cmd *cobra.Command) []string {
	args := strings.Fields(cmd.CommandPath())[1:]
	cmd.Flags().Visit(func(f *pflag.Flag) { args = append(args, "--"+f.Name+"="+f.Value.String()) })
	return args
}

// figures is what --json prints of latency and bw.
type figures struct {
	Benchmark string      `json:"benchmark"`
	Unit      string      `json:"unit"`
	Ranks     int         `json:"ranks"`
	TCP       bool        `json:"tcp,omitempty"` // without MPI
	Rows      []bench.Row `json:"rows"`
}

func newLatency() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Blocking ping-pong, half the round trip (osu_latency)",
		Long: `Send messages back and forth between the first and the last rank with blocking
calls, and print half the round trip in microseconds for each size. With more
than two ranks the others wait in a barrier.

` + variantHelp,
		Example: `  exanet bench latency
  exanet bench latency --sizes 1:4096 --repeat 5
  exanet bench latency --variant all --sizes 8,4096
  exanet run -n 2 exanet bench latency --json
  exanet run --hosts node1:1,node2:1 exanet bench latency --tcp`,
	}
	return completePairs(cmd, "us", bench.MicrosecondsTitle, bench.Latency)
}

func newBandwidth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bw",
		Short: "Windows of 64 messages, one way (osu_bw)",
		Long: `Send windows of 64 messages from the first to the last rank with non-blocking
calls, a short answer after each, and print 10^6 bytes a second for each size.
With more than two ranks the others wait in a barrier.

` + variantHelp,
		Example: `  exanet bench bw
  exanet bench bw --sizes 1048576,4194304 --repeat 5
  exanet bench bw --variant rtr,ticket --sizes 65536
  exanet run -n 2 exanet bench bw --json`,
	}
	return completePairs(cmd, "MB/s", bench.BandwidthTitle, bench.Bandwidth)
}

func newMultiLatency() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "multi_lat",
		Short: "Ping-pong of many pairs at the same time (osu_multi_lat)",
		Long: `Send messages back and forth between each rank of the lower half and one of the
upper half, all pairs at the same time, and print half the round trip in
microseconds for each size, the mean over the pairs.

` + variantHelp,
		Example: `  exanet bench multi_lat -n 8 --sizes 1:4096`,
	}
	return completePairs(cmd, "us", bench.MicrosecondsTitle, bench.MultiLatency)
}

func newBothWays() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bibw",
		Short: "Windows of 64 messages, both ways (osu_bibw)",
		Long: `Send windows of 64 messages between the first and the last rank with non-blocking
calls, both ways at the same time, and print 10^6 bytes a second for each size,
of both together.

` + variantHelp,
		Example: `  exanet bench bibw --sizes 1048576,4194304 --repeat 5`,
	}
	return completePairs(cmd, "MB/s", bench.BandwidthTitle, bench.BothWays)
}

func newMessageRate() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "mbw_mr",
		Short: "Bandwidth and message rate of many pairs (osu_mbw_mr)",
		Long: `Send windows of 64 messages from each rank of the lower half to one of the upper
half, all pairs at the same time, and print 10^6 bytes and messages a second for
each size, of all pairs together.`,
		Example: `  exanet bench mbw_mr -n 4 --sizes 1:4096`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sweep, err := f.sweep(cmd, 2)
			if err != nil {
				return err
			}
			if f.ranks%2 == 1 {
				return usageErrorf("%s needs an even number of ranks: -n %d", cmd.CommandPath(), f.ranks)
			}
			return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
				columns, err := bench.MessageRate(world, sweep)
				if err != nil || world.Rank() != 0 {
					return err
				}
				if f.json {
					return writeJSON(cmd.OutOrStdout(), columns)
				}
				return bench.WriteOSUColumns(cmd.OutOrStdout(), title(cmd, world.Size(), f.repeat), columns)
			})
		},
	}
	f.add(cmd, 2, "1:4194304")
	return cmd
}

// completePairs completes the command of a benchmark between two ranks.
func completePairs(cmd *cobra.Command, unit, column string,
	measure func(*mpi.Comm, bench.Sweep) ([]bench.Row, error)) *cobra.Command {
	var f sweepFlags
	var chosen string
	var tcp bool
	cmd.Args = noArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		sweep, err := f.sweep(cmd, 2)
		if err != nil {
			return err
		}
		if sweep.TCP = tcp; tcp && cmd.Flags().Changed("variant") {
			return usageErrorf("--tcp is without protocols: leave --variant out")
		}
		if cmd.Name() == "multi_lat" && f.ranks%2 == 1 {
			return usageErrorf("%s needs an even number of ranks: -n %d", cmd.CommandPath(), f.ranks)
		}
		if cmd.Flags().Changed("variant") {
			if !cmd.Flags().Changed("repeat") {
				f.repeat = variantRounds
			}
			return compareVariants(cmd, &f, chosen, unit, column)
		}
		return asRanks(cmd, f.ranks, func(world *mpi.Comm) error {
			rows, err := measure(world, sweep)
			if err != nil || world.Rank() != 0 {
				return err
			}
			if f.json {
				return writeJSON(cmd.OutOrStdout(), figures{cmd.Name(), unit, world.Size(), tcp, rows})
			}
			t := title(cmd, world.Size(), f.repeat)
			if tcp {
				t += ", TCP alone"
			}
			return bench.WriteOSU(cmd.OutOrStdout(), t, column, rows)
		})
	}
	f.add(cmd, 2, "1:4194304")
	if cmd.Name() == "latency" || cmd.Name() == "bw" {
		cmd.Flags().BoolVar(&tcp, "tcp", false, "measure a TCP connection between the two ranks, without MPI")
	}
	cmd.Flags().StringVar(&chosen, "variant", "", "protocols to measure side by side, each in jobs of its own: all, "+
		"or a comma list of "+strings.Join(mpi.Variants(), ", "))
	return cmd
}

// title is the first comment line of a benchmark's output.
func title(cmd *cobra.Command, ranks, repeat int) string {
	t := fmt.Sprintf("%s, %d ranks", cmd.CommandPath(), ranks)
	if repeat > 1 {
		t += fmt.Sprintf(", medians of %d", repeat)
	}
	return t
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// newFloorPeer is the other process of package bench/floor's measurements.
func newFloorPeer() *cobra.Command {
	return &cobra.Command{
		Use:     "floor-peer",
		Short:   "The other process of bench floor",
		Example: `  exanet bench floor`,
		Hidden:  true,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return floor.Peer() },
	}
}

// startFloorPeer makes the command of that process.
func startFloorPeer(ctx context.Context) *exec.Cmd {
	return exec.CommandContext(ctx, self(), "bench", "floor-peer")
}
