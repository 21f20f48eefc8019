//go:build !optimistic

package mpi_test

import (
	"fmt"
	"log"

	"github.com/exanet-mpi/exanet/mpi"
)

// The protocol optimistic allows no probes.

// The size of a message before it is received.
func ExampleComm_Probe() {
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, []int{1, 2, 3}, 1, 0)
		}
		st, err := c.Probe(0, mpi.AnyTag)
		if err != nil {
			return err
		}
		buf := make([]int, mpi.Count[int](st))
		if _, err := mpi.Recv(c, buf, st.Source, st.Tag); err != nil {
			return err
		}
		fmt.Println(buf)
		return nil
	})
	// Output: [1 2 3]
}

// Goroutines that share the messages of a rank must not receive what another
// has probed.
func ExampleComm_Mprobe() {
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			for n := 1; n <= 3; n++ {
				if err := mpi.Send(c, make([]int, n), 1, 0); err != nil {
					return err
				}
			}
			return nil
		}
		sizes := make(chan int)
		for range 3 {
			go func() {
				m, st, err := c.Mprobe(0, 0)
				if err != nil {
					log.Fatal(err)
				}
				buf := make([]int, mpi.Count[int](st))
				if _, err := mpi.Mrecv(m, buf); err != nil {
					log.Fatal(err)
				}
				sizes <- len(buf)
			}()
		}
		fmt.Println(<-sizes + <-sizes + <-sizes)
		return nil
	})
	// Output: 6
}

// Values of any type: those with pointers are encoded.
func ExampleSendValue() {
	type order struct {
		Customer string
		Amounts  map[string]int
	}
	run(func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.SendValue(c, order{"Ada", map[string]int{"pears": 3}}, 1, 0)
		}
		o, st, err := mpi.RecvValue[order](c, mpi.AnySource, mpi.AnyTag)
		if err == nil {
			fmt.Println(o.Customer, "wants", o.Amounts, "says rank", st.Source)
		}
		return err
	})
	// Output: Ada wants map[pears:3] says rank 0
}
