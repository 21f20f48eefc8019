//go:build cgo

package boardc_test

import (
	"bytes"
	"math"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/boardc"
	"github.com/exanet-mpi/exanet/internal/mem"
)

const most = 6

// call is a call as all ranks make it.
type call struct {
	op      coll.Collective
	root, n int
	seed    int64
	twin    []bool // by rank: it tries the twin first
}

func (c *call) data(rank, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((uint64(c.seed)<<20 + uint64(rank)<<16 + uint64(i)) * 0x9e3779b97f4a7c15 >> 56)
	}
	return b
}

// part is the arguments of a rank, and what must be in recv afterwards; nil: nothing.
func (c *call) part(rank, ranks int) (x *coll.Call, want []byte) {
	n, root := c.n, rank == c.root
	x = &coll.Call{Op: c.op, Rank: rank, Ranks: ranks, Elem: 1}
	blocks := coll.Blocks{Unit: 1, N: n}
	var all, sum []byte
	for i := range ranks {
		all = append(all, c.data(i, n)...)
	}
	sum = make([]byte, n)
	for i := range all {
		sum[i%n] += all[i]
	}
	switch c.op {
	case coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Reduce:
		x.Root = c.root
	}
	x.Send, x.Recv = c.data(rank, n), make([]byte, n*ranks)
	switch c.op {
	case coll.Barrier:
		x.Send, x.Recv = nil, nil
	case coll.Bcast:
		x.Recv, want = x.Recv[:n], c.data(c.root, n)
		if root {
			copy(x.Recv, want)
		}
	case coll.Gather, coll.Allgather:
		if c.op == coll.Allgather || root {
			want, x.RecvBlocks = all, blocks
		}
	case coll.Scatter:
		x.Recv, want = x.Recv[:n], c.data(c.root, n*ranks)[rank*n:][:n]
		if root {
			x.Send, x.SendBlocks = c.data(rank, n*ranks), blocks
		}
	case coll.Alltoall:
		x.Send, x.SendBlocks, x.RecvBlocks = c.data(rank, n*ranks), blocks, blocks
		for i := range ranks {
			want = append(want, c.data(i, n*ranks)[rank*n:][:n]...)
		}
	case coll.Allgatherv:
		x.RecvBlocks = coll.Blocks{Unit: 1}
		x.Recv = nil
		for i := range ranks {
			x.RecvBlocks.Counts = append(x.RecvBlocks.Counts, (i*7+n)%(n+1))
			want = append(want, c.data(i, x.RecvBlocks.Counts[i])...)
		}
		x.Send, x.Recv = c.data(rank, x.RecvBlocks.Counts[rank]), make([]byte, len(want))
	case coll.Gatherv:
		x.Send, x.Recv = c.data(rank, c.length(rank, c.root)), nil
		if root {
			x.RecvBlocks = c.blocks(ranks, func(i int) int { return c.length(i, rank) })
			for i := range ranks {
				want = append(want, c.data(i, c.length(i, rank))...)
			}
			x.Recv = make([]byte, len(want))
		}
	case coll.Scatterv:
		all := c.blocks(ranks, func(i int) int { return c.length(c.root, i) })
		want = c.cut(c.root, &all, rank, ranks)
		x.Send, x.Recv = nil, make([]byte, len(want))
		if root {
			_, end := all.Span(ranks - 1)
			x.Send, x.SendBlocks = c.data(rank, end), all
		}
	case coll.Alltoallv:
		out := func(r int) coll.Blocks { return c.blocks(ranks, func(i int) int { return c.length(r, i) }) }
		x.SendBlocks, x.RecvBlocks = out(rank), c.blocks(ranks, func(i int) int { return c.length(i, rank) })
		for i := range ranks {
			from := out(i)
			want = append(want, c.cut(i, &from, rank, ranks)...)
		}
		_, end := x.SendBlocks.Span(ranks - 1)
		x.Send, x.Recv = c.data(rank, end), make([]byte, len(want))
	case coll.Scan, coll.Exscan:
		x.Recv = x.Recv[:n]
		last := rank
		if c.op == coll.Exscan {
			last--
		}
		if last >= 0 {
			want = make([]byte, n)
			for i := range n * (last + 1) {
				want[i%n] += all[i]
			}
		}
	case coll.ReduceScatter, coll.ReduceScatterBlock:
		x.RecvBlocks = blocks
		total := n * ranks
		if c.op == coll.ReduceScatter {
			x.RecvBlocks, total = coll.Blocks{Unit: 1}, 0
			for i := range ranks {
				x.RecvBlocks.Counts = append(x.RecvBlocks.Counts, (i*7+n)%(n+1))
				total += x.RecvBlocks.Counts[i]
			}
		}
		lo, hi := x.RecvBlocks.Span(rank)
		x.Send, x.Recv, want = c.data(rank, total), make([]byte, hi-lo), make([]byte, hi-lo)
		for i := range ranks {
			for j, v := range c.data(i, total)[lo:hi] {
				want[j] += v
			}
		}
	case coll.Reduce, coll.Allreduce:
		x.Recv = x.Recv[:n]
		if c.op == coll.Allreduce || root {
			want = sum
		}
	}
	return x, want
}

