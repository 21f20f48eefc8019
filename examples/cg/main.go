// Cg solves a 27-point stencil by conjugate gradients on the ranks of a job and
// compares the result with a serial solve of the same system on rank 0.
//
//	exanet run -n 8 go run ./examples/cg -grid 32
//	exanet sim run -n 64 bin/cg -grid 16
//
// The second is the same on the simulated prototype: the solution is computed in
// earnest, and its time is told by the number of operations (-rate).
// It exits with 1 if the two solves differ by more than rounding explains.
// Without a launcher it runs as a job of one rank.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/exanet-mpi/exanet/examples/cg/stencil"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

func main() {
	grid := flag.String("grid", "32", "points of one rank: `N` for a cube, or XxYxZ")
	iterations := flag.Int("iterations", 500, "most iterations to make")
	tolerance := flag.Float64("tolerance", 1e-9, "stop at this residual, relative to the right-hand side's norm")
	rate := flag.Float64("rate", 1e9, "floating-point operations a second of a core, in virtual time")
	flag.Parse()

	local, err := stencil.ParseGrid(*grid)
	if err != nil || flag.NArg() > 0 || *iterations < 1 || !(*tolerance >= 0) || !(*rate > 0) {
		if err == nil {
			err = fmt.Errorf("needs at least one iteration, a tolerance of 0 or more, a rate above 0, and no other " +
				"arguments")
		}
		fmt.Fprintln(os.Stderr, "cg:", err)
		os.Exit(2)
	}
	// The verdict decides after Main, which finalizes: a rank that leaves without it
	// is taken for one that died.
	var verdict stencil.Verdict
	virtual.Main(func(world *mpi.Comm) error {
		v, err := solve(world, local, stencil.Options{Iterations: *iterations, Tolerance: *tolerance}, *rate)
		if err != nil {
			return fmt.Errorf("cg: %w", err)
		}
		if world.Rank() == 0 || !virtual.Simulated() {
			verdict = v
		}
		return nil
	})
	if err := verdict.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "cg:", err)
		os.Exit(1)
	}
}

// solve is what a rank does. rate is what a core computes in virtual time.
func solve(world *mpi.Comm, local [3]int, o stencil.Options, rate float64) (verdict stencil.Verdict, err error) {
	if virtual.Simulated() {
		o.Computed = func(operations int) { world.Compute(time.Duration(float64(operations) / rate * 1e9)) }
	}
	solver, err := stencil.New(world, local)
	if err != nil {
		return verdict, err
	}
	start := world.Now()
	res, err := solver.Solve(o)
	if err != nil {
		return verdict, err
	}
	elapsed := world.Now() - start
	if verdict, err = solver.Check(res); err != nil {
		return verdict, err
	}
	times, err := stencil.MeanTimes(world, res.Times)
	if err != nil {
		return verdict, err
	}
	if world.Rank() == 0 {
		report(solver.Layout(), verdict, elapsed, times)
	}
	return verdict, nil
}

func report(l stencil.Layout, v stencil.Verdict, elapsed time.Duration, t stencil.Times) {
	g := l.Global()
	fmt.Printf("grid        %d x %d x %d on %d x %d x %d ranks\n", g[0], g[1], g[2], l.Ranks[0], l.Ranks[1], l.Ranks[2])
	fmt.Printf("iterations  %d in %.3f s\n", v.Iterations, elapsed.Seconds())
	fmt.Printf("halo        %.3f s   (mean over the ranks)\n", t.Halo.Seconds())
	fmt.Printf("allreduce   %.3f s\n", t.Allreduce.Seconds())
	fmt.Printf("compute     %.3f s\n", t.Compute.Seconds())
	fmt.Printf("residual    %.6e parallel, %.6e serial, %.6e from the solution\n", v.Residual, v.Serial, v.True)
	fmt.Printf("solution    differs from the serial one by %.2e; rounding explains up to %.2e\n", v.Difference,
		v.Allowed)
}
