package mpi_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/exanet-mpi/exanet/mpi"
)

// A program that "exanet run" starts, or that runs by itself as a world of one
// rank.
func ExampleInit() {
	world, err := mpi.Init(mpi.WithThreadLevel(mpi.ThreadFunneled))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(world.Rank(), "of", world.Size(), world.ThreadLevel())
	if err := mpi.Finalize(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(mpi.Initialized(), mpi.Finalized())
}

// Ranks as goroutines of one process.
func ExampleRun() {
	err := mpi.Run(3, func(world *mpi.Comm) error {
		if world.Rank() == 2 {
			fmt.Println("rank 2 of", world.Size())
		}
		return nil
	}, mpi.WithVariant(mpi.DefaultVariant))
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 2 of 3
}

// Errors wrap what Go programs compare with, and have the classes of MPI.
func ExampleErrorClass() {
	run(func(c *mpi.Comm) error {
		err := mpi.Send(c, []int{1}, 7, 0)
		if c.Rank() == 0 {
			fmt.Println(err)
			fmt.Println(errors.Is(err, mpi.ErrRank), mpi.ErrorClass(err))
		}
		return nil
	})
	// Output:
	// mpi: rank 0: Send, peer 7, tag 0, 8 bytes: no such rank; ranks of this communicator are 0 to 1
	// true MPI_ERR_RANK
}

// A library adds an error code of its own.
func ExampleComm_AddErrorCode() {
	run(func(c *mpi.Comm) error {
		class, err := c.AddErrorClass()
		if err != nil {
			return err
		}
		code, err := c.AddErrorCode(class)
		if err != nil {
			return err
		}
		if err := c.AddErrorString(code, "the matrix is singular"); err != nil {
			return err
		}
		if c.Rank() == 0 {
			err := c.NewError(code)
			fmt.Println(err, mpi.ErrorClass(err) == class)
		}
		return nil
	})
	// Output: mpi: the matrix is singular true
}

// One rank ends the job.
func ExampleComm_Abort() {
	err := mpi.Run(2, func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			c.Abort(3)
		}
		return c.Barrier() // fails
	})
	fmt.Println(err)
	// Output: rank 1 called Abort with code 3
}

func ExampleWtime() {
	began := mpi.Wtime()
	// ... compute ...
	fmt.Println(mpi.Wtime()-began >= 0, mpi.Wtick() > 0)
	// Output: true true
}

func ExampleVersion() {
	major, _ := mpi.Version()
	name, err := mpi.ProcessorName()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("MPI", major, name != "", mpi.LibraryVersion() != "")
	// Output: MPI 4 true true
}