// length is that of the block which one rank sends another where they differ.
func (c *call) length(from, to int) int { return c.n * ((from + 3*to) % 5) / 4 }

func (c *call) blocks(ranks int, length func(i int) int) coll.Blocks {
	b := coll.Blocks{Unit: 1}
	for i := range ranks {
		b.Counts = append(b.Counts, length(i))
	}
	return b
}

// message is the length of the block that two ranks pass of a Gatherv or Scatterv.
func (c *call) message(ranks int) int {
	switch {
	case ranks == 2 && c.op == coll.Gatherv:
		return c.length(1-c.root, c.root)
	case ranks == 2 && c.op == coll.Scatterv:
		return c.length(c.root, 1-c.root)
	}
	return 0
}

// direct reports whether it is made in the direct form.
func (c *call) direct(reads bool) bool {
	switch c.op {
	case coll.Bcast, coll.Scatter, coll.Allgather, coll.Allgatherv, coll.Alltoall:
		return reads && c.n > 300
	}
	return false
}

// cut is a rank's block of what another sends.
func (c *call) cut(from int, b *coll.Blocks, rank, ranks int) []byte {
	lo, hi := b.Span(rank)
	_, end := b.Span(ranks - 1)
	return c.data(from, end)[lo:hi]
}

var everything = []coll.Collective{coll.Barrier, coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Alltoallv, coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.ReduceScatterBlock, coll.Scan, coll.Exscan}

const gauges = 2 * 3 // of a board of two

// gaugeAt is where one is: they lie behind each other, at an address that is the last word of a view.
func gaugeAt(v *board.View, gauge int) uint64 {
	return *mem.Deref[uint64](mem.Ref(v) + uint64(unsafe.Sizeof(*v)) - 8) + uint64(gauge*across.Size)
}

// ask has a gauge ask for a form of each class of lengths.
func ask(v *board.View, gauge int, form func() across.Form) {
	for class := range across.Classes {
		mem.Deref[across.Gauge](gaugeAt(v, gauge)).Ask(class, form())
	}
}

// between is the number of the gauge of what one of more ranks reads of another, to copy or to combine it.
func between(ranks, reader, writer int, folds bool) int {
	g := 2 * (reader*ranks + writer)
	if folds {
		g++
	}
	return g
}

// settle has a rank tell that it runs on a core, 0: that it does not know.
func settle(v *board.View, rank int, core uint32) {
	cores := *mem.Deref[uint64](mem.Ref(v) + 5*8)
	*mem.Deref[uint32](cores + uint64(rank)*4) = core
}

