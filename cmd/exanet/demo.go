package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/exanet-mpi/exanet/examples/cg/stencil"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, demoCommand, demoRankCommand) }

// demoTolerance is the relative residual at which the demo's solve ends.
const demoTolerance = 1e-9

// demoFlags are the flags of the demo and of its ranks.
type demoFlags struct {
	ranks      int
	grid       string
	local      [3]int
	iterations int
}

func (f *demoFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.grid, "grid", "72", "grid points of one rank: N for a cube, or XxYxZ")
	cmd.Flags().IntVar(&f.iterations, "iterations", 500,
		"most iterations to make; the solve ends at a residual of 1e-9")
}

func (f *demoFlags) check() (err error) {
	if f.local, err = stencil.ParseGrid(f.grid); err != nil {
		return usageErrorf("--grid: %v", err)
	}
	if f.iterations < 1 {
		return usageErrorf("--iterations %d: use 1 or more", f.iterations)
	}
	return nil
}

// demoCommand returns "exanet demo".
func demoCommand() *cobra.Command {
	f := new(demoFlags)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Solve a linear system on four processes and show what went between them",
		Long: `Solve a linear system by conjugate gradients on four processes of this machine,
check the result against a serial solve, and show where the time went and which
control messages and RDMA writes it took.

The system is HPCG's 27-point stencil. In every iteration each rank exchanges the
surface of its part of the grid with its neighbours: with the default grid, faces
are messages of 40 KiB, which go by rendezvous. Two sums over all ranks follow.

The exit code is 1 if the result is wrong.`,
		Example: `  exanet demo
  exanet demo -n 8 --grid 48
  exanet demo -n 2 --grid 64x64x16 --iterations 100`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if f.ranks < 1 {
				return usageErrorf("-n %d: use 1 rank or more", f.ranks)
			}
			if _, err := stencil.NewLayout(f.ranks, f.local); err != nil {
				return usageErrorf("-n %d --grid %s: %v", f.ranks, f.grid, err)
			}
			if inJob() {
				return usageErrorf("%s starts its own ranks: call it outside a job", cmd.CommandPath())
			}
			return runDemo(cmd, f)
		},
	}
	f.add(cmd)
	cmd.Flags().IntVarP(&f.ranks, "ranks", "n", 4, "number of ranks, each a process")
	return cmd
}

func runDemo(cmd *cobra.Command, f *demoFlags) error {
	// The directory of the statistics must go with us, also when interrupted.
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	dir, err := os.MkdirTemp("", "exanet-demo-")
	if err != nil {
		return fmt.Errorf("directory for the statistics: %w", err)
	}
	defer os.RemoveAll(dir)

	report, err := launchDemo(ctx, cmd, f, dir)
	if err != nil {
		return err
	}
	total, err := readStats(dir, f.ranks)
	if err != nil {
		return err
	}
	return writeDemo(cmd.OutOrStdout(), report, total)
}

// launchDemo runs the ranks and returns what rank 0 reports.
func launchDemo(ctx context.Context, cmd *cobra.Command, f *demoFlags, dir string) (*demoReport, error) {
	progress := newProgress(cmd, demoSteps, "solving in parallel")
	defer progress.end()
	in := &demoInput{progress: progress, other: cmd.ErrOrStderr()}
	args := []string{"demo-rank", "--grid=" + f.grid, fmt.Sprintf("--iterations=%d", f.iterations)}
	err := launchSelf(ctx, f.ranks, args, []string{"EXANET_STATS=" + dir}, in)
	switch {
	case err != nil:
		return nil, err
	case in.report == nil:
		return nil, fmt.Errorf("the ranks have ended without a result")
	}
	return in.report, nil
}

// demoReport is the result, as rank 0 hands it over.
type demoReport struct {
	Layout  stencil.Layout
	Verdict stencil.Verdict
	Elapsed time.Duration
	Times   stencil.Times // means over the ranks
}

// demoLine is one line that rank 0 prints for the demo, in JSON.
type demoLine struct {
	Iteration int         `json:"iteration,omitempty"`
	Residual  float64     `json:"residual,omitempty"`
	Checking  bool        `json:"checking,omitempty"` // the serial solve has begun
	Report    *demoReport `json:"report,omitempty"`
}

// demoRankCommand is what the ranks of the demo run.
func demoRankCommand() *cobra.Command {
	f := new(demoFlags)
	cmd := &cobra.Command{
		Use:     "demo-rank",
		Short:   "A rank of the demo",
		Example: `  exanet demo`,
		Hidden:  true,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return runDemoRank(json.NewEncoder(cmd.OutOrStdout()), f)
		},
	}
	f.add(cmd)
	return cmd
}

func runDemoRank(out *json.Encoder, f *demoFlags) error {
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	solver, err := stencil.New(world, f.local)
	if err != nil {
		return err
	}
	o := stencil.Options{Iterations: f.iterations, Tolerance: demoTolerance}
	if world.Rank() == 0 {
		var last time.Time
		o.Each = func(iteration int, residual float64) {
			if now := time.Now(); now.Sub(last) > 50*time.Millisecond {
				last = now
				_ = out.Encode(demoLine{Iteration: iteration, Residual: residual})
			}
		}
	}
	start := time.Now()
	res, err := solver.Solve(o)
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	if world.Rank() == 0 {
		_ = out.Encode(demoLine{Checking: true})
	}
	verdict, err := solver.Check(res)
	if err != nil {
		return err
	}
	times, err := stencil.MeanTimes(world, res.Times)
	if err != nil {
		return err
	}
	if world.Rank() == 0 {
		if err := out.Encode(demoLine{Report: &demoReport{solver.Layout(), verdict, elapsed, times}}); err != nil {
			return fmt.Errorf("report the result: %w", err)
		}
	}
	return mpi.Finalize()
}

// readStats sums up what the ranks have written to the directory at Finalize.
func readStats(dir string, ranks int) (*mpi.Stats, error) {
	total := &mpi.Stats{Control: make(map[string]uint64)}
	for rank := range ranks {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank-%d.json", rank)))
		if err != nil {
			return nil, fmt.Errorf("statistics of rank %d: %w", rank, err)
		}
		var s mpi.Stats
		if err := json.Unmarshal(b, &s); err != nil {
			return nil, fmt.Errorf("statistics of rank %d: %w", rank, err)
		}
		total.Variant = s.Variant
		total.Writes += s.Writes
		total.Receives += s.Receives
		total.FastReceives += s.FastReceives
		for kind, n := range s.Control {
			total.Control[kind] += n
		}
	}
	return total, nil
}

// demoSteps are those of the demo's progress: the digits that the residual gains.
const demoSteps = 100

// demoInput takes the lines of rank 0.
type demoInput struct {
	progress *progress
	other    io.Writer // gets what is not ours
	rest     string
	report   *demoReport
}

func (d *demoInput) Write(b []byte) (int, error) {
	d.rest += string(b)
	for {
		line, rest, ok := strings.Cut(d.rest, "\n")
		if !ok {
			return len(b), nil
		}
		d.rest = rest
		var l demoLine
		switch err := json.Unmarshal([]byte(line), &l); {
		case err != nil:
			fmt.Fprintln(d.other, line)
		case l.Report != nil:
			d.report = l.Report
		case l.Checking:
			d.progress.at(demoSteps-1, demoSteps, "checking against a serial solve")
		case l.Residual > 0:
			share := min(max(math.Log(l.Residual)/math.Log(demoTolerance), 0), 1)
			d.progress.at(int((demoSteps-1)*share), demoSteps, "solving in parallel")
		}
	}
}
