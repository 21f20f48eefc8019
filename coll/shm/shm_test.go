package shm

import (
	"math/rand"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// testMost is more ranks than the areas of the tests have.
const testMost = 10

// team is the ranks of an area, each of which is to be run by a goroutine of its own.
type team struct {
	areas   []*Area
	memory  []byte
	bells   []chan struct{}
	mail    [][]chan []byte // from, to
	refused map[[2]int]bool // who cannot read whose memory
}

func newTeam(t require.TestingT, ranks, segment int) *team {
	x := &team{refused: map[[2]int]bool{}, memory: mem.Bytes(make([]uint64, (Fixed(testMost)+ranks*depth*segment)/8))}
	for i := range ranks {
		a := Open(x.memory, testMost, i, ranks, i)
		a.Fenced, a.Split = true, 1<<30
		a.Ring = func(rank int) {
			select {
			case x.bells[rank] <- struct{}{}:
			default:
			}
		}
		a.Read = func(rank int, addr uint64, to []byte) bool {
			if x.refused[[2]int{i, rank}] {
				return false
			}
			copy(to, mem.At(addr, len(to)))
			return true
		}
		x.areas = append(x.areas, a)
		x.bells = append(x.bells, make(chan struct{}, 1))
		x.mail = append(x.mail, nil)
		for range ranks {
			x.mail[i] = append(x.mail[i], make(chan []byte, 1))
		}
	}
	return x
}

// await sleeps until the words come: who is not woken hangs.
func (x *team) await(rank int) func(w *Words) bool {
	return func(w *Words) bool {
		for !w.There() {
			if w.Vain() {
				return false
			}
			if w.Sleep() && !w.There() {
				<-x.bells[rank]
			}
			w.Wake()
		}
		return true
	}
}

// perform makes a rank's part of a call, and exchanges by messages what could not be read.
func (x *team) perform(rank int, o *Call, direct bool) error {
	a := x.areas[rank]
	o.Await = x.await(rank)
	if o.Form = a.FormOf(o.Call, direct); o.Form == Messages {
		err := o.Announce(a)
		o.End()
		return err
	}
	err := o.Perform(a)
	for _, i := range o.Owed {
		x.mail[rank][i] <- append([]byte{}, o.Outgoing(i)...)
	}
	for _, i := range o.Missed {
		copy(o.Incoming(i), <-x.mail[i][rank])
	}
	return err
}

// run has all ranks do something, each in a goroutine.
func (x *team) run(do func(rank int)) {
	var wg sync.WaitGroup
	for i := range x.areas {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

// concat is an operator that does not commute: it is associative on elements of two
// bytes which are affine maps modulo 251.
func concat(in, inout []byte) {
	for i := 0; i < len(in); i += 2 {
		a, b := int(in[i]), int(in[i+1])
		c, d := int(inout[i]), int(inout[i+1])
		inout[i], inout[i+1] = byte(a*c%251), byte((a*d+b)%251)
	}
}

// plan is one call as all ranks make it.
type plan struct {
	op      coll.Collective
	root, n int
	inPlace bool
	own     bool
	shared  []byte // which an operator of the program's gets to see nothing of
	direct  bool
	mixed   bool // rank 0 has blocks of an Alltoallv in place, or not, unlike the others
	seed    int64
}

// data is what a rank has to give.
func (p *plan) data(rank, n int) []byte {
	r := rand.New(rand.NewSource(p.seed<<8 + int64(rank)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Intn(251))
	}
	return b
}

// part is a rank's call, and what must be in recv afterwards; nil: nothing.
func (p *plan) part(rank, ranks int) (o *Call, want []byte) {
	n, root := p.n, rank == p.root
	o = &Call{Call: &coll.Call{Op: p.op, Rank: rank, Ranks: ranks, Elem: 1}, Combine: concat, Own: p.own}
	if p.own && !p.inPlace { // in place, it sees what its own rank has published
		o.Combine = func(in, inout []byte) {
			from := mem.Ref(unsafe.SliceData(p.shared))
			if at := mem.Ref(unsafe.SliceData(in)) - from; len(in) > 0 && at < uint64(len(p.shared)) {
				panic("the operator sees memory of others")
			}
			concat(in, inout)
		}
	}
	blocks := coll.Blocks{Unit: 1, N: n}
	all := func(n int) (b []byte) {
		for i := range ranks {
			b = append(b, p.data(i, n)...)
		}
		return b
	}
	switch p.op {
	case coll.Bcast:
		o.Root, o.Recv, want = p.root, make([]byte, n), p.data(p.root, n)
		if root {
			copy(o.Recv, want)
		}
	case coll.Gather:
		o.Root = p.root
		o.Send = p.data(rank, n)
		if root {
			want, o.Recv, o.RecvBlocks = all(n), make([]byte, n*ranks), blocks
			if o.InPlace = p.inPlace; o.InPlace {
				copy(o.Recv[rank*n:], o.Send)
				o.Send = nil
			}
		}
	case coll.Scatter:
		o.Root = p.root
		o.Recv, want = make([]byte, n), p.data(p.root, n*ranks)[rank*n:][:n]
		if root {
			o.Send, o.SendBlocks = p.data(rank, n*ranks), blocks
			if o.InPlace = p.inPlace; o.InPlace {
				o.Recv, want = nil, nil
			}
		}
	case coll.Allgather:
		o.Send, o.Recv, o.RecvBlocks, want = p.data(rank, n), make([]byte, n*ranks), blocks, all(n)
		if o.InPlace = p.inPlace; o.InPlace {
			copy(o.Recv[rank*n:], o.Send)
			o.Send = nil
		}
	case coll.Alltoall:
		o.Send, o.Recv = p.data(rank, n*ranks), make([]byte, n*ranks)
		o.SendBlocks, o.RecvBlocks = blocks, blocks
		for i := range ranks {
			want = append(want, p.data(i, n*ranks)[rank*n:][:n]...)
		}
		if o.InPlace = p.inPlace; o.InPlace {
			copy(o.Recv, o.Send)
			o.Send = nil
		}
	case coll.Allgatherv:
		o.RecvBlocks = coll.Blocks{Unit: 1}
		for i := range ranks {
			o.RecvBlocks.Counts = append(o.RecvBlocks.Counts, (i*7+n)%(n+1))
		}
		for i, count := range o.RecvBlocks.Counts {
			want = append(want, p.data(i, count)...)
		}
		o.Recv = make([]byte, len(want))
		if o.InPlace = p.inPlace; o.InPlace {
			copy(o.RecvBlocks.Of(o.Recv, rank), p.data(rank, o.RecvBlocks.Counts[rank]))
		} else {
			o.Send = p.data(rank, o.RecvBlocks.Counts[rank])
		}
	case coll.Gatherv:
		o.Root, o.Send = p.root, p.data(rank, p.length(rank, p.root))
		if root {
			o.RecvBlocks = p.blocks(ranks, func(i int) int { return p.length(i, rank) })
			for i := range ranks {
				want = append(want, p.data(i, p.length(i, rank))...)
			}
			o.Recv = make([]byte, len(want))
			if o.InPlace = p.inPlace; o.InPlace {
				copy(o.RecvBlocks.Of(o.Recv, rank), o.Send)
				o.Send = nil
			}
		}
	case coll.Scatterv:
		o.Root = p.root
		all := p.blocks(ranks, func(i int) int { return p.length(p.root, i) })
		lo, hi := all.Span(rank)
		_, end := all.Span(ranks - 1)
		o.Recv, want = make([]byte, hi-lo), p.data(p.root, end)[lo:hi]
		if root {
			o.Send, o.SendBlocks = p.data(rank, end), all
			if o.InPlace = p.inPlace; o.InPlace {
				o.Recv, want = nil, nil
			}
		}
	case coll.Alltoallv, coll.Alltoallw:
		out := func(r int) coll.Blocks { return p.blocks(ranks, func(i int) int { return p.length(r, i) }) }
		o.SendBlocks, o.RecvBlocks = out(rank), p.blocks(ranks, func(i int) int { return p.length(i, rank) })
		for i := range ranks {
			from := out(i)
			lo, hi := from.Span(rank)
			_, end := from.Span(ranks - 1)
			want = append(want, p.data(i, end)[lo:hi]...)
		}
		_, end := o.SendBlocks.Span(ranks - 1)
		o.Send, o.Recv = p.data(rank, end), make([]byte, len(want))
		if o.InPlace = p.inPlace != (p.mixed && rank == 0); o.InPlace { // lengths are the same both ways
			copy(o.Recv, o.Send)
			o.Send, o.SendBlocks = nil, coll.Blocks{}
		}
	case coll.Scan, coll.Exscan, coll.ReduceScatter, coll.ReduceScatterBlock:
		n *= 2
		last, lo, hi := rank, 0, n
		if p.op == coll.Exscan {
			last--
		}
		if p.op == coll.ReduceScatter || p.op == coll.ReduceScatterBlock {
			o.RecvBlocks = coll.Blocks{Unit: 2, N: p.n}
			n *= ranks
			if p.op == coll.ReduceScatter {
				n = 0
				for i := range ranks {
					o.RecvBlocks.Counts = append(o.RecvBlocks.Counts, (i*7+p.n)%(p.n+1))
					n += 2 * o.RecvBlocks.Counts[i]
				}
			}
			last = ranks - 1
			lo, hi = o.RecvBlocks.Span(rank)
		}
		o.Elem, o.Send, o.Recv = 2, p.data(rank, n), make([]byte, hi-lo)
		if last >= 0 {
			sum := p.data(last, n)
			for i := last - 1; i >= 0; i-- {
				concat(p.data(i, n), sum)
			}
			want = sum[lo:hi]
		}
		if o.InPlace = p.inPlace; o.InPlace {
			o.Recv, o.Send = o.Send, nil
		}
	case coll.Reduce, coll.Allreduce:
		n *= 2
		o.Elem, o.Send = 2, p.data(rank, n)
		if p.op == coll.Reduce {
			o.Root = p.root
		}
		if root || p.op == coll.Allreduce {
			want = p.data(ranks-1, n)
			for i := ranks - 2; i >= 0; i-- {
				concat(p.data(i, n), want)
			}
			o.Recv = make([]byte, n)
			if o.InPlace = p.inPlace; o.InPlace {
				copy(o.Recv, o.Send)
				o.Send = nil
			}
		}
	}
	return o, want
}

// length is that of the block which one rank sends another where they differ.
func (p *plan) length(from, to int) int { return p.n * ((from + to + from*to) % 5) / 4 }

func (p *plan) blocks(ranks int, length func(i int) int) coll.Blocks {
	b := coll.Blocks{Unit: 1}
	for i := range ranks {
		b.Counts = append(b.Counts, length(i))
	}
	return b
}

var served = []coll.Collective{
	coll.Barrier, coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Allgather, coll.Allgatherv,
	coll.Alltoall, coll.Alltoallv, coll.Alltoallw, coll.Reduce, coll.Allreduce, coll.ReduceScatter,
	coll.ReduceScatterBlock, coll.Scan, coll.Exscan,
}

// Any sequence of calls gives what a serial program would, and nobody waits for what does not come.
func TestAgainstSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, 5).Draw(t, "ranks")
		x := newTeam(t, ranks, rapid.SampledFrom([]int{1024, 4096, segmentMost}).Draw(t, "segment"))
		plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *plan {
			return &plan{
				op: rapid.SampledFrom(served).Draw(t, "op"), root: rapid.IntRange(0, ranks-1).Draw(t, "root"),
				n: rapid.SampledFrom([]int{0, 1, 8, 40, 80, 81, 500, 1024, 4100, 9000}).Draw(t, "n"), shared: x.memory,
				inPlace: rapid.Bool().Draw(t, "in place"), own: rapid.Bool().Draw(t, "own"),
				direct: rapid.Bool().Draw(t, "direct"),
				mixed:  rapid.Bool().Draw(t, "mixed"), seed: rapid.Int64Range(0, 1<<20).Draw(t, "seed"),
			}
		}), 1, 20).Draw(t, "plans")
		split, yields := rapid.SampledFrom([]int{1024, 1 << 30}).Draw(t, "split"),
			rapid.IntRange(0, 3).Draw(t, "yields")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "who reads")))
		for range rapid.IntRange(0, 3).Draw(t, "refusals") {
			x.refused[[2]int{random.Intn(ranks), random.Intn(ranks)}] = true
		}
		for i, a := range x.areas {
			a.Split, a.Yields, a.Yield = split, yields, func() {}
			a.Core = func() uint64 { return uint64(i % 2) }
		}
		errs, wrong := make([]error, ranks), make([]*plan, ranks)
		x.run(func(rank int) {
			for _, p := range plans {
				o, want := p.part(rank, ranks)
				if errs[rank] = x.perform(rank, o, p.direct); errs[rank] != nil {
					return
				}
				if want != nil && o.Form != Messages && string(want) != string(o.Recv[:len(want)]) {
					wrong[rank] = p
					return
				}
			}
		})
		for i := range ranks {
			require.NoError(t, errs[i], "rank %d", i)
			require.Nil(t, wrong[i], "rank %d", i)
		}
	})
}