// Ranks that try the twin and ranks that do not make the same calls, in any order: a
// twin that has to wait leaves the call to Go, with its part posted.
func TestTheTwinAndThePackageAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.OneOf(rapid.Just(2), rapid.IntRange(2, most)).Draw(t, "ranks")
		piece := rapid.SampledFrom([]int{2048, 9000}).Draw(t, "piece")
		memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*piece)/8))
		central, split := rapid.SampledFrom([]uint32{0, 1 << coll.Barrier, 1<<coll.Barrier | 1<<coll.Allreduce}).Draw(t, "central"), rapid.SampledFrom([]int{1024, 1 << 20}).Draw(t, "split")
		exchanges := rapid.Bool().Draw(t, "exchanges") // long ones, with stages, else anything
		follows, reads := rapid.Bool().Draw(t, "follows"), exchanges || rapid.Bool().Draw(t, "reads")
		deaf := rapid.SliceOfN(rapid.SampledFrom([]bool{false, false, false, true}), ranks, ranks).Draw(t, "cannot read")
		var kept [][]int32
		stages := make([]byte, rapid.SampledFrom([]int{0, 16, 4000, 20_000, 160_000}).Draw(t, "stages"))
		ops, sizes := everything, []int{1, 8, 56, 112, 113, 300, 2048, 3000, 9000}
		if exchanges {
			stages = make([]byte, rapid.SampledFrom([]int{50_000, 200_000}).Draw(t, "stages"))
			ops, sizes = []coll.Collective{coll.Alltoall, coll.Allgather, coll.Allgatherv, coll.Alltoallv, coll.Bcast}, sizes[6:] // who gives in a Bcast has not seen that others have read
		}
		boards, views := make([]*board.Board, ranks), make([]*board.View, ranks)
		for i := range boards {
			b := board.Open(memory, most, i, ranks)
			b.Fenced, b.Central, b.Follows, b.Split, b.Ring = true, central, follows, split, func(int) {}
			if reads {
				b.Read = func(rank int, addr uint64, to []byte) bool {
					return !deaf[i] && copy(to, mem.At(addr, len(to))) == len(to)
				}
			}
			if len(stages) > 0 {
				b.Stage(stages)
			}
			boards[i], views[i] = b, new(board.View)
			b.View(views[i], board.Berths{})
			if reads && !deaf[i] {
				pids := slices.Repeat([]int32{int32(os.Getpid())}, ranks)
				views[i].Pids = mem.Ref(&pids[0])
				kept = append(kept, pids)
			}
			for op := range views[i].Limit {
				views[i].Limit[op] = math.MaxInt64
			}
		}
		defer runtime.KeepAlive(kept)
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *call {
			return &call{
				op:   rapid.SampledFrom(ops).Draw(t, "op"),
				root: rapid.IntRange(0, ranks-1).Draw(t, "root"), n: rapid.SampledFrom(sizes).Draw(t, "n"),
				seed: rapid.Int64Range(0, 1<<20).Draw(t, "seed"), twin: rapid.SliceOfN(rapid.Bool(), ranks, ranks).Draw(t, "twins"),
			}
		}), 1, 30).Draw(t, "calls")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "order")))
		at, under, wants := make([]int, ranks), make([]*board.Op, ranks), make([][]byte, ranks)
		for steps, left := 0, ranks*len(calls); left > 0; steps++ {
			require.Less(t, steps, 1000*ranks*len(calls), "everybody waits")
			i := random.Intn(ranks)
			if at[i] == len(calls) {
				continue
			}
			if random.Intn(3) == 0 {
				n := gauges
				if ranks > 2 {
					n = between(ranks, ranks-1, ranks-1, true)
					settle(views[i], i, uint32(random.Intn(3)))
				}
				ask(views[i], random.Intn(n), func() across.Form { return across.Form(random.Intn(4)) })
			}
			c := calls[at[i]]
			done := false
			var recv []byte
			if under[i] == nil {
				var x *coll.Call
				x, wants[i] = c.part(i, ranks)
				recv = x.Recv
				if n := c.message(ranks); c.twin[i] && n > boards[i].Most(c.op) {
					if i == c.root && c.op == coll.Scatterv {
						copy(recv, wants[i])
					}
					if done = boardc.Announce(views[i], x, n, c.seed%2 == 0); done {
						copy(recv, wants[i])
					}
				} else if c.twin[i] && c.direct(reads) {
					done = boardc.Direct(views[i], x, x.Bytes())
				} else if c.twin[i] {
					done = boardc.Perform(views[i], x, x.Bytes())
					if done && board.Vector(c.op) && !(c.op == coll.Alltoallv && reads && ranks == 2) { // long blocks are lent
						s := &coll.Schedule{Call: *x}
						s.BuildLate(boards[i].Most(c.op))
						require.Empty(t, s.Steps, "the rest is left to Go")
					}
				}
				if !done {
					under[i] = &board.Op{Call: x, Direct: c.direct(reads), Combine: func(in, inout []byte) {
						for j, v := range in {
							inout[j] += v
						}
					}}
					under[i].Begin(boards[i])
				}
			} else if done = under[i].Step(); done {
				require.NoError(t, under[i].Err())
				recv = under[i].Recv
				for _, from := range append(under[i].Late, under[i].Missed...) { // as messages would
					if c.op == coll.Scatterv || c.op == coll.Scatter || c.op == coll.Bcast {
						copy(recv, wants[i])
					} else {
						copy(under[i].RecvBlocks.Of(recv, from), under[i].RecvBlocks.Of(wants[i], from))
					}
				}
			}
			if done {
				if wants[i] != nil && !bytes.Equal(wants[i], recv) {
					t.Fatalf("call %d, rank %d: %+v", at[i], i, c)
				}
				under[i] = nil
				at[i]++
				left--
			}
		}
	})
}

