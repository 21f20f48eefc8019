// Pi integrates 4/(1+x²) from 0 to 1 on all ranks of a job. Rank 0 knows how many
// strips there are, and gets the sum of all.
//
//	exanet run -n 4 bin/pi -strips 1000000
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/mpi"
)

func main() {
	strips := flag.Int("strips", 1000000, "strips to divide the area into")
	flag.Parse()
	if flag.NArg() > 0 || *strips < 1 {
		fmt.Fprintln(os.Stderr, "pi: needs at least one strip, and no other arguments")
		os.Exit(2)
	}
	mpi.Main(func(world *mpi.Comm) error {
		pi, err := integrate(world, *strips)
		if err == nil && world.Rank() == 0 {
			fmt.Printf("pi is about %.9f, at every rank\n", pi)
		}
		return err
	})
}

// integrate returns the area at every rank. That of the strips counts which rank 0 gives.
func integrate(world *mpi.Comm, strips int) (float64, error) {
	strips, err := mpi.BcastValue(world, strips, 0)
	if err != nil {
		return 0, err
	}
	width := 1 / float64(strips)
	area := 0.0
	for i := world.Rank(); i < strips; i += world.Size() {
		x := (float64(i) + 0.5) * width
		area += width * 4 / (1 + x*x)
	}
	return mpi.AllreduceValue(world, area, mpi.Sum)
}
