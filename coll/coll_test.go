package coll_test

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
)

const mostRanks = 17

// solve performs a problem's schedules and compares with what must come out.
func (q *problem) solve(pick func(*coll.Call) *coll.Algorithm, schedules []*coll.Schedule,
	rng *rand.Rand) (*simulation, error) {
	s, err := simulate(q.calls, pick, schedules, q.combine(), rng)
	if err != nil {
		return s, err
	}
	for i := range q.p {
		if got := q.calls[i].Recv; !bytes.Equal(got, q.want[i]) {
			return s, fmt.Errorf("rank %d: %x, want %x", i, head(got), head(q.want[i]))
		}
		if !bytes.Equal(q.calls[i].Send, q.sends[i]) {
			return s, fmt.Errorf("rank %d: its input has changed", i)
		}
	}
	return s, nil
}

func head(b []byte) []byte { return b[:min(len(b), 64)] }

func rooted(op coll.Collective) bool {
	return slices.Contains([]coll.Collective{coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv,
		coll.Reduce}, op)
}

func neighbor(op coll.Collective) bool { return op >= coll.NeighborAllgather }

func reduces(op coll.Collective) bool { return op >= coll.Reduce && op <= coll.Exscan }

func force(t *testing.T, op coll.Collective, algorithm string) *coll.Selection {
	s, err := coll.NewSelection(op.String() + ":" + algorithm)
	require.NoError(t, err)
	return s
}

func schedules() []*coll.Schedule {
	s := make([]*coll.Schedule, mostRanks)
	for i := range s {
		s[i] = new(coll.Schedule)
	}
	return s
}

// messages are the algorithms of a collective that send messages; package shm has
// the others.
func messages(op coll.Collective) []coll.Algorithm {
	return slices.DeleteFunc(slices.Clone(coll.Algorithms(op)),
		func(a coll.Algorithm) bool { return a.Name == coll.Shared })
}

// Every algorithm, for 1 to 17 ranks, all roots, in place and not, with an
// operator that commutes and one that does not, in random order of delivery.
func TestEveryAlgorithmAgainstSerial(t *testing.T) {
	sizes := []int{0, 1, 2, 3, 16, 33}
	if testing.Short() {
		sizes = []int{0, 1, 5}
	}
	for op := range coll.Collectives {
		for _, a := range messages(op) {
			t.Run(op.String()+"/"+a.Name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(op)))
				pick, mem := force(t, op, a.Name).Pick, schedules()
				for p := 1; p <= mostRanks; p++ {
					roots := 1
					if rooted(op) {
						roots = p
					} else if neighbor(op) {
						roots = 4
					}
					for root := range roots {
						for _, n := range sizes {
							for kind := range 4 {
								inPlace, commute := kind&1 != 0, kind&2 != 0
								if commute && !reduces(op) || inPlace &&
									(op == coll.Barrier || op == coll.Bcast || neighbor(op)) {
									continue
								}
								q := pose(op, p, n, root, inPlace, commute, rng)
								_, err := q.solve(pick, mem, rng)
								require.NoError(t, err, "%d ranks, root %d, %d elements, in place %v, commutes %v", p,
									root, n, inPlace, commute)
							}
						}
					}
				}
			})
		}
	}
}

// Large vectors, with the algorithms that the table has for them.
func TestLargeVectors(t *testing.T) {
	s, err := coll.NewSelection("")
	require.NoError(t, err)
	rng, mem := rand.New(rand.NewPCG(2, 2)), schedules()
	ranks := []int{2, 3, 8, 13}
	sizes := []int{255, 256, 257, 4097, 1 << 20 / elem}
	if testing.Short() {
		ranks, sizes = []int{3, 8}, []int{255, 257, 4097}
	}
	for op := range coll.Collectives {
		if op == coll.Barrier || neighbor(op) {
			continue
		}
		for _, p := range ranks {
			for _, n := range sizes {
				if op != coll.Bcast && (!reduces(op) || op == coll.ReduceScatterBlock || op == coll.ReduceScatter) {
					n = n / p
				}
				q := pose(op, p, n, p/2*b2i(rooted(op)), n%2 == 0, true, rng)
				_, err := q.solve(s.Pick, mem, rng)
				require.NoError(t, err, "%v, %d ranks, %d elements", op, p, n)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What theory says of rounds and messages.
func TestRoundsAndMessages(t *testing.T) {
	rng, mem := rand.New(rand.NewPCG(3, 3)), schedules()
	run := func(op coll.Collective, algorithm string, p, n int) *simulation {
		q := pose(op, p, n, 0, false, true, rng)
		s, err := q.solve(force(t, op, algorithm).Pick, mem, rng)
		require.NoError(t, err)
		return s
	}
	for p := 2; p <= mostRanks; p++ {
		log := bits.Len(uint(p - 1)) // rounded up
		pow := 1 << (bits.Len(uint(p)) - 1)
		extra := p - pow

		s := run(coll.Barrier, "dissemination", p, 0)
		require.Equal(t, log, s.rounds, "dissemination, %d ranks", p)
		require.Equal(t, p*log, s.messages)
		require.Equal(t, 2*(p-1), run(coll.Barrier, "tree", p, 0).messages)

		for _, op := range []coll.Collective{coll.Bcast, coll.Gather, coll.Scatter, coll.Reduce} {
			require.Equal(t, p-1, run(op, "binomial", p, 4).messages, "%v, %d ranks", op, p)
		}
		require.Equal(t, 2*extra+pow*(log-b2i(extra > 0)), run(coll.Allreduce, "recursive_doubling", p, 4).messages,
			"%d ranks", p)
		require.Equal(t, 2*extra+2*pow*(log-b2i(extra > 0)), run(coll.Allreduce, "rabenseifner", p, 100).messages,
			"%d ranks", p)
		require.Equal(t, 2*p*(p-1), run(coll.Allreduce, "ring", p, 100).messages)
		require.Equal(t, 2*(p-1), run(coll.Allreduce, "tree", p, 4).messages)
		require.Equal(t, log, run(coll.Allgather, "bruck", p, 4).rounds)
		require.Equal(t, p-1, run(coll.Allgather, "ring", p, 4).rounds)
		require.Equal(t, log, run(coll.Alltoall, "bruck", p, 4).rounds)
		require.Equal(t, p*(p-1), run(coll.Alltoall, "pairwise", p, 4).messages)
		require.Equal(t, log, run(coll.Scan, "doubling", p, 4).rounds)
	}
}

func TestBuildingAgainAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for op := range coll.Collectives {
		for _, a := range messages(op) {
			for _, inPlace := range []bool{false, !neighbor(op) && op != coll.Bcast && op != coll.Barrier} {
				q := pose(op, 7, 50, 0, inPlace, true, rng)
				q.spread([]int{0, 0, 0, 1, 1, 2, 2})
				pick := force(t, op, a.Name).Pick
				s := new(coll.Schedule)
				for me := range q.calls {
					c := &q.calls[me]
					build := func() {
						s.Call = *c
						s.Build(pick(c))
						s.Release()
					}
					build()
					require.Zero(t, testing.AllocsPerRun(10, build), "%v %s", op, a.Name)
				}
			}
		}
	}
}
