package mpi_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestMistakesInCollectives(t *testing.T) {
	require.NoError(t, mpi.Run(3, func(c *mpi.Comm) error {
		v, long := []int{1}, make([]int, 6)
		three := []int{1, 1, 1}
		for name, check := range map[string]struct {
			err  error
			want error
			text string
		}{
			"negative root":   {mpi.Bcast(c, v, -1), mpi.ErrRoot, "0 to 2"},
			"large root":      {mpi.Reduce(c, v, nil, mpi.Sum, 3), mpi.ErrRoot, "0 to 2"},
			"no communicator": {mpi.Allgather(nil, v, long), mpi.ErrComm, "Init"},
			"pointers":        {mpi.Bcast(c, []*int{nil}, 0), mpi.ErrType, "*int"},
			"not for all":     {mpi.Allgather(c, v, make([]int, 4)), mpi.ErrCount, "each of the 3 ranks"},
			"not their sum":   {mpi.Allgather(c, v, long), mpi.ErrCount, "as long as"},
			"too few counts": {mpi.Allgatherv(c, v, long, []int{1, 1}, nil), mpi.ErrCount,
				"each of the 3 blocks"},
			"too many displs": {mpi.Allgatherv(c, v, long, three, []int{0, 1, 2, 3}), mpi.ErrCount,
				"displacement"},
			"negative count": {mpi.Allgatherv(c, v, long, []int{1, -1, 1}, nil), mpi.ErrCount,
				"the count of block 1 of recv is negative: -1"},
			"outside": {mpi.Allgatherv(c, v, long, three, []int{0, 6, 2}), mpi.ErrCount,
				"not within recv, of 6"},
			"before the beginning": {mpi.Allgatherv(c, v, long, three, []int{0, -1, 2}), mpi.ErrCount, "from -1"},
			"far outside": {mpi.Allgatherv(c, v, long, three, []int{math.MaxInt, 0, 1}), mpi.ErrCount,
				"not within recv"},
			"counts that overflow": {mpi.ReduceScatter(c, []int{}, v, []int{math.MaxInt, math.MaxInt, 2}, mpi.Sum),
				mpi.ErrCount, "overflow"},
			"more than the memory": {mpi.ReduceScatter(c, []int{}, v, []int{1 << 61, 0, 0}, mpi.Sum), mpi.ErrCount,
				"as counts tell"},
			"strings":           {mpi.Allreduce(c, nil, []string{""}, mpi.Sum), mpi.ErrType, "string"},
			"strings at a root": {mpi.Reduce(c, []string{""}, []string{""}, mpi.Sum, 0), mpi.ErrType, "string"},
			"local strings":     {mpi.ReduceLocal([]string{""}, []string{""}, mpi.Sum), mpi.ErrType, "string"},
			"own block": {mpi.Alltoallv(c, three, three, nil, long, []int{2, 2, 2}, nil), mpi.ErrCount,
				"to itself"},
			"scattered counts": {mpi.ReduceScatter(c, v, v, three, mpi.Sum), mpi.ErrCount, "as counts tell"},
			"negative scatter": {mpi.ReduceScatter(c, v, v, []int{-1, 1, 1}, mpi.Sum), mpi.ErrCount, "negative"},
			"scattered blocks": {mpi.ReduceScatterBlock(c, long, v, mpi.Sum), mpi.ErrCount,
				"receive buffers of all"},
			"lengths":     {mpi.Scan(c, v, long, mpi.Sum), mpi.ErrCount, "as long as send"},
			"no operator": {mpi.Allreduce(c, v, v, mpi.Op{}), mpi.ErrOp, "no function"},
			"no function": {mpi.ReduceLocal([]int32{1}, []int32{1}, mpi.NewOp[int32](nil, true)), mpi.ErrOp,
				"no function"},
			"no location":           {mpi.Allreduce(c, v, v, mpi.MinLoc), mpi.ErrOp, "MinLoc"},
			"local lengths":         {mpi.ReduceLocal(v, long, mpi.Sum), mpi.ErrCount, "as long as in"},
			"local operator":        {mpi.ReduceLocal([]bool{true}, []bool{true}, mpi.Sum), mpi.ErrOp, "Sum"},
			"neighbours of nothing": {mpi.NeighbourAllgather(c, v, long), mpi.ErrTopology, "Cart"},
		} {
			if !errors.Is(check.err, check.want) {
				return fmt.Errorf("%s: %v", name, check.err)
			}
			require.ErrorContains(t, check.err, check.text, name)
		}
		if _, err := mpi.Igather(c, v, v, 7); !errors.Is(err, mpi.ErrRoot) {
			return err
		}
		if _, err := mpi.GatherInit(c, v, v, 7); !errors.Is(err, mpi.ErrRoot) {
			return err
		}
		q, err := c.Ibarrier()
		if err != nil {
			return err
		}
		if err := q.Cancel(); !errors.Is(err, mpi.ErrRequest) {
			return fmt.Errorf("a cancelled barrier: %v", err)
		}
		_, err = q.Wait()
		return err
	}))
}

