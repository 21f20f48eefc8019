// Cg solves a 27-point stencil by conjugate gradients on the ranks of a job and
// compares the result with a serial solve of the same system on rank 0.
//
//	exanet run -n 8 go run ./examples/cg -grid 32
//
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
)

func main() {
	grid := flag.String("grid", "32", "points of one rank: `N` for a cube, or XxYxZ")
	iterations := flag.Int("iterations", 500, "most iterations to make")
	tolerance := flag.Float64("tolerance", 1e-9, "stop at this residual, relative to the right-hand side's norm")
	flag.Parse()

	local, err := stencil.ParseGrid(*grid)
	if err != nil || flag.NArg() > 0 || *iterations < 1 || !(*tolerance >= 0) {
		if err == nil {
			err = fmt.Errorf("needs at least one iteration, a tolerance of 0 or more, and no other arguments")
		}
		fmt.Fprintln(os.Stderr, "cg:", err)
		os.Exit(2)
	}
	if err := run(local, stencil.Options{Iterations: *iterations, Tolerance: *tolerance}); err != nil {
		fmt.Fprintln(os.Stderr, "cg:", err)
		os.Exit(1)
	}
}

func run(local [3]int, o stencil.Options) error {
	world, err := mpi.Init()
	if err != nil {
		return err
	}
	solver, err := stencil.New(world, local)
	if err != nil {
		return err
	}
	start := time.Now()
	res, err := solver.Solve(o)
	if err != nil {
		return err
	}
	elapsed := time.Since(start)
	verdict, err := solver.Check(res)
	if err != nil {
		return err
	}
	times, err := stencil.MeanTimes(world, res.Times)
	if err != nil {
		return err
	}
	if world.Rank() == 0 {
		report(solver.Layout(), verdict, elapsed, times)
	}
	// Finalize before the verdict decides: a rank that leaves without it is
	// taken for one that died.
	if err := mpi.Finalize(); err != nil {
		return err
	}
	return verdict.Err()
}

func report(l stencil.Layout, v stencil.Verdict, elapsed time.Duration, t stencil.Times) {
	g := l.Global()
	fmt.Printf("grid        %d x %d x %d on %d x %d x %d ranks\n", g[0], g[1], g[2], l.Ranks[0], l.Ranks[1], l.Ranks[2])
	fmt.Printf("iterations  %d in %.3f s\n", v.Iterations, elapsed.Seconds())
	fmt.Printf("halo        %.3f s   (mean over the ranks)\n", t.Halo.Seconds())
	fmt.Printf("allreduce   %.3f s\n", t.Allreduce.Seconds())
	fmt.Printf("compute     %.3f s\n", t.Compute.Seconds())
	fmt.Printf("residual    %.6e parallel, %.6e serial, %.6e from the solution\n", v.Residual, v.Serial, v.True)
	fmt.Printf("solution    differs from the serial one by %.2e; rounding explains up to %.2e\n", v.Difference, v.Allowed)
}
