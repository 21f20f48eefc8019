package mpi_test

import (
	"testing"

	"github.com/exanet-mpi/exanet/mpi"
)

// The processor's share of a short message with each protocol: send and receive
// by one rank, so that nobody waits and no cache line travels.
func BenchmarkShortMessageToSelf(b *testing.B) {
	for _, variant := range mpi.Variants() {
		b.Run(variant, func(b *testing.B) {
			err := mpi.Run(1, func(c *mpi.Comm) error {
				out, in := make([]byte, 8), make([]byte, 8)
				for b.Loop() {
					if err := mpi.Send(c, out, 0, 1); err != nil {
						return err
					}
					if _, err := mpi.Recv(c, in, 0, 1); err != nil {
						return err
					}
				}
				return nil
			}, mpi.WithVariant(variant))
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// What a collective call costs besides its messages.
func BenchmarkBarrierOfOne(b *testing.B) {
	err := mpi.Run(1, func(c *mpi.Comm) error {
		for b.Loop() {
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkAllreduceOfTwo(b *testing.B) {
	err := mpi.Run(2, func(c *mpi.Comm) error {
		v := make([]float64, 1)
		for range b.N {
			if err := mpi.Allreduce(c, nil, v, mpi.Sum); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}
