package mpi_test

import (
	"fmt"
	"log"

	"github.com/exanet-mpi/exanet/mpi"
)

// The rows of a matrix of ranks: each has a communicator of its own.
func ExampleComm_Split() {
	err := mpi.Run(6, func(world *mpi.Comm) error {
		row, err := world.Split(world.Rank()/3, 0)
		if err != nil {
			return err
		}
		defer row.Free()
		sum := []int{0}
		if err := mpi.Allreduce(row, []int{world.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if world.Rank() == 5 {
			fmt.Printf("rank %d of the row, which sums up to %d\n", row.Rank(), sum[0])
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 2 of the row, which sums up to 12
}

// A library duplicates the communicator that it is given, so that its messages
// never meet those of the program.
func ExampleComm_Dup() {
	err := mpi.Run(2, func(world *mpi.Comm) error {
		lib, err := world.Dup()
		if err != nil {
			return err
		}
		defer lib.Free()
		if world.Rank() == 0 {
			if err := mpi.Send(world, []byte{'p'}, 1, 0); err != nil {
				return err
			}
			return mpi.Send(lib, []byte{'l'}, 1, 0)
		}
		got := make([]byte, 1)
		if _, err := mpi.Recv(lib, got, 0, mpi.AnyTag); err != nil {
			return err
		}
		fmt.Printf("the library has %c", got[0])
		if _, err := mpi.Recv(world, got, 0, mpi.AnyTag); err != nil {
			return err
		}
		fmt.Printf(", the program %c\n", got[0])
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: the library has l, the program p
}

func ExampleGroup() {
	err := mpi.Run(8, func(world *mpi.Comm) error {
		even, err := world.Group().RangeIncl(mpi.Range{First: 0, Last: 6, Stride: 2})
		if err != nil {
			return err
		}
		if even.Rank() == mpi.Undefined {
			return nil
		}
		// Only the members take part.
		c, err := world.CreateGroup(even, 0)
		if err != nil {
			return err
		}
		if world.Rank() == 6 {
			fmt.Printf("rank 6 is rank %d of %d\n", c.Rank(), c.Size())
		}
		return c.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 6 is rank 3 of 4
}

// A ring of columns: every rank passes its number to the right.
func ExampleComm_Cart() {
	err := mpi.Run(6, func(world *mpi.Comm) error {
		dims, err := mpi.Dims(world.Size(), 0, 0) // 3 x 2
		if err != nil {
			return err
		}
		grid, err := world.Cart(dims, []bool{true, false}, false)
		if err != nil {
			return err
		}
		from, to, err := grid.CartShift(0, 1)
		if err != nil {
			return err
		}
		got := []int{0}
		if _, err := mpi.Sendrecv(grid, []int{grid.Rank()}, to, 0, got, from, 0); err != nil {
			return err
		}
		if grid.Rank() == 1 {
			at, err := grid.CartCoords(got[0])
			if err != nil {
				return err
			}
			fmt.Println("rank 1 has heard from the rank at", at)
		}
		return grid.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: rank 1 has heard from the rank at [2 1]
}

func ExampleComm_DistGraphAdjacent() {
	err := mpi.Run(3, func(world *mpi.Comm) error {
		// Everybody sends to rank 0.
		mine := mpi.Edges{Dests: []int{0}}
		if world.Rank() == 0 {
			mine = mpi.Edges{Sources: []int{1, 2}}
		}
		star, err := world.DistGraphAdjacent(mine, false)
		if err != nil {
			return err
		}
		sources, dests, err := star.Neighbours()
		if err != nil {
			return err
		}
		if star.Rank() == 0 {
			fmt.Println(sources, dests)
		}
		return star.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [1 2] []
}

// Two groups that know each other by their leaders only.
func ExampleComm_InterCreate() {
	err := mpi.Run(4, func(world *mpi.Comm) error {
		side := world.Rank() % 2
		half, err := world.Split(side, 0)
		if err != nil {
			return err
		}
		inter, err := half.InterCreate(0, world, 1-side, 0)
		if err != nil {
			return err
		}
		if world.Rank() == 2 { // rank 1 of its group
			if err := mpi.Send(inter, []int{42}, 1, 0); err != nil {
				return err
			}
		}
		if world.Rank() == 3 { // rank 1 of the other
			got := []int{0}
			st, err := mpi.Recv(inter, got, 1, 0)
			if err != nil {
				return err
			}
			fmt.Printf("%d from rank %d of the other group\n", got[0], st.Source)
		}
		all, err := inter.Merge(side == 0)
		if err != nil {
			return err
		}
		if all.Rank() == 0 {
			fmt.Println("rank 0 of all is rank", world.Rank(), "of the world")
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// 42 from rank 1 of the other group
	// rank 0 of all is rank 1 of the world
}

// A library keeps what it needs on the communicator.
func ExampleComm_SetAttr() {
	type plan struct{ steps int }
	key := mpi.NewKeyval(mpi.CopyAlways, func(_ *mpi.Comm, v any) error {
		fmt.Println("a plan of", v.(*plan).steps, "steps goes")
		return nil
	})
	err := mpi.Run(1, func(world *mpi.Comm) error {
		c, err := world.Dup()
		if err != nil {
			return err
		}
		if err := c.SetAttr(key, &plan{steps: 3}); err != nil {
			return err
		}
		d, err := c.Dup()
		if err != nil {
			return err
		}
		v, found, err := d.Attr(key)
		if err != nil {
			return err
		}
		fmt.Println(found, v.(*plan).steps)
		return d.Free()
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// true 3
	// a plan of 3 steps goes
}

func ExampleComm_CallErrhandler() {
	err := mpi.Run(1, func(world *mpi.Comm) error {
		err := world.SetErrhandler(mpi.NewErrhandler(func(c *mpi.Comm, err error) error {
			fmt.Println("on", c.Name()+":", err)
			return nil
		}))
		if err != nil {
			return err
		}
		return world.CallErrhandler(mpi.Send(world, []int{1}, 5, 0))
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// on MPI_COMM_WORLD: mpi: rank 0: Send, peer 5, tag 0, 8 bytes: no such rank; ranks of this communicator are 0 to 0
}