// each makes calls of all ranks, one list a rank, and returns the errors of each.
func (x *team) each(calls [][]*coll.Call) [][]error {
	errs := make([][]error, len(calls))
	x.run(func(rank int) {
		for _, c := range calls[rank] {
			c.Rank, c.Ranks = rank, len(calls)
			errs[rank] = append(errs[rank], x.perform(rank, &Call{Call: c, Combine: concat}, false))
		}
	})
	return errs
}

func bcast(root, n int) *coll.Call {
	return &coll.Call{Op: coll.Bcast, Root: root, Recv: make([]byte, n)}
}
func barrier() *coll.Call { return &coll.Call{Op: coll.Barrier} }
func allreduce(n int) *coll.Call {
	return &coll.Call{Op: coll.Allreduce, Elem: 2, Send: make([]byte, n), Recv: make([]byte, n)}
}

// Other sizes are the error of those who see them, in that call alone.
func TestOtherSizes(t *testing.T) {
	x := newTeam(t, 3, 4096)
	errs := x.each([][]*coll.Call{
		{bcast(0, 8), allreduce(8), barrier()},
		{bcast(0, 8), allreduce(2000), barrier()},
		{bcast(0, 100), allreduce(8), barrier()},
	})
	for rank, want := range [][]bool{{false, true, false}, {false, true, false}, {true, true, false}} {
		for i, err := range errs[rank] {
			require.Equal(t, want[i], err != nil, "rank %d, call %d: %v", rank, i, err)
		}
	}
	require.EqualError(t, errs[2][0], "different lengths: rank 2 called bcast with 100 bytes, root 0, "+
		"rank 0 called bcast with 8 bytes, root 0")
}

