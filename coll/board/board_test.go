package board

import (
	"bytes"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// testMost is more ranks than the boards of the tests have.
const testMost = 10

func memory(ranks, piece int) []byte {
	return mem.Bytes(make([]uint64, (Fixed(testMost)+ranks*slots*piece)/8))
}

func open(t require.TestingT, m []byte, ranks int) []*Board {
	require.True(t, Clear(m, testMost))
	var bs []*Board
	for i := range ranks {
		b := Open(m, testMost, i, ranks)
		b.Fenced = true
		b.Ring = func(int) {}
		bs = append(bs, b)
	}
	return bs
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
	shared  [][]byte // which an operator of the program's gets to see nothing of
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
func (p *plan) part(rank, ranks int) (o *Op, want []byte) {
	n, root := p.n, rank == p.root
	o = &Op{Call: &coll.Call{Op: p.op, Rank: rank, Ranks: ranks, Elem: 1}, Combine: concat, Own: p.own, Direct: p.direct}
	if p.own && !p.inPlace { // in place, it sees what its own rank has posted
		o.Combine = func(in, inout []byte) {
			for _, s := range p.shared {
				if at := mem.Ref(unsafe.SliceData(in)) - mem.Ref(unsafe.SliceData(s)); len(in) > 0 && at < uint64(len(s)) {
					panic("the operator sees memory of others")
				}
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

var served = []coll.Collective{coll.Barrier, coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Alltoallv, coll.Alltoallw, coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.ReduceScatterBlock, coll.Scan, coll.Exscan}

// Any sequence of calls, with the ranks in any order, gives what a serial program
// would, and nobody waits for what does not come.
func TestBoardAgainstSerial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.OneOf(rapid.Just(2), rapid.Just(mostLending), rapid.IntRange(1, 9)).Draw(t, "ranks")
		piece := rapid.SampledFrom([]int{1024, 4096, pieceMost}).Draw(t, "piece")
		m := memory(ranks, piece)
		plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *plan {
			return &plan{
				op: rapid.SampledFrom(served).Draw(t, "op"), root: rapid.IntRange(0, ranks-1).Draw(t, "root"),
				n:       rapid.SampledFrom([]int{0, 1, 8, 56, 57, 112, 113, 500, 1024, 4100, 9000, 33000}).Draw(t, "n"),
				inPlace: rapid.Bool().Draw(t, "in place"), own: rapid.Bool().Draw(t, "own"), direct: rapid.Bool().Draw(t, "direct"), mixed: rapid.Bool().Draw(t, "mixed"), seed: rapid.Int64Range(0, 1<<20).Draw(t, "seed"),
			}
		}), 1, 20).Draw(t, "plans")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "order")))
		bs := open(t, m, ranks)
		stages := make([]byte, rapid.SampledFrom([]int{0, 16, 1024, 40_000, 300_000}).Draw(t, "stages"))
		for _, p := range plans {
			p.shared = [][]byte{m, stages}
		}
		central, split := rapid.SampledFrom([]uint32{0, 1 << coll.Barrier, 1<<coll.Barrier | 1<<coll.Allreduce}).Draw(t, "central"), rapid.SampledFrom([]int{1024, SplitFrom(ranks, true)}).Draw(t, "split")
		follows, reads := rapid.Bool().Draw(t, "follows"), rapid.IntRange(0, 3).Draw(t, "reads") > 0
		if ranks == measuring {
			for i := range measuring * int(kinds) {
				for class := range across.Classes {
					bs[0].gauge(i/int(kinds), kind(i)%kinds).Ask(class, across.Form(random.Intn(4)))
				}
			}
		}
		if ranks > measuring && ranks <= mostMeasuring {
			for i := range ranks * ranks * 2 {
				for class := range across.Classes {
					bs[0].between(i/2/ranks, i/2%ranks, kind(i%2)).Ask(class, across.Form(random.Intn(4)))
				}
			}
			for i := range ranks {
				*(*uint32)(unsafe.Add(bs[0].cores, i*coreSize)) = uint32(random.Intn(3))
			}
		}
		runs := make([]*run, ranks)
		refused := map[[2]int]bool{} // who can not read whose memory
		for range rapid.IntRange(0, 3).Draw(t, "refusals") {
			refused[[2]int{random.Intn(ranks), random.Intn(ranks)}] = true
		}
		for i, b := range bs {
			b.Central = central
			b.Read = func(rank int, addr uint64, to []byte) bool {
				if refused[[2]int{i, rank}] {
					return false
				}
				copy(to, mem.At(addr, len(to)))
				return true
			}
			if !reads {
				b.Read = nil
			}
			if b.Follows, b.Split = follows, split; ranks > 1 && len(stages) > 0 {
				b.Stage(stages)
			}
			b.Ring = func(rank int) { runs[rank].wake() }
			b.Core = func() uint32 { return uint32(random.Intn(3)) }
			runs[i] = &run{b: b, plans: plans, all: runs, owed: map[[2]int]bool{}}
		}
		for left := ranks; left > 0; {
			moved := false
			for _, i := range random.Perm(ranks) {
				r := runs[i]
				for n := random.Intn(3); n >= 0 && r.at < len(plans) && !r.asleep; n-- {
					if r.step(t) {
						moved = true
					} else if r.op != nil && !r.ended && random.Intn(2) == 0 {
						r.sleep()
					}
				}
			}
			left = 0
			for _, r := range runs {
				if r.at < len(plans) {
					left++
				}
			}
			if left > 0 && !moved && stuck(runs) {
				t.Fatalf("everybody waits")
			}
		}
		for i, b := range bs {
			require.False(t, b.Broken())
			b.Close()
			for owed := range runs[i].owed { // call and rank
				require.True(t, refused[[2]int{owed[1], i}])
			}
			for _, miss := range runs[i].missed {
				require.True(t, runs[miss[1]].owed[[2]int{miss[0], i}], "rank %d has no message from %d in call %d", i, miss[1], miss[0])
				delete(runs[miss[1]].owed, [2]int{miss[0], i})
			}
		}
		for i := range runs {
			require.Empty(t, runs[i].owed, "messages of rank %d that nobody expects", i)
		}
		require.True(t, Clear(m, testMost))
	})
}

