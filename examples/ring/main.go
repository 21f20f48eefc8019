// Ring passes messages around a ring of ranks: a number that every rank adds to, and
// then a large block that all ranks pass on at the same time.
//
//	exanet run -n 4 bin/ring
//	exanet run -n 4 --timeout 5s bin/ring -wrong
//
// The second makes a mistake that the tutorial explains: all ranks wait for each other.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/mpi"
)

// Tags tell messages between the same two ranks apart.
const (
	tagNumber = iota
	tagBlock
)

func main() {
	wrong := flag.Bool("wrong", false, "send before receiving, at every rank: nobody goes on")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "ring: takes no arguments but -wrong")
		os.Exit(2)
	}
	mpi.Main(func(world *mpi.Comm) error {
		if err := passNumber(world); err != nil {
			return err
		}
		return passBlocks(world, *wrong)
	})
}

// neighbours are the ranks behind and before the caller in the ring.
func neighbours(world *mpi.Comm) (next, before int) {
	n := world.Size()
	return (world.Rank() + 1) % n, (world.Rank() + n - 1) % n
}

// passNumber sends a number once around the ring.
func passNumber(world *mpi.Comm) error {
	next, before := neighbours(world)
	number := []int{0} // a message is a slice
	if world.Rank() == 0 {
		if err := mpi.Send(world, number, next, tagNumber); err != nil {
			return err
		}
		if _, err := mpi.Recv(world, number, before, tagNumber); err != nil {
			return err
		}
		fmt.Println("the number is back:", number[0])
		return nil
	}
	if _, err := mpi.Recv(world, number, before, tagNumber); err != nil {
		return err
	}
	number[0] += world.Rank()
	return mpi.Send(world, number, next, tagNumber)
}

// passBlocks sends a large block from every rank to the next.
func passBlocks(world *mpi.Comm, wrong bool) error {
	next, before := neighbours(world)
	mine, theirs := make([]float64, 1<<20), make([]float64, 1<<20)
	mine[0] = float64(world.Rank())
	if wrong {
		if err := mpi.Send(world, mine, next, tagBlock); err != nil { // returns when next receives
			return err
		}
		if _, err := mpi.Recv(world, theirs, before, tagBlock); err != nil { // which it does here
			return err
		}
	} else if _, err := mpi.Sendrecv(world, mine, next, tagBlock, theirs, before, tagBlock); err != nil {
		return err
	}
	fmt.Println("rank", world.Rank(), "has the block of rank", theirs[0])
	return nil
}
