package mpi_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// Ranks whose sizes are so different that some make the call through shared memory, others by messages, do not
// wait for each other: who waits in shared memory finds that out, also in the call behind one that it has left already.
func TestMismatchesOfSharedMemoryAndMessages(t *testing.T) {
	const short, long = 2 << 10, 2 << 20
	for name, call := range map[string]func(c *mpi.Comm, n int) error{
		"Bcast": func(c *mpi.Comm, n int) error { return mpi.Bcast(c, make([]byte, n), 0) },
		"Scatter": func(c *mpi.Comm, n int) error {
			return mpi.Scatter(c, make([]byte, c.Size()*n), make([]byte, n), 0)
		},
		"Gather": func(c *mpi.Comm, n int) error {
			return mpi.Gather(c, make([]byte, n), make([]byte, c.Size()*n), 0)
		},
		"Reduce": func(c *mpi.Comm, n int) error {
			return mpi.Reduce(c, make([]byte, n), make([]byte, n), mpi.Sum, 0)
		},
		"Exscan": func(c *mpi.Comm, n int) error { return mpi.Exscan(c, make([]byte, n), make([]byte, n), mpi.Sum) },
		"Scan":   func(c *mpi.Comm, n int) error { return mpi.Scan(c, make([]byte, n), make([]byte, n), mpi.Sum) },
		"Allreduce": func(c *mpi.Comm, n int) error {
			return mpi.Allreduce(c, make([]byte, n), make([]byte, n), mpi.Sum)
		},
		"Allgather": func(c *mpi.Comm, n int) error {
			return mpi.Allgather(c, make([]byte, n), make([]byte, c.Size()*n))
		},
		"Alltoall": func(c *mpi.Comm, n int) error {
			return mpi.Alltoall(c, make([]byte, c.Size()*n), make([]byte, c.Size()*n))
		},
		"ReduceScatterBlock": func(c *mpi.Comm, n int) error {
			return mpi.ReduceScatterBlock(c, make([]byte, c.Size()*n), make([]byte, n), mpi.Sum)
		},
		"other calls": func(c *mpi.Comm, n int) error {
			if n == long {
				return mpi.Bcast(c, make([]byte, n), 1-c.Rank())
			}
			return c.Barrier()
		},
	} {
		for _, ranks := range []int{2, 3} {
			for odd := range 2 {
				for _, usual := range []int{short, long} {
					what := fmt.Sprintf("%s of %d ranks, %d but at rank %d", name, ranks, usual, odd)
					over := make(chan []error, 1)
					go func() {
						errs := make([]error, ranks)
						_ = mpi.Run(ranks, func(c *mpi.Comm) error {
							n := usual
							if c.Rank() == odd {
								n = short + long - usual
							}
							// What both make by messages, and in shared memory, before.
							var err error
							for _, n := range []int{long, short} {
								err = errors.Join(err, mpi.Bcast(c, make([]byte, n), 0),
									mpi.Reduce(c, make([]byte, n), make([]byte, n), mpi.Sum, 1))
							}
							errs[c.Rank()] = errors.Join(err, call(c, n), c.Barrier())
							return nil
						})
						over <- errs
					}()
					select {
					case errs := <-over:
						wrong := 0
						for i, err := range errs {
							require.Error(t, err, "%s: rank %d", what, i)
							if errors.Is(err, mpi.ErrCount) || errors.Is(err, mpi.ErrTruncate) {
								wrong++
							}
						}
						require.Positive(t, wrong, what)
					case <-time.After(time.Minute):
						t.Fatal(what, "does not end")
					}
				}
			}
		}
	}
}

// Where all calls match nobody is taken to make another, whoever is ahead.
func TestSharedMemoryAndMessagesInTurn(t *testing.T) {
	for _, ranks := range []int{2, 3} {
		require.NoError(t, mpi.Run(ranks, func(c *mpi.Comm) error {
			same, own := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, uint64(c.Rank())))
			long := make([]byte, 2<<20)
			to := make([]byte, len(long))
			for i := range 200 {
				n := 1 + same.IntN(4000)
				if same.IntN(3) == 0 {
					n = len(long)
				}
				root := same.IntN(ranks)
				if own.IntN(8) == 0 {
					time.Sleep(time.Duration(own.IntN(300)) * time.Microsecond)
				}
				var err error
				switch same.IntN(7) {
				case 0:
					err = mpi.Bcast(c, long[:n], root)
				case 6: // some in another form of the same call
					if own.IntN(2) == 0 {
						err = mpi.Bcast(c, long[:n], root)
						break
					}
					var q *mpi.Request
					if q, err = c.BcastData(datatype.Bytes(long[:n]), root).BeginDo(); err == nil {
						_, err = q.Wait()
					}
				case 1:
					err = mpi.Reduce(c, long[:n], to[:n], mpi.Max, root)
				case 2:
					err = mpi.Scan(c, long[:n], to[:n], mpi.Max)
				case 3:
					n = min(n, len(to)/ranks)
					err = mpi.Gather(c, long[:n], to[:ranks*n], root)
				case 4:
					err = c.Barrier()
				case 5:
					err = mpi.Allreduce(c, long[:n], to[:n], mpi.Max)
				}
				if err != nil {
					return fmt.Errorf("call %d: %w", i, err)
				}
			}
			return nil
		}))
	}
}

// A rank that ends MPI while others wait for it in a collective is an error for those, and to nobody else.
func TestFinalizeBesideACollective(t *testing.T) {
	for _, ranks := range []int{2, 3, 4} {
		for _, n := range []int{1, 1 << 19} {
			for ending := range ranks {
				over := make(chan error, 1)
				go func() {
					over <- mpi.Run(ranks, func(c *mpi.Comm) error {
						v := make([]int, n)
						before := errors.Join(mpi.Bcast(c, v, 0), mpi.Allreduce(c, v, v, mpi.Sum))
						if c.Rank() == ending {
							time.Sleep(time.Duration(n%3) * time.Millisecond)
							return before
						}
						// Who is behind may be told in a call that matches; of those that are missed the first one, or
						// a later one.
						missed := errors.Join(mpi.Reduce(c, v, v, mpi.Sum, ending), mpi.Bcast(c, v, (ending+1)%ranks),
							mpi.Allreduce(c, v, v, mpi.Sum), c.Barrier())
						if err := errors.Join(before, missed); !errors.Is(err, mpi.ErrCount) {
							return fmt.Errorf("%d ranks, %d elements, not told: %w", ranks, n, err)
						}
						return nil
					})
				}()
				select {
				case err := <-over:
					require.NoError(t, err)
				case <-time.After(time.Minute):
					t.Fatal("does not end")
				}
			}
		}
	}
}