// Ranks that pass different counts: those that can know get an error, nobody
// hangs, nothing beyond a buffer is written.
func TestMismatchedCounts(t *testing.T) {
	mismatch := func(t *testing.T, variant, algorithm string) {
		for _, n := range []int{1, 4, 5, 6, 1000, 5000} {
			for _, odd := range []int{n - 1, n + 1} {
				errs := make([]error, 4)
				require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
					buf := make([]uint64, n+2)
					for i := range buf {
						buf[i] = 77
					}
					mine := n
					if c.Rank() == 2 { // its child in the tree is rank 3
						mine = odd
					}
					errs[c.Rank()] = mpi.Bcast(c, buf[:mine], 0)
					if buf[n+1] != 77 || mine < n && buf[n] != 77 {
						return errors.New("memory beyond the buffer was written")
					}
					return c.Barrier()
				}, mpi.WithVariant(variant), mpi.WithCollectives(algorithm)))
				require.NoError(t, errs[0])
				require.NoError(t, errs[1])
				if odd < n {
					require.ErrorIs(t, errs[2], mpi.ErrTruncate)
				} else {
					require.ErrorIs(t, errs[2], mpi.ErrCount)
				}
				if algorithm == "bcast:shared" {
					require.NoError(t, errs[3])
					continue
				}
				require.Error(t, errs[3], "its parent could not go on")
				require.ErrorContains(t, errs[3], "peer 2")
				require.NotContains(t, errs[3].Error(), "it passed", "nobody passes a part of an element")
			}
		}
	}
	for _, variant := range mpi.Variants() {
		t.Run(variant, func(t *testing.T) {
			mismatch(t, variant, "bcast:binomial")
			mismatch(t, variant, "bcast:shared")
		})
	}
}