// Other calls are an error at all ranks, which says what was called by whom, also if they show later.
func TestOtherCalls(t *testing.T) {
	for text, calls := range map[string][][]*coll.Call{
		"calls: rank . called (barrier|allreduce.*), rank . called (barrier|allreduce)": {{barrier()}, {barrier()},
			{allreduce(4)}},
		"calls: rank . called (allreduce with 4 bytes, root 0|barrier), rank . called (allreduce|barrier)": {
			{allreduce(4), allreduce(4)}, {allreduce(4), allreduce(4)}, {allreduce(4), barrier()}},
		"roots: rank . called bcast with 8 bytes, root ., rank . called bcast with 8 bytes, root .": {
			{bcast(0, 8), barrier()}, {bcast(1, 8), barrier()}, {bcast(2, 8), barrier()}},
		"lengths: rank . called bcast with (8|9000) bytes, root 0, rank . called bcast with (8|9000) bytes, root 0": {
			{bcast(0, 8), barrier()}, {bcast(0, 9000), barrier()}, {bcast(0, 9000), barrier()}},
	} {
		x := newTeam(t, 3, 4096)
		for rank, errs := range x.each(calls) {
			last := errs[len(errs)-1]
			require.Error(t, last, "%s, rank %d", text, rank)
			if last == ErrGone {
				last = x.areas[rank].Failure()
			}
			require.Regexp(t, "^different "+text, last.Error())
		}
	}
}

