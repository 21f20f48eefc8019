// Hello greets from every rank of a job.
//
//	exanet run -n 4 bin/hello
package main

import (
	"fmt"

	"github.com/exanet-mpi/exanet/mpi"
)

func main() { mpi.Main(hello) }

func hello(world *mpi.Comm) error {
	fmt.Println("hello from rank", world.Rank(), "of", world.Size())
	return nil
}