// A Bcast in several turns goes on in Go where the twin has left it: at the root since the others have not
// done with the turns before, at the others since the root has not posted.
func TestBcastGoesOnWhereTheTwinHasLeftIt(t *testing.T) {
	const ranks, pieces = 3, 2048
	memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*pieces)/8))
	boards, views, ops := make([]*board.Board, ranks), make([]*board.View, ranks), make([]*board.Op, ranks)
	for i := range ranks {
		boards[i], views[i] = board.Open(memory, most, i, ranks), new(board.View)
		boards[i].Fenced, boards[i].Ring = true, func(int) {}
		boards[i].View(views[i], board.Berths{})
		views[i].Limit[coll.Bcast] = math.MaxInt64
	}
	first := &call{op: coll.Bcast, root: 1, n: 4*pieces + 100, seed: 1}
	second := &call{op: coll.Bcast, root: 1, n: 4*pieces + 200, seed: 2}
	for _, i := range []int{1, 0, 2} {
		x, want := first.part(i, ranks)
		require.True(t, boardc.Perform(views[i], x, x.Bytes()), "rank %d", i)
		require.Equal(t, want, x.Recv)
		if i != 1 {
			continue
		}
		x, _ = second.part(i, ranks)
		require.False(t, boardc.Perform(views[i], x, x.Bytes()), "all places were free")
		ops[i] = &board.Op{Call: x}
	}
	for _, i := range []int{0, 2} {
		x, _ := second.part(i, ranks)
		if i == 0 {
			require.False(t, boardc.Perform(views[i], x, x.Bytes()), "the root has not posted all")
			x.Recv[0]++ // of what the twin has taken, so Go does not any more
		}
		ops[i] = &board.Op{Call: x}
	}
	for _, i := range []int{1, 0, 2} {
		ops[i].Begin(boards[i])
		require.True(t, ops[i].Step(), "rank %d", i)
		require.NoError(t, ops[i].Err())
		_, want := second.part(i, ranks)
		if i == 0 {
			want[0]++
		}
		require.Equal(t, want, ops[i].Recv, "rank %d", i)
	}
}

// Calls by messages that the twin has made count as those that Go has.
func TestTheTwinCountsMessages(t *testing.T) {
	memory := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*2048)/8))
	boards := []*board.Board{board.Open(memory, most, 0, 2), board.Open(memory, most, 1, 2)}
	for _, b := range boards {
		b.Fenced, b.Ring = true, func(int) {}
	}
	var v board.View
	boards[0].View(&v, board.Berths{})
	x, _ := (&call{op: coll.Bcast, root: 1, n: 100}).part(0, 2)
	waits := func() *board.Op {
		o := &board.Op{Call: x}
		o.Begin(boards[0])
		require.False(t, o.Step())
		return o
	}
	boards[1].Passed()
	boards[1].Depart()
	require.False(t, waits().Strayed(), "the other is ahead")
	boardc.Passed(&v)
	require.True(t, waits().Strayed())
}

