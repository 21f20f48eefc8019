package mpi_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/exanet-mpi/exanet/mpi"
)

// A whole program, to be started by "exanet run -n 4 ./program". If a rank returns an
// error, Main prints it and the launcher ends the job.
func ExampleMain() {
	mpi.Main(func(world *mpi.Comm) error {
		text, err := os.ReadFile(fmt.Sprintf("part-%d.txt", world.Rank()))
		if err != nil {
			return err
		}
		words, err := mpi.ReduceValue(world, len(strings.Fields(string(text))), mpi.Sum, 0)
		if err == nil && world.Rank() == 0 {
			fmt.Println(words, "words")
		}
		return err
	})
}

// One rank knows something, and all need it.
func ExampleBcastValue() {
	fourRanks(func(c *mpi.Comm) error {
		var settings map[string]float64
		if c.Rank() == 0 { // reads a file, say
			settings = map[string]float64{"tolerance": 0.5}
		}
		settings, err := mpi.BcastValue(c, settings, 0)
		if err == nil && c.Rank() == 3 {
			fmt.Println(settings["tolerance"])
		}
		return err
	})
	// Output: 0.5
}

func ExampleAllreduceValue() {
	fourRanks(func(c *mpi.Comm) error {
		most, err := mpi.AllreduceValue(c, c.Rank()*c.Rank(), mpi.Max)
		if err == nil && c.Rank() == 0 {
			fmt.Println(most)
		}
		return err
	})
	// Output: 9
}

// Where each rank's part begins in the whole.
func ExampleExscanValue() {
	fourRanks(func(c *mpi.Comm) error {
		mine := 10 * (c.Rank() + 1)
		before, err := mpi.ExscanValue(c, mine, mpi.Sum)
		if err != nil {
			return err
		}
		lines, err := mpi.GatherValue(c, fmt.Sprint(before, "-", before+mine-1), 0)
		if err == nil && c.Rank() == 0 {
			fmt.Println(strings.Join(lines, ", "))
		}
		return err
	})
	// Output: 0-9, 10-29, 30-59, 60-99
}