// Ranks that pass different counts to collectives in shared memory: they do not
// hang, and all that can know get an error.
func TestMismatchesInSharedMemory(t *testing.T) {
	knows := map[string]int{"Gatherv": 0, "Scatterv": 1} // the only rank to know both sizes
	for name, call := range map[string]func(c *mpi.Comm, n int) error{
		"Allreduce": func(c *mpi.Comm, n int) error {
			return mpi.Allreduce(c, make([]byte, n), make([]byte, n), mpi.Sum)
		},
		"Allgather": func(c *mpi.Comm, n int) error { return mpi.Allgather(c, make([]byte, n), make([]byte, 3*n)) },
		"Alltoall":  func(c *mpi.Comm, n int) error { return mpi.Alltoall(c, make([]byte, 3*n), make([]byte, 3*n)) },
		"Gatherv": func(c *mpi.Comm, n int) error {
			return errors.Join(mpi.Gatherv(c, make([]byte, n), make([]byte, 60), []int{20, 20, 20}, nil, 0),
				c.Barrier())
		},
		"Scatterv": func(c *mpi.Comm, n int) error {
			return errors.Join(mpi.Scatterv(c, make([]byte, 60), []int{20, 20, 20}, nil, make([]byte, n), 2),
				c.Barrier())
		},
		"Alltoallv": func(c *mpi.Comm, n int) error {
			each := []int{n, n, n}
			return mpi.Alltoallv(c, make([]byte, 3*n), each, nil, make([]byte, 3*n), each, nil)
		},
		"Alltoallv in place": func(c *mpi.Comm, n int) error {
			return mpi.Alltoallv(c, nil, nil, nil, make([]byte, 3*n), []int{n, n, n}, nil)
		},
		"other calls": func(c *mpi.Comm, n int) error {
			if n != 20 {
				return c.Barrier()
			}
			return mpi.Allreduce(c, make([]byte, n), make([]byte, n), mpi.Sum)
		},
	} {
		for _, odd := range []int{8, 300, 5000, 60_000} {
			errs := make([]error, 3)
			_ = mpi.Run(3, func(c *mpi.Comm) error {
				n := 20
				if c.Rank() == 1 {
					n = odd
				}
				errs[c.Rank()] = call(c, n)
				return errs[c.Rank()]
			})
			for i, err := range errs {
				if only, ok := knows[name]; ok && i != only {
					require.NotErrorIs(t, err, mpi.ErrCount)
				} else {
					require.Error(t, err, "%s, %d, rank %d", name, odd, i)
				}
			}
			if only, ok := knows[name]; ok {
				require.True(t, errors.Is(errs[only], mpi.ErrCount) || errors.Is(errs[only], mpi.ErrTruncate),
					errs[only])
				continue
			}
			require.True(t, errors.Is(errs[1], mpi.ErrCount) || errors.Is(errs[1], mpi.ErrTruncate) ||
				errors.Is(errs[1], mpi.ErrProcFailed), errs[1])
		}
	}
}

// Long blocks of two ranks are read where they are, unless a rank has them in place, which
// other MPIs take from one rank alone as well.
func TestMismatchesOfBlocksThatAreRead(t *testing.T) {
	sizes := []int{20, 20_000, 60_000}
	for _, n := range sizes {
		for _, m := range sizes {
			for _, inPlace := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
				errs := make([]error, 2)
				require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
					size := []int{n, m}[c.Rank()]
					each := []int{size, size}
					send, recv := bytes.Repeat([]byte{byte(1 + c.Rank())}, 2*size), make([]byte, 2*size)
					if inPlace[c.Rank()] {
						copy(recv, send)
						errs[c.Rank()] = mpi.Alltoallv(c, nil, nil, nil, recv, each, nil)
					} else {
						errs[c.Rank()] = mpi.Alltoallv(c, send, each, nil, recv, each, nil)
					}
					clear(send) // which nobody reads any more
					if errs[c.Rank()] == nil && (bytes.Count(recv[:size], []byte{1}) != size ||
						bytes.Count(recv[size:], []byte{2}) != size) {
						return errors.New("wrong data")
					}
					return c.Barrier()
				}))
				for i, err := range errs {
					if n != m {
						require.True(t, errors.Is(err, mpi.ErrCount) || errors.Is(err, mpi.ErrTruncate),
							"%d and %d bytes, in place %v, rank %d: %v", n, m, inPlace, i, err)
					} else {
						require.NoError(t, err, "%d bytes, in place %v, rank %d", n, inPlace, i)
					}
				}
			}
		}
	}
}

// What a rank that could not go on sends is never taken for data, whatever lengths
// the ranks have passed, and no error names a length that nobody passed.
func TestFailedMessagesAreNoData(t *testing.T) {
	for _, variant := range protocols {
		if !available(t, variant) {
			continue
		}
		require.NoError(t, mpi.Run(4, func(c *mpi.Comm) error {
			for _, n := range []int{30, 37, 38, 54, 100, 100_016} {
				var ks []int
				if variant != "optimistic" { // which takes no short receive of a long send
					ks = []int{20, 50_000}
				}
				for k := max(1, n-70); k < n+54; k++ {
					ks = append(ks, k)
				}
				for _, k := range ks {
					lengths := []int{n, n, n - 16, k}
					b := bytes.Repeat([]byte{byte(c.Rank() + 1)}, lengths[c.Rank()])
					err := mpi.Bcast(c, b, 0)
					if c.Rank() < 2 && err != nil {
						return err
					}
					if c.Rank() == 2 && !errors.Is(err, mpi.ErrTruncate) {
						return fmt.Errorf("%v: %w", lengths, err)
					}
					if c.Rank() == 3 && (err == nil || !strings.Contains(err.Error(), "could not go on")) {
						return fmt.Errorf("%v: %d... %w", lengths, b[0], err)
					}
					if err := c.Barrier(); err != nil {
						return err
					}
				}
			}
			return nil
		}, mpi.WithVariant(variant), mpi.WithCollectives("bcast:binomial")), variant)
	}
}

