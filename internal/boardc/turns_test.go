//go:build cgo

package boardc_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/boardc"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// pair is a board of two, with pieces of 2 KiB, as both see it.
func pair() (boards [2]*board.Board, views [2]*board.View) {
	memory, stages := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*2048)/8)), make([]byte, 100_000)
	for i := range boards {
		b := board.Open(memory, most, i, 2)
		b.Fenced, b.Split, b.Ring = true, math.MaxInt, func(int) {}
		b.Stage(stages)
		boards[i], views[i] = b, new(board.View)
		b.View(views[i], board.Berths{})
		for op := range views[i].Limit {
			views[i].Limit[op] = math.MaxInt64
		}
	}
	return boards, views
}

func inGo(b *board.Board, x *coll.Call) *board.Op {
	o := &board.Op{Call: x, Combine: func(in, inout []byte) {
		for j, v := range in {
			inout[j] += v
		}
	}}
	o.Begin(b)
	return o
}

var inTurns = []coll.Collective{coll.Bcast, coll.Scatter, coll.Gather, coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.ReduceScatterBlock, coll.Scan, coll.Exscan}

// When the other rank has given its part of all turns, in Go, the twin makes its own of all.
func TestTheTwinMakesAllTurns(t *testing.T) {
	for _, op := range inTurns {
		for root := range 2 {
			for me := range 2 {
				boards, views := pair()
				c := &call{op: op, root: root, n: 3*2048 + 100, seed: 1}
				x, theirs := c.part(1-me, 2)
				other := inGo(boards[1-me], x)
				other.Step()
				x, want := c.part(me, 2)
				require.True(t, boardc.Perform(views[me], x, x.Bytes()), "%v, root %d, rank %d", op, root, me)
				if want != nil {
					require.Equal(t, want, x.Recv, "%v, root %d, rank %d", op, root, me)
				}
				require.True(t, other.Step())
				if theirs != nil {
					require.Equal(t, theirs, other.Recv)
				}
			}
		}
	}
}

// What the twin has given of a turn before it left the call to Go, Go does not give again: it may be read by then.
func TestGoGivesNothingAgain(t *testing.T) {
	boards, views := pair()
	c := &call{op: coll.Allreduce, n: 3 * 2048, seed: 1}
	var xs [2]*coll.Call
	var want []byte
	for _, i := range []int{1, 0} {
		xs[i], want = c.part(i, 2)
		require.False(t, boardc.Perform(views[i], xs[i], c.n), "rank %d", i) // 0 takes the first turn of 1, and posts its second
	}
	clear(xs[0].Send[2048:4096])
	zero, one := inGo(boards[0], xs[0]), inGo(boards[1], xs[1])
	require.False(t, zero.Step())
	require.True(t, one.Step())
	require.True(t, zero.Step())
	require.Equal(t, want, one.Recv)
}

// Who reads asks for a form, of what it copies and of what it combines, in the twin and in Go.
func TestWhoReadsAsks(t *testing.T) {
	const copies, folds, perRank = 0, 1, gauges / 2
	for op, g := range map[coll.Collective]int{coll.Bcast: copies, coll.Allgather: copies, coll.Allreduce: folds} {
		for _, twin := range []bool{true, false} {
			boards, views := pair()
			for range 200 {
				c := &call{op: op, n: 2048, seed: 1}
				var under []*board.Op
				for i := range 2 {
					if x, _ := c.part(i, 2); !twin || !boardc.Perform(views[i], x, c.n) {
						under = append(under, inGo(boards[i], x))
					}
				}
				for len(under) > 0 {
					under = slices.DeleteFunc(under, (*board.Op).Step)
				}
			}
			require.NotZero(t, *mem.Deref[uint32](gaugeAt(views[0], perRank+g)), "%v, twin %v: rank 1 has asked for nothing", op, twin)
		}
	}
}
