package coll_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
)

// spread says on which hosts the ranks of a problem are.
func (q *problem) spread(hosts []int) {
	h := coll.NewHosts(hosts)
	for i := range q.calls {
		q.calls[i].Hosts = h
	}
}

// led are the collectives that have leaders.
func led() (ops []coll.Collective) {
	for op := range coll.Collectives {
		if slices.ContainsFunc(coll.Algorithms(op), func(a coll.Algorithm) bool { return a.Name == coll.Leaders }) {
			ops = append(ops, op)
		}
	}
	return ops
}

// division draws the host of each rank: ranks that follow each other, or in any order.
func division(t *rapid.T, p int) []int {
	hosts := rapid.SliceOfN(rapid.IntRange(0, 4), p, p).Draw(t, "hosts")
	if rapid.Bool().Draw(t, "blocks") {
		slices.Sort(hosts)
	}
	return hosts
}

// blocks reports whether the ranks of each host follow each other.
func blocks(hosts []int) bool {
	runs := slices.Compact(slices.Clone(hosts))
	slices.Sort(runs)
	return len(slices.Compact(slices.Clone(runs))) == len(runs)
}

// Whatever hosts the ranks are on, what comes out is what a serial computation has. Leaders serve the call where they
// can, and nobody else does.
func TestAnyDivisionIntoHosts(t *testing.T) {
	mem := schedules()
	forced := make(map[coll.Collective]*coll.Selection)
	for _, op := range led() {
		forced[op] = force(t, op, coll.Leaders)
	}
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(led()).Draw(t, "op")
		p := rapid.IntRange(1, mostRanks).Draw(t, "ranks")
		hosts := division(t, p)
		n := rapid.SampledFrom([]int{0, 1, 2, 7, 33, 600, 5000}).Draw(t, "elements")
		commute := reduces(op) && rapid.Bool().Draw(t, "commutes")
		inPlace := op != coll.Barrier && op != coll.Bcast && rapid.Bool().Draw(t, "in place")
		root := 0
		if rooted(op) {
			root = rapid.IntRange(0, p-1).Draw(t, "root")
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		q := pose(op, p, n, root, inPlace, commute, rng)
		q.spread(hosts)
		_, err := q.solve(forced[op].Pick, mem, rng)
		require.NoError(t, err)

		names := slices.Compact(slices.Sorted(slices.Values(hosts)))
		can := len(names) > 1 && len(names) < p && (op == coll.Barrier || op == coll.Bcast || commute || blocks(hosts))
		for i := range q.calls {
			require.Equal(t, can, forced[op].Pick(&q.calls[i]).Name == coll.Leaders)
		}
	})
}

// Between hosts there are only the messages of the leaders.
func TestLeadersSendBetweenHosts(t *testing.T) {
	rng, mem := rand.New(rand.NewPCG(5, 5)), schedules()
	for _, hosts := range [][]int{{0, 0, 1}, {0, 1, 1, 2}, {3, 3, 3, 1, 1, 2, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4}} {
		p, h := len(hosts), len(slices.Compact(slices.Clone(hosts)))
		log := bits.Len(uint(h - 1)) // rounded up
		extra := h - 1<<(bits.Len(uint(h))-1)
		doubling := 2*extra + (h-extra)*(log-b2i(extra > 0))
		for op, want := range map[coll.Collective]int{coll.Barrier: h * log, coll.Bcast: h - 1, coll.Reduce: h - 1,
			coll.Allreduce: doubling, coll.Gather: h - 1, coll.Allgather: h * log} {
			for root := range p {
				q := pose(op, p, 4, root, false, true, rng)
				q.spread(hosts)
				s, err := q.solve(force(t, op, coll.Leaders).Pick, mem, rng)
				require.NoError(t, err)
				between := 0
				for pair, w := range s.wires {
					if hosts[pair[0]] != hosts[pair[1]] {
						between += w.count
					}
				}
				require.Equal(t, want, between, "%v, hosts %v, root %d", op, hosts, root)
			}
		}
	}
}

// Where leaders serve a Bcast, fewer messages cross between hosts than down a tree that knows of none, and fewer
// wait for each other; with ranks in blocks of a power of two, and the first rank of a host as the root, as many do.
func TestLeadersCrossLess(t *testing.T) {
	rng, mem := rand.New(rand.NewPCG(6, 6)), schedules()
	crossings := func(algorithm string, hosts []int, root int) (all, chain int) {
		q := pose(coll.Bcast, len(hosts), 4, root, false, false, rng)
		q.spread(hosts)
		s, err := q.solve(force(t, coll.Bcast, algorithm).Pick, mem, rng)
		require.NoError(t, err)
		from := make(map[int]int)
		for pair, w := range s.wires {
			require.Equal(t, 1, w.count)
			from[pair[1]] = pair[0]
		}
		for rank := range hosts {
			waits := 0
			for r := rank; r != root; r = from[r] {
				waits += b2i(hosts[r] != hosts[from[r]])
			}
			all += b2i(rank != root && hosts[rank] != hosts[from[rank]])
			chain = max(chain, waits)
		}
		return all, chain
	}
	for _, hosts := range [][]int{{0, 0, 1, 1, 2, 2}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1, 2, 2, 2}} {
		for root, h := range hosts {
			flat, flatChain := crossings("binomial", hosts, root)
			led, chain := crossings(coll.Leaders, hosts, root)
			require.Equal(t, 2, led)
			require.Equal(t, 1, chain)
			if blocks(hosts) && len(hosts) == 6 && root == 2*h {
				require.Equal(t, [2]int{2, 1}, [2]int{flat, flatChain})
				continue
			}
			require.Greater(t, flat, led, "hosts %v, root %d", hosts, root)
			require.Greater(t, flatChain, chain, "hosts %v, root %d", hosts, root)
		}
	}
}

func TestLeadersThatAreForced(t *testing.T) {
	three := coll.NewHosts([]int{0, 0, 1})
	c := coll.Call{Op: coll.Allreduce, Ranks: 3, Elem: 1, Commute: true, Send: make([]byte, 8), Hosts: three}
	require.Equal(t, coll.Leaders, pick(t, "", c))
	require.Equal(t, "ring", pick(t, "allreduce:ring", c), "forced")
	require.Equal(t, coll.Leaders, pick(t, "@"+file(t, "allreduce any any leaders\nallreduce any any ring"), c))
	c.Hosts = nil
	require.Equal(t, "ring", pick(t, "@"+file(t, "allreduce any any leaders\nallreduce any any ring"), c))
	require.Equal(t, "recursive_doubling", pick(t, "allreduce:leaders", c), "all on one host")
	s, err := coll.NewSelection("allreduce:leaders")
	require.NoError(t, err)
	shared, _ := s.Shared(&c)
	require.True(t, shared)
	require.Equal(t, 64<<10, s.SharedUpTo(coll.Allreduce, 3))
	require.Nil(t, coll.NewHosts(nil))
	require.Nil(t, coll.NewHosts([]int{7, 7}))
	require.Nil(t, coll.NewHosts([]int{7, 1, 3}))
}