// A rank dies: all whose result depends on it get an error, also those that
// exchange no message with it, while the others live on.
func TestADeadRankEndsCollectives(t *testing.T) {
	const p, dead = 6, 2
	failure := errors.New("rank 2 has had enough")
	for _, variant := range protocols {
		if !available(t, variant) {
			continue
		}
		for _, n := range []int{1, 5, 5000} {
			for name, call := range map[string]func(c *mpi.Comm, v, w []int) (*mpi.Request, error){
				"Iallreduce": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) {
					return mpi.Iallreduce(c, v, w[:n], mpi.Sum)
				},
				"Iallgather": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) { return mpi.Iallgather(c, v, w) },
				"Ialltoall": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) {
					return mpi.Ialltoall(c, make([]int, n*p), w)
				},
				"Ibarrier": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) { return c.Ibarrier() },
				"Allreduce": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) {
					return nil, mpi.Allreduce(c, v, w[:n], mpi.Sum)
				},
				"Barrier": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) { return nil, c.Barrier() },
				"Alltoallv": func(c *mpi.Comm, v, w []int) (*mpi.Request, error) {
					each := []int{n, n, n, n, n, n} // of 5000, messages beside the area
					return nil, mpi.Alltoallv(c, make([]int, n*p), each, nil, w, each, nil)
				},
			} {
				var survivors sync.WaitGroup
				survivors.Add(p - 1)
				err := mpi.Run(p, func(c *mpi.Comm) error {
					if c.Rank() == dead {
						return failure
					}
					q, err := call(c, make([]int, n), make([]int, n*p))
					if err == nil && q != nil {
						_, err = q.Wait()
					}
					survivors.Done()
					survivors.Wait() // nobody leaves before all have heard of it
					if !errors.Is(err, mpi.ErrProcFailed) {
						return fmt.Errorf("%s of %d: rank %d: %v", name, n, c.Rank(), err)
					}
					return err
				}, mpi.WithVariant(variant))
				require.ErrorIs(t, err, failure)
				require.NotContains(t, err.Error(), name)
			}
		}
	}
}

// An operator that panics ends its rank, or the request that it was given to.
func TestOperatorsThatPanic(t *testing.T) {
	failing := func(c *mpi.Comm) mpi.Op {
		return mpi.NewOp(func(in, inout []int) {
			if c.Rank() == 1 {
				panic("no sum today")
			}
		}, true)
	}
	err := mpi.Run(2, func(c *mpi.Comm) error { return mpi.Allreduce(c, nil, []int{1}, failing(c)) })
	require.ErrorContains(t, err, "rank 1 panicked: no sum today")
	for algorithm, passesOn := range map[string]bool{"recursive_doubling": false, "rabenseifner": true} {
		const n = 100_000
		require.NoError(t, mpi.Run(2, func(c *mpi.Comm) error {
			q, err := mpi.Iallreduce(c, nil, make([]int, n), failing(c))
			if err != nil {
				return err
			}
			_, err = q.Wait()
			if (c.Rank() == 1 || passesOn) != (err != nil) { // what rank 1 has combined goes to rank 0
				return fmt.Errorf("%s, rank %d: %v", algorithm, c.Rank(), err)
			}
			if c.Rank() == 1 && !errors.Is(err, mpi.ErrOp) {
				return err
			}
			return nil
		}, mpi.WithCollectives("allreduce:"+algorithm)))
	}
}
