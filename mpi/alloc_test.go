//go:build !race && !readbased && !rtr && !envless && !optimistic

// Of the protocols only ticket promises not to allocate: the others keep a
// record of each eager send, or of each read.

package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// The allocations are those of both ranks, since both live in this process.
func allocations(t *testing.T, call func(c *mpi.Comm) error) float64 {
	t.Helper()
	const warm, runs = 100, 500
	var per float64
	require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
		for range warm {
			if err := call(c); err != nil {
				return err
			}
		}
		if c.Rank() == 1 {
			for range runs + 1 { // AllocsPerRun calls once more
				if err := call(c); err != nil {
					return err
				}
			}
			return nil
		}
		var failed error
		per = testing.AllocsPerRun(runs, func() {
			if err := call(c); err != nil {
				failed = err
			}
		})
		return failed
	}))
	return per
}

func TestBlockingCallsDoNotAllocate(t *testing.T) {
	small, long := make([]float64, 2), make([]float64, 3000)
	for name, buf := range map[string][]float64{"short": small, "long": long} {
		t.Run("send and receive "+name, func(t *testing.T) {
			in := [2][]float64{make([]float64, len(buf)), make([]float64, len(buf))}
			n := allocations(t, func(c *mpi.Comm) error {
				mine := in[c.Rank()]
				if c.Rank() == 0 {
					if err := mpi.Send(c, buf, 1, 1); err != nil {
						return err
					}
					_, err := mpi.Recv(c, mine, 1, 1)
					return err
				}
				if _, err := mpi.Recv(c, mine, 0, 1); err != nil {
					return err
				}
				return mpi.Send(c, buf, 0, 1)
			})
			require.Zero(t, n)
		})
		t.Run("exchange and collectives "+name, func(t *testing.T) {
			in := [2][]float64{make([]float64, len(buf)), make([]float64, len(buf))}
			n := allocations(t, func(c *mpi.Comm) error {
				mine := in[c.Rank()]
				if _, err := mpi.Sendrecv(c, buf, 1-c.Rank(), 1, mine, 1-c.Rank(), 1); err != nil {
					return err
				}
				if err := mpi.Allreduce(c, buf, mine, mpi.Sum); err != nil {
					return err
				}
				if err := mpi.Reduce(c, buf, mine, mpi.Max, 1); err != nil {
					return err
				}
				if err := mpi.Bcast(c, mine, 0); err != nil {
					return err
				}
				return c.Barrier()
			})
			require.Zero(t, n)
		})
	}
}

func TestNonBlockingCallsAllocateTheirRequest(t *testing.T) {
	bufs := [2][]byte{make([]byte, 100000), make([]byte, 100000)}
	n := allocations(t, func(c *mpi.Comm) error {
		r, err := mpi.Irecv(c, bufs[c.Rank()][:50000], 1-c.Rank(), 1)
		if err != nil {
			return err
		}
		s, err := mpi.Isend(c, bufs[c.Rank()][50000:], 1-c.Rank(), 1)
		if err != nil {
			return err
		}
		if _, err := s.Wait(); err != nil {
			return err
		}
		_, err = r.Wait()
		return err
	})
	require.LessOrEqual(t, n, 4.0) // two on each rank
}

func TestStartedAgainNothingIsAllocated(t *testing.T) {
	for name, n := range map[string]int{"short": 16, "long": 50000} {
		t.Run(name, func(t *testing.T) {
			var fixed [2][]*mpi.Request // by rank
			var done [2][]mpi.Completion
			per := allocations(t, func(c *mpi.Comm) error {
				me := c.Rank()
				if fixed[me] == nil {
					for i, init := range []func(*mpi.Comm, []byte, int, int) (*mpi.Request, error){
						mpi.RecvInit[byte], mpi.RecvInit[byte], mpi.SendInit[byte], mpi.SsendInit[byte],
					} {
						q, err := init(c, make([]byte, n), 1-me, i%2)
						if err != nil {
							return err
						}
						fixed[me] = append(fixed[me], q)
					}
				}
				reqs := fixed[me]
				if err := mpi.StartAll(reqs...); err != nil {
					return err
				}
				if _, _, err := mpi.WaitAny(reqs...); err != nil {
					return err
				}
				var err error
				if done[me], err = mpi.WaitSome(done[me][:0], reqs...); err != nil {
					return err
				}
				if err := mpi.WaitAll(reqs...); err != nil {
					return err
				}
				if err := reqs[0].Start(); err != nil {
					return err
				}
				if err := mpi.Send(c, []byte(nil), 1-me, 0); err != nil {
					return err
				}
				_, err = reqs[0].Wait()
				return err
			})
			require.Zero(t, per)
		})
	}
}