type run struct {
	b      *Board
	plans  []*plan
	all    []*run
	at     int
	op     *Op
	want   []byte
	asleep bool
	ended  bool            // on the board, and messages are to come
	owed   map[[2]int]bool // calls, and ranks that a message goes to, in the direct form
	missed [][2]int        // or comes from
}

// sleep is what a rank does that can not go on, unless what it waits for has come
// meanwhile.
func (r *run) sleep() {
	w := r.op.Awaits()
	w.Sleep()
	if r.asleep = !w.There(); !r.asleep {
		w.Wake()
	}
}

func (r *run) wake() {
	if r.asleep {
		r.op.Awaits().Wake()
		r.asleep = false
	}
}

// step carries a rank on and reports whether a call has ended.
func (r *run) step(t *rapid.T) bool {
	if r.op == nil {
		r.op, r.want = r.plans[r.at].part(r.b.Me, r.b.Ranks)
		if !r.b.Serves(r.op.Call, r.op.Direct) {
			r.op = nil
			r.at++
			return true
		}
		r.op.Begin(r.b)
	}
	if !r.op.Step() {
		return false
	}
	require.NoError(t, r.op.Err())
	r.ended = true
	for _, i := range r.op.Owed {
		r.owed[[2]int{r.at, i}] = true
	}
	for _, i := range r.op.Missed {
		if !r.all[i].owed[[2]int{r.at, r.b.Me}] {
			return false // its message has not come
		}
	}
	message := func(i int) int { // as it would
		to, from := r.op.Incoming(i), r.want
		if !fromRoot(r.op.Op) {
			from = r.op.RecvBlocks.Of(r.want, i)
		}
		return copy(to, from)
	}
	for _, i := range r.op.Missed {
		r.missed = append(r.missed, [2]int{r.at, i})
		message(i)
	}
	for _, i := range r.op.Late {
		require.Greater(t, message(i), r.b.Most(r.op.Op))
	}
	if r.want != nil && !bytes.Equal(r.want, r.op.Recv[:len(r.want)]) {
		t.Fatalf("call %d, rank %d: %+v", r.at, r.b.Me, r.plans[r.at])
	}
	clear(r.op.Send) // the program may use its buffers again
	clear(r.op.Recv)
	r.op, r.ended = nil, false
	r.at++
	return true
}

