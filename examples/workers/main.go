// Workers factors numbers: rank 0, the master, hands them out one by one, and the others, the
// workers, send back what they found. Who is done sooner gets more.
//
//	exanet run -n 4 bin/workers 600851475143 1000000007 1234567890
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"

	"github.com/exanet-mpi/exanet/mpi"
)

// The tag says what kind of message it is.
const (
	tagWork   = iota // a number to factor
	tagStop          // there is none left
	tagResult        // a result
)

// result is what a worker sends back. Its fields have capital letters, since the message is encoded by gob.
type result struct {
	Number  uint64
	Factors []uint64
}

func main() {
	flag.Usage = func() { fmt.Fprintln(os.Stderr, "workers: give the numbers to factor, each 2 or more") }
	flag.Parse()
	var numbers []uint64
	for _, arg := range flag.Args() {
		n, err := strconv.ParseUint(arg, 10, 64)
		if err != nil || n < 2 {
			flag.Usage()
			os.Exit(2)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	mpi.Main(func(world *mpi.Comm) error {
		if world.Size() < 2 {
			return errors.New("workers: needs two ranks, a master and a worker")
		}
		if world.Rank() > 0 {
			return work(world)
		}
		results, err := master(world, numbers)
		for _, n := range numbers {
			fmt.Println(n, "=", results[n])
		}
		return err
	})
}

// master hands out the numbers and returns their factors.
func master(world *mpi.Comm, numbers []uint64) (map[uint64][]uint64, error) {
	next := 0
	handOut := func(worker int) error {
		if next == len(numbers) {
			return mpi.SendValue(world, uint64(0), worker, tagStop)
		}
		next++
		return mpi.SendValue(world, numbers[next-1], worker, tagWork)
	}
	for worker := 1; worker < world.Size(); worker++ {
		if err := handOut(worker); err != nil {
			return nil, err
		}
	}
	results := make(map[uint64][]uint64)
	for range numbers {
		r, st, err := mpi.RecvValue[result](world, mpi.AnySource, tagResult) // who is done first?
		if err != nil {
			return nil, err
		}
		results[r.Number] = r.Factors
		if err := handOut(st.Source); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// work factors numbers until there are none left.
func work(world *mpi.Comm) error {
	for {
		n, st, err := mpi.RecvValue[uint64](world, 0, mpi.AnyTag)
		if err != nil || st.Tag == tagStop {
			return err
		}
		if err := mpi.SendValue(world, result{n, factor(n)}, 0, tagResult); err != nil {
			return err
		}
	}
}

func factor(n uint64) (factors []uint64) {
	for f := uint64(2); f <= n/f; f++ {
		for ; n%f == 0 && n > f; n /= f {
			factors = append(factors, f)
		}
	}
	return append(factors, n)
}
