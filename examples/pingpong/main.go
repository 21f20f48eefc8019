// Pingpong sends a message back and forth between the ranks 0 and 1 and prints
// the time one way.
//
//	exanet run -n 2 bin/pingpong -size 1024
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

func main() {
	size := flag.Int("size", 8, "bytes of the message")
	rounds := flag.Int("rounds", 10000, "messages each way")
	flag.Parse()
	if flag.NArg() > 0 || *size < 0 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "pingpong: needs a size of 0 or more, one round or more, and no other arguments")
		os.Exit(2)
	}
	mpi.Main(func(world *mpi.Comm) error { return pingpong(world, *size, *rounds) })
}

func pingpong(world *mpi.Comm, size, rounds int) error {
	if world.Size() < 2 {
		return fmt.Errorf("needs two ranks, as in: exanet run -n 2 ./pingpong")
	}
	buf := make([]byte, size)
	if err := world.Barrier(); err != nil {
		return err
	}
	start := time.Now()
	for range rounds {
		if err := bounce(world, buf); err != nil {
			return err
		}
	}
	if world.Rank() == 0 {
		us := time.Since(start).Seconds() * 1e6 / float64(2*rounds)
		fmt.Printf("%d bytes: %.2f us one way\n", size, us)
	}
	return nil
}

// bounce makes one round trip between the ranks 0 and 1; the others return.
func bounce(world *mpi.Comm, buf []byte) error {
	const tag = 1
	switch world.Rank() {
	case 0:
		if err := mpi.Send(world, buf, 1, tag); err != nil {
			return err
		}
		_, err := mpi.Recv(world, buf, 1, tag)
		return err
	case 1:
		if _, err := mpi.Recv(world, buf, 0, tag); err != nil {
			return err
		}
		return mpi.Send(world, buf, 0, tag)
	}
	return nil
}