// stuck reports whether all who have not ended sleep, or wait for what has not come.
func stuck(runs []*run) bool {
	for _, r := range runs {
		if r.at < len(r.plans) && !r.asleep && (r.op == nil || r.op.Awaits().There()) {
			return false
		}
	}
	return true
}

// A rank that passes another size learns so, and the ranks stay in step where they
// can.
func TestBoardMismatches(t *testing.T) {
	for i, op := range append(served[1:], coll.Allreduce) {
		for j, odd := range []int{0, 8, 24, 5000, 100_000, 0, 8, 24, 5000, 100_000} {
			ranks := 2 + j/5*2
			t.Run(fmt.Sprintf("%v, %d ranks, %d", op, ranks, odd), func(t *testing.T) {
				bs := open(t, memory(ranks, 4096), ranks)
				for _, b := range bs {
					if i == len(served)-1 {
						b.Central = 1 << coll.Allreduce
					}
				}
				ops := make([]*Op, ranks)
				ended := make([]bool, ranks)
				for i := range ops {
					p := &plan{op: op, n: 16}
					if i == ranks/2 {
						p.n = odd
					}
					ops[i], _ = p.part(i, ranks)
					ops[i].Begin(bs[i])
				}
				for range 1000 {
					for i, o := range ops {
						ended[i] = ended[i] || o.Step()
					}
				}
				wrong := 0
				for i, o := range ops {
					if !ended[i] {
						require.True(t, bs[i].Broken())
						continue
					}
					if o.Err() != nil {
						wrong++
						require.IsType(t, (*Mismatch)(nil), o.Err())
					}
				}
				require.True(t, wrong > 0 || bs[0].Broken())
				if op == coll.Allreduce && !bs[0].Broken() {
					require.Equal(t, ranks, wrong)
				}
			})
		}
	}
}

// Two ranks that deal a result out in blocks of different sizes: each knows of one of the other's only, so that it can not tell how
// many turns that one makes; nobody waits for turns that do not come.
func TestMismatchesOfWhatIsDealt(t *testing.T) {
	for _, counts := range [][2][]int{{{9000, 8}, {16, 16}}, {{16, 16}, {8, 9000}}, {{9000, 9000}, {9000, 16}}} {
		bs := open(t, memory(2, 4096), 2)
		var ops []*Op
		for i, b := range bs {
			total := counts[i][0] + counts[i][1]
			o := &Op{Call: &coll.Call{Op: coll.ReduceScatter, Rank: i, Ranks: 2, Elem: 1, RecvBlocks: coll.Blocks{Unit: 1, Counts: counts[i]}, Send: make([]byte, total), Recv: make([]byte, total)}, Combine: concat}
			o.Begin(b)
			ops = append(ops, o)
		}
		left := slices.Clone(ops)
		for range 100 {
			left = slices.DeleteFunc(left, (*Op).Step)
		}
		require.True(t, bs[0].Broken() || len(left) == 0, "%v: a rank waits for ever", counts)
		require.True(t, bs[0].Broken() || ops[0].Err() != nil || ops[1].Err() != nil)
	}
}

