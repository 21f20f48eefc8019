package mpi_test

import (
	"fmt"
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

// Receives by the thousand, ended in one call, one by one in the order of
// arrival and against it, or as they come.
func BenchmarkWaitMany(b *testing.B) {
	forward := func(i, n int) int { return i }
	for _, bb := range []struct {
		name  string
		order func(i, n int) int // tag of the i-th message sent
		wait  func(reqs []*mpi.Request) error
	}{
		{"WaitAll", forward, func(reqs []*mpi.Request) error { return mpi.WaitAll(reqs...) }},
		{"WaitAny", forward, waitAnyOfAll},
		{"WaitAny-backward", func(i, n int) int { return n - 1 - i }, waitAnyOfAll},
		{"WaitSome", forward, func(reqs []*mpi.Request) error {
			var done []mpi.Completion
			for left := len(reqs); left > 0; left -= len(done) {
				var err error
				if done, err = mpi.WaitSome(done[:0], reqs...); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		for _, n := range []int{100, 10000} {
			b.Run(fmt.Sprintf("%s/%d", bb.name, n), func(b *testing.B) {
				err := mpi.Run(2, func(c *mpi.Comm) error {
					reqs := make([]*mpi.Request, n)
					in := make([]int, n)
					for range b.N {
						for i := range reqs {
							var err error
							if c.Rank() == 0 {
								reqs[i], err = mpi.Isend(c, in[:1], 1, bb.order(i, n))
							} else {
								reqs[i], err = mpi.Irecv(c, in[i:i+1], 0, i)
							}
							if err != nil {
								return err
							}
						}
						wait := bb.wait
						if c.Rank() == 0 {
							wait = func(reqs []*mpi.Request) error { return mpi.WaitAll(reqs...) }
						}
						if err := wait(reqs); err != nil {
							return err
						}
						if err := c.Barrier(); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/request")
			})
		}
	}
}

func waitAnyOfAll(reqs []*mpi.Request) error {
	for range reqs {
		if _, _, err := mpi.WaitAny(reqs...); err != nil {
			return err
		}
	}
	return nil
}