// What rank 1 has staged rank 0 gets when it comes, though rank 1 has gone on meanwhile: its next block is lent
// as it is, and so is one that is longer than a stage.
func TestTheTwinStages(t *testing.T) {
	const ranks, stage = 2, 8000
	for op, sizes := range map[coll.Collective][2]int{coll.Allgather: {3000, 9000}, coll.Alltoall: {3000, 9000}, coll.Alltoallv: {10_000, 40_000}} {
		memory, stages, reads := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8)), make([]byte, 11*stage), 0
		var boards [ranks]*board.Board
		var views [ranks]*board.View
		pids := []int32{int32(os.Getpid()), int32(os.Getpid())}
		for i := range ranks {
			b := board.Open(memory, most, i, ranks)
			b.Fenced, b.Ring = true, func(int) {}
			b.Read = func(rank int, addr uint64, to []byte) bool {
				reads++
				return copy(to, mem.At(addr, len(to))) == len(to)
			}
			b.Stage(stages[:10*stage]) // of each a fifth, the rest is for the belt
			boards[i], views[i] = b, new(board.View)
			b.View(views[i], board.Berths{})
			views[i].Pids = mem.Ref(&pids[0])
			views[i].Limit[op] = math.MaxInt64
		}
		for g := range gauges {
			*mem.Deref[uint32](gaugeAt(views[0], g)) = 1<<31 | 0o1111 // hot; cold is not worth a try
		}
		twin := func(i int, c *call) (x *coll.Call, ended bool) {
			x, want := c.part(i, ranks)
			if op == coll.Alltoallv {
				ended = boardc.Perform(views[i], x, x.Bytes())
			} else {
				ended = boardc.Direct(views[i], x, x.Bytes())
			}
			if ended {
				require.Equal(t, want, x.Recv)
			}
			return x, ended
		}
		inGo := func(i int, c *call, x *coll.Call) {
			o := &board.Op{Call: x, Direct: op != coll.Alltoallv}
			o.Begin(boards[i])
			require.True(t, o.Step(), "rank %d", i)
			_, want := c.part(i, ranks)
			require.Equal(t, want, x.Recv)
		}
		for _, n := range sizes {
			first, second := &call{op: op, n: n, seed: 1}, &call{op: op, n: n, seed: 2}
			reads = 0
			zero, ended := twin(0, first)
			require.False(t, ended)
			if n == sizes[1] {
				one, ended := twin(1, first)
				require.False(t, ended, "rank 0 has not read")
				inGo(0, first, zero)
				inGo(1, first, one)
				require.Equal(t, 1, reads)
				require.Zero(t, slices.Max(stages[10*stage:]))
				continue
			}
			_, ended = twin(1, first)
			require.True(t, ended, "rank 0 has not read, and need not")
			one, ended := twin(1, second)
			require.False(t, ended)
			inGo(0, first, zero)
			require.Zero(t, reads)
			_, ended = twin(0, second)
			require.True(t, ended)
			inGo(1, second, one)
			require.Zero(t, reads)
		}
		runtime.KeepAlive(&pids)
	}
}

// Who gives in a Bcast does not see that the others have read what it staged before: of three ranks it lends the next
// as it is, too, until they have.
func TestTheTwinStagesNothingThatIsRead(t *testing.T) {
	const ranks = 3
	memory, stages := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8)), make([]byte, 100_000)
	pids := slices.Repeat([]int32{int32(os.Getpid())}, ranks)
	var boards [ranks]*board.Board
	var views [ranks]*board.View
	for i := range ranks {
		b := board.Open(memory, most, i, ranks)
		b.Fenced, b.Ring = true, func(int) {}
		b.Read = func(int, uint64, []byte) bool { return false }
		b.Stage(stages)
		boards[i], views[i] = b, new(board.View)
		b.View(views[i], board.Berths{})
		views[i].Pids, views[i].Limit[coll.Bcast] = mem.Ref(&pids[0]), math.MaxInt64
	}
	first, gives, second := &call{op: coll.Alltoall, n: 3000, seed: 1}, &call{op: coll.Bcast, root: 1, n: 1000, seed: 2}, &call{op: coll.Alltoall, n: 3000, seed: 3}
	var late [ranks]*coll.Call
	for _, i := range []int{0, 2, 1} {
		x, want := first.part(i, ranks)
		ended := boardc.Direct(views[i], x, x.Bytes())
		require.Equal(t, i == 1, ended)
		if late[i] = x; ended {
			require.Equal(t, want, x.Recv)
		}
	}
	x, _ := gives.part(1, ranks)
	require.True(t, boardc.Perform(views[1], x, x.Bytes()))
	x, _ = second.part(1, ranks)
	require.False(t, boardc.Direct(views[1], x, x.Bytes()))
	for _, i := range []int{0, 2} {
		o := &board.Op{Call: late[i], Direct: true}
		o.Begin(boards[i])
		require.True(t, o.Step())
		_, want := first.part(i, ranks)
		require.Equal(t, want, o.Recv)
	}
	runtime.KeepAlive(pids)
}