// The first call gives belts that are to be filled all their memory, and both ranks their view of them; there is one that does.
func TestBeltsAreFilled(t *testing.T) {
	stages := make([]byte, 300_000)
	var filled []int
	fills := func(b *Board) {
		b.Stage(stages)
		b.Fills = true
		b.Fill = func(p []byte) {
			at := int(mem.Ref(unsafe.SliceData(p)) - mem.Ref(unsafe.SliceData(stages)))
			for i := range p {
				filled[at+i]++
			}
		}
	}
	area := memory(2, 1024)
	for _, b := range open(t, area, 2) {
		fills(b)
		filled = make([]int, len(stages))
		for range 2 {
			(&Op{Call: &coll.Call{Op: coll.Barrier, Rank: b.Me, Ranks: 2}}).Begin(b)
			for rank := range 2 {
				for i := range b.portion() * (portions - 1) {
					require.Equal(t, 1, filled[uint64(rank*len(stages)/2)+b.portion()+i], "rank %d's", rank)
				}
			}
		}
	}
	twin := Open(area, testMost, 0, 2) // of a rank that has, in Go
	filled = make([]int, len(stages))
	fills(twin)
	(&Op{Call: &coll.Call{Op: coll.Barrier, Ranks: 2}}).Begin(twin)
	require.NotContains(t, filled, 1)
}

// The same in the direct form; and a rank that chooses another form than the rest breaks
// the board.
func TestDirectMismatches(t *testing.T) {
	const ranks = 4
	for _, op := range []coll.Collective{coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Allgatherv, coll.Alltoall} {
		for _, odd := range []int{0, 8, 5000} {
			for _, mixed := range []bool{false, true} {
				for _, rank := range []int{0, 2} { // the root, and another
					bs := open(t, memory(ranks, 4096), ranks)
					ops, ended := make([]*Op, ranks), make([]bool, ranks)
					for i, b := range bs {
						b.Read = func(_ int, addr uint64, to []byte) bool {
							copy(to, mem.At(addr, len(to)))
							return true
						}
						p := &plan{op: op, n: 16, direct: true}
						if i == rank {
							p.n, p.direct = odd, !mixed
						}
						ops[i], _ = p.part(i, ranks)
					}
					for i, o := range ops {
						o.Begin(bs[i])
					}
					for range 1000 {
						for i, o := range ops {
							ended[i] = ended[i] || o.Step()
						}
					}
					wrong := 0
					for i, o := range ops {
						require.True(t, ended[i] || bs[i].Broken(), "%v, %d, rank %d", op, odd, i)
						if o.Err() != nil {
							wrong++
						}
					}
					require.Equal(t, mixed, bs[0].Broken(), "%v, %d", op, odd)
					require.True(t, wrong > 0 || mixed, "%v, %d", op, odd)
				}
			}
		}
	}
}

// Who sleeps is woken when all that it sleeps for is there, and not before.
func TestBoardWakes(t *testing.T) {
	bs := open(t, memory(3, 1024), 3)
	var rung []int
	for _, b := range bs {
		b.Ring = func(rank int) { rung = append(rung, rank) }
	}
	barrier := func(i int) *Op {
		o := &Op{Call: &coll.Call{Op: coll.Barrier, Rank: i, Ranks: 3}}
		o.Begin(bs[i])
		return o
	}
	first := barrier(0)
	require.False(t, first.Step())
	first.Awaits().Sleep()
	third := barrier(2)
	require.False(t, third.Step())
	third.Awaits().Sleep()
	require.Empty(t, rung, "both wait for rank 1")
	second := barrier(1)
	require.True(t, second.Step())
	require.Equal(t, []int{0, 2}, rung)
	for _, o := range []*Op{first, third} {
		require.True(t, o.Awaits().There())
		o.Awaits().Wake()
		require.True(t, o.Step())
	}
	require.Equal(t, []int{0, 2}, rung)
}

// A block of two ranks is as long as a piece where it costs much to read it where it is.
func TestBlocksWhereAttachIsDear(t *testing.T) {
	two, three := open(t, memory(2, pieceMost), 2)[0], open(t, memory(3, pieceMost), 3)[0]
	for _, b := range []*Board{two, three} {
		b.piece = pieceMost
	}
	require.Equal(t, [2]int{12 << 10, 8 << 10}, [2]int{two.Most(coll.Gatherv), two.Most(coll.Alltoallv)})
	few := three.Most(coll.Alltoallv)
	two.Dear, three.Dear = true, true
	require.Equal(t, [2]int{pieceMost, pieceMost - sizeWord}, [2]int{two.Most(coll.Scatterv), two.Most(coll.Alltoallw)})
	require.Equal(t, few, three.Most(coll.Alltoallv))
}
