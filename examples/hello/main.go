// Hello greets from every rank of a job, in the order of the ranks: the others
// send their line to rank 0, which prints.
//
//	exanet run -n 4 go run ./examples/hello
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/exanet-mpi/exanet/mpi"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("hello: ")
	world, err := mpi.Init()
	if err != nil {
		log.Fatal(err)
	}
	if err := hello(world); err != nil {
		log.Fatal(err)
	}
	if err := mpi.Finalize(); err != nil {
		log.Fatal(err)
	}
}

func hello(world *mpi.Comm) error {
	line := fmt.Sprintf("hello from rank %d of %d, process %d", world.Rank(), world.Size(), os.Getpid())
	if world.Rank() != 0 {
		return mpi.Send(world, []byte(line), 0, 0)
	}
	fmt.Println(line)
	for rank := 1; rank < world.Size(); rank++ {
		// The sizes differ from rank to rank: ask before receiving.
		st, err := world.Probe(rank, 0)
		if err != nil {
			return err
		}
		buf := make([]byte, st.Bytes())
		if _, err := mpi.Recv(world, buf, rank, 0); err != nil {
			return err
		}
		fmt.Println(string(buf))
	}
	return nil
}
