package virtual_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

// BenchmarkMessages tells how many control messages are simulated in a second, of
// rings, where every rank sends to its neighbour and receives from the other, and of
// collectives, whose schedules take their time as well.
func BenchmarkMessages(b *testing.B) {
	for name, step := range map[string]func(c *mpi.Comm) error{
		"ring": func(c *mpi.Comm) error {
			n, buf := c.Size(), make([]byte, 8)
			for range 1000 {
				if err := mpi.Send(c, buf, (c.Rank()+1)%n, 1); err != nil {
					return err
				}
				if _, err := mpi.Recv(c, buf, (c.Rank()+n-1)%n, 1); err != nil {
					return err
				}
			}
			return nil
		},
		"allreduce": func(c *mpi.Comm) error {
			in, out := make([]float64, 1), make([]float64, 1)
			for range 200 {
				if err := mpi.Allreduce(c, in, out, mpi.Sum); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			m := sim.Prototype()
			p, err := m.Ordered(128, 1)
			require.NoError(b, err)
			var messages uint64
			start := time.Now()
			for range b.N {
				r, err := virtual.Run(virtual.Config{Machine: m, Placement: p}, step)
				require.NoError(b, err)
				messages += r.Messages
			}
			b.ReportMetric(float64(messages)/time.Since(start).Seconds(), "messages/s")
		})
	}
}