// A rank that ends MPI is missed in no call that it has made.
func TestWhoEndsIsMissed(t *testing.T) {
	x := newTeam(t, 3, 4096)
	var errs [3]error
	x.run(func(rank int) {
		errs[rank] = x.perform(rank, &Call{Call: &coll.Call{Op: coll.Barrier, Rank: rank, Ranks: 3}}, false)
		if rank == 1 {
			x.areas[1].End()
			return
		}
		require.NoError(t, errs[rank])
		errs[rank] = x.perform(rank, &Call{Call: &coll.Call{Op: coll.Barrier, Rank: rank, Ranks: 3}}, false)
	})
	require.NoError(t, errs[1])
	require.Error(t, errs[0])
	require.Error(t, errs[2])
	require.ErrorContains(t, x.areas[0].Failure(), "rank 1 has ended MPI")
}

// Where a yield may let nobody run, a rank that waits gives up after few that have not, and goes on as long as they do.
func TestVainYields(t *testing.T) {
	yields := func(handOver, takes time.Duration) (n int) {
		a := newTeam(t, 2, 4096).areas[0]
		a.Core = func() uint64 { return 1 }
		a.Yields, a.HandOver, a.Yield = 60, handOver, func() { n++; time.Sleep(takes) }
		words := a.one(0, 0, 1)
		require.False(t, a.look(&words))
		return n
	}
	require.Equal(t, 60, yields(0, 0), "each lets somebody run")
	require.Equal(t, 60, yields(time.Microsecond, time.Millisecond), "these do")
	require.Equal(t, 60/vain, yields(time.Hour, 0), "none does")
}

// An operator that panics does not keep the others waiting, nor the next call.
func TestAnOperatorThatPanics(t *testing.T) {
	x := newTeam(t, 3, 4096)
	var errs [3]error
	x.run(func(rank int) {
		x.areas[rank].Split = 1
		c := allreduce(60)
		c.Rank, c.Ranks = rank, 3
		o := &Call{Call: c, Combine: concat}
		if rank == 1 {
			o.Combine = func(in, inout []byte) { panic("no sum today") }
			require.Panics(t, func() { _ = x.perform(rank, o, false) })
		} else {
			errs[rank] = x.perform(rank, o, false)
		}
		require.NoError(t, x.perform(rank, &Call{Call: &coll.Call{Op: coll.Barrier, Rank: rank, Ranks: 3}}, false))
	})
	require.ErrorContains(t, errs[0], "rank 1 could not go on")
	require.ErrorContains(t, errs[2], "rank 1 could not go on")
}
