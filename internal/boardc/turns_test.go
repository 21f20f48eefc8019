//go:build cgo

package boardc_test

import (
	"math"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/across"
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

func inGo(b *board.Board, x *coll.Call) *board.Op { return begun(b, x, false) }

func begun(b *board.Board, x *coll.Call, direct bool) *board.Op {
	o := &board.Op{Call: x, Direct: direct, Combine: func(in, inout []byte) {
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

// Of four ranks on two cores who writes asks the next one of the other core that is to read it, and none of its own; in the twin and in Go.
func TestOneElsewhereIsAsked(t *testing.T) {
	if across.Copied == 1<<across.Hot {
		t.Skip("mem.GoesAround is 0: on this architecture package across has one form only for what is copied")
	}
	const ranks, piece, n, rounds = 4, 16 << 10, 4096, 150
	next := map[[2]int]bool{{1, 0}: true, {2, 1}: true, {3, 2}: true, {0, 3}: true} // reader, writer
	for _, c := range []struct {
		op              coll.Collective
		n               int
		direct          bool
		copied, combine map[[2]int]bool
	}{
		{op: coll.Bcast, n: n, copied: map[[2]int]bool{{1, 0}: true}},
		{op: coll.Scatter, n: n, copied: map[[2]int]bool{{1, 0}: true, {3, 0}: true}},
		{op: coll.Gather, n: n, copied: map[[2]int]bool{{0, 1}: true, {0, 3}: true}},
		{op: coll.Allgather, n: n, copied: next},
		{op: coll.Allgatherv, n: n, copied: map[[2]int]bool{{1, 0}: true}}, // the other blocks are short
		{op: coll.Alltoall, n: n, copied: next},
		{op: coll.Alltoall, n: n, direct: true, copied: next},
		{op: coll.Reduce, n: n, combine: map[[2]int]bool{{0, 1}: true, {0, 3}: true}},
		{op: coll.Allreduce, n: n, combine: next},
		{op: coll.Allreduce, n: 4 * n, copied: next, combine: next}, // split
		{op: coll.ReduceScatterBlock, n: n, combine: next},
		{op: coll.Scan, n: n, combine: map[[2]int]bool{{1, 0}: true, {2, 1}: true, {3, 2}: true}},
	} {
		for _, twin := range []bool{true, false} {
			memory, stages := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*piece)/8)), make([]byte, ranks*2*ranks*n)
			var boards [ranks]*board.Board
			var views [ranks]*board.View
			pids := slices.Repeat([]int32{int32(os.Getpid())}, ranks)
			for i := range boards {
				b := board.Open(memory, most, i, ranks)
				b.Fenced, b.Split, b.Ring = true, 3*n, func(int) {}
				b.Read = func(_ int, addr uint64, to []byte) bool { return copy(to, mem.At(addr, len(to))) == len(to) }
				b.Stage(stages)
				boards[i], views[i] = b, new(board.View)
				b.View(views[i], board.Berths{})
				views[i].Pids = mem.Ref(&pids[0])
				for op := range views[i].Limit {
					views[i].Limit[op] = math.MaxInt64
				}
			}
			for i := range ranks {
				settle(views[0], i, uint32(1+i%2))
			}
			for range rounds {
				var under []*board.Op
				var recvs, wants [][]byte
				for i := range ranks {
					x, want := (&call{op: c.op, n: c.n, seed: 1}).part(i, ranks)
					recvs, wants = append(recvs, x.Recv), append(wants, want)
					switch {
					case twin && c.direct && boardc.Direct(views[i], x, x.Bytes()):
					case twin && !c.direct && boardc.Perform(views[i], x, x.Bytes()):
					default:
						under = append(under, begun(boards[i], x, c.direct))
					}
				}
				for len(under) > 0 {
					under = slices.DeleteFunc(under, (*board.Op).Step)
				}
				for i, want := range wants {
					if want != nil {
						require.Equal(t, want, recvs[i])
					}
				}
			}
			for i := range ranks * ranks {
				pair := [2]int{i / ranks, i % ranks}
				for k, want := range []map[[2]int]bool{c.copied, c.combine} {
					asks := *mem.Deref[uint32](gaugeAt(views[0], between(ranks, pair[0], pair[1], k == 1)))
					require.Equal(t, want[pair], asks != 0, "%v, %d bytes, direct %v, twin %v: reader and writer %v, kind %d", c.op, c.n, c.direct, twin, pair, k)
				}
			}
			runtime.KeepAlive(pids)
		}
	}
}
