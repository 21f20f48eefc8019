//go:build !race && !readbased && !rtr && !envless && !optimistic && !customized

// Of the protocols only ticket promises not to allocate: the others keep a
// record of each eager send, or of each read.

package mpi_test

import (
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// The allocations are those of both ranks, since both live in this process.
func allocations(t *testing.T, call func(c *mpi.Comm) error) float64 {
	t.Helper()
	return allocationsIn(t, 500, call)
}

func allocationsIn(t *testing.T, runs int, call func(c *mpi.Comm) error, opts ...mpi.Option) float64 {
	t.Helper()
	const warm = 100
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
	}, opts...))
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

func TestDataWithGapsDoNotAllocate(t *testing.T) {
	for _, n := range []int{20, 3000} {
		every2nd, err := datatype.Vector(n, 1, 2, datatype.Float64)
		require.NoError(t, err)
		in, out := [2][]float64{make([]float64, 2*n), make([]float64, 2*n)}, make([]float64, 2*n)
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			require.Zero(t, allocations(t, func(c *mpi.Comm) error {
				mine, other := mpi.With(in[c.Rank()], 1, every2nd), 1-c.Rank()
				if c.Rank() == 0 {
					if err := c.SendData(mpi.With(out, 1, every2nd), 1, 1); err != nil {
						return err
					}
					if _, err := c.RecvData(mine, 1, 1); err != nil {
						return err
					}
				} else {
					if _, err := c.RecvData(mine, 0, 1); err != nil {
						return err
					}
					if err := c.SsendData(mpi.With(out, 1, every2nd), 0, 1); err != nil {
						return err
					}
				}
				_, err := c.SendrecvData(mpi.With(out, 1, every2nd), other, 2, mine, other, 2)
				return err
			}))
		})
	}
}

func TestCollectivesDoNotAllocate(t *testing.T) {
	for _, n := range []int{2, 3000} {
		in := [2][]float64{make([]float64, 2*n), make([]float64, 2*n)}
		out := [2][]float64{make([]float64, 2*n), make([]float64, 2*n)}
		counts := []int{n, n}
		for name, call := range map[string]func(c *mpi.Comm, a, b []float64) error{
			"Gather":  func(c *mpi.Comm, a, b []float64) error { return mpi.Gather(c, a[:n], b, 0) },
			"Scatter": func(c *mpi.Comm, a, b []float64) error { return mpi.Scatter(c, a, b[:n], 0) },
			"Gatherv": func(c *mpi.Comm, a, b []float64) error {
				return mpi.Gatherv(c, a[:n], b, counts, nil, 0)
			},
			"Scatterv": func(c *mpi.Comm, a, b []float64) error {
				return mpi.Scatterv(c, a, counts, nil, b[:n], 0)
			},
			"Allgather": func(c *mpi.Comm, a, b []float64) error { return mpi.Allgather(c, a[:n], b) },
			"Allgatherv": func(c *mpi.Comm, a, b []float64) error {
				return mpi.Allgatherv(c, a[:n], b, counts, nil)
			},
			"Alltoall":          func(c *mpi.Comm, a, b []float64) error { return mpi.Alltoall(c, a, b) },
			"Alltoall in place": func(c *mpi.Comm, a, b []float64) error { return mpi.Alltoall(c, nil, b) },
			"Alltoallv": func(c *mpi.Comm, a, b []float64) error {
				return mpi.Alltoallv(c, a, counts, nil, b, counts, nil)
			},
			"Scan":   func(c *mpi.Comm, a, b []float64) error { return mpi.Scan(c, a, b, mpi.Sum) },
			"Exscan": func(c *mpi.Comm, a, b []float64) error { return mpi.Exscan(c, a, b, mpi.Sum) },
			"ReduceScatter": func(c *mpi.Comm, a, b []float64) error {
				return mpi.ReduceScatter(c, a, b[:n], counts, mpi.Sum)
			},
			"ReduceScatterBlock": func(c *mpi.Comm, a, b []float64) error {
				return mpi.ReduceScatterBlock(c, a, b[:n], mpi.Sum)
			},
			"data with gaps": func(c *mpi.Comm, a, b []float64) error {
				every2nd := datatype.View{Base: unsafe.Pointer(&a[0]), Count: n, Type: complexReal}
				return c.AllreduceData(mpi.InPlace, every2nd, mpi.Max).Do()
			},
			"blocks of data": func(c *mpi.Comm, a, b []float64) error {
				v := mpi.Vector{Base: unsafe.Pointer(&b[0]), Counts: counts, Type: datatype.Float64}
				return c.AllgathervData(datatype.View{Base: unsafe.Pointer(&a[0]), Count: n, Type: datatype.Float64},
					v).Do()
			},
		} {
			t.Run(name+" of "+strconv.Itoa(n), func(t *testing.T) {
				require.Zero(t, allocations(t, func(c *mpi.Comm) error {
					if err := call(c, in[c.Rank()], out[c.Rank()]); err != nil {
						return err
					}
					return c.Barrier() // so that no rank runs ahead and fills the device
				}))
			})
		}
		t.Run("persistent of "+strconv.Itoa(n), func(t *testing.T) {
			var reqs [2][]*mpi.Request
			require.Zero(t, allocations(t, func(c *mpi.Comm) error {
				me := c.Rank()
				if reqs[me] == nil {
					sum, err := mpi.AllreduceInit(c, in[me], out[me], mpi.Sum)
					if err != nil {
						return err
					}
					all, err := mpi.AlltoallvInit(c, in[me], counts, nil, out[me], counts, nil)
					if err != nil {
						return err
					}
					reqs[me] = []*mpi.Request{sum, all}
				}
				for _, q := range reqs[me] {
					if err := q.Start(); err != nil {
						return err
					}
					if _, err := q.Wait(); err != nil {
						return err
					}
				}
				return c.Barrier()
			}))
		})
	}
}

// complexReal is the first of two numbers.
var complexReal = func() *datatype.Type {
	t, err := datatype.Resized(datatype.Float64, 0, 16)
	if err != nil {
		panic(err)
	}
	return t
}()

func TestNonBlockingCallsAllocateAtMostTheirRequest(t *testing.T) {
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
	require.Less(t, n, 1.0) // of four, since they are made by the slab
}

func TestRecycledRequestsAreUsedAgain(t *testing.T) {
	var all [2][]*mpi.Request // by rank
	n := allocations(t, func(c *mpi.Comm) error {
		me := c.Rank()
		reqs := all[me][:0]
		for i := range 100 {
			buf := make([]int, 0)
			r, err := mpi.Irecv(c, buf, 1-me, i)
			if err != nil {
				return err
			}
			s, err := mpi.Isend(c, buf, 1-me, i)
			if err != nil {
				return err
			}
			reqs = append(reqs, r, s)
		}
		all[me] = reqs
		if err := mpi.WaitAll(reqs...); err != nil {
			return err
		}
		mpi.Recycle(reqs...)
		mpi.Recycle(reqs...) // nothing is given back twice
		return nil
	})
	require.Zero(t, n)
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
