//go:build cgo

package boardc_test

import (
	"bytes"
	"math"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/boardc"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
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
	case coll.Bcast, coll.Gather, coll.Scatter, coll.Reduce:
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

// Ranks that try the twin and ranks that do not make the same calls, in any order: a
// twin that has to wait leaves the call to Go, with its part posted.
func TestTheTwinAndThePackageAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(2, most).Draw(t, "ranks")
		memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8))
		central, split := rapid.SampledFrom([]uint32{0, 1 << coll.Barrier, 1<<coll.Barrier | 1<<coll.Allreduce}).Draw(t, "central"), rapid.SampledFrom([]int{1024, 1 << 20}).Draw(t, "split")
		follows := rapid.Bool().Draw(t, "follows")
		boards, views := make([]*board.Board, ranks), make([]*board.View, ranks)
		for i := range boards {
			b := board.Open(memory, most, i, ranks)
			b.Fenced, b.Central, b.Follows, b.Split, b.Ring = true, central, follows, split, func(int) {}
			boards[i], views[i] = b, new(board.View)
			b.View(views[i], board.Berths{})
			for op := range views[i].Limit {
				views[i].Limit[op] = math.MaxInt64
			}
		}
		calls := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *call {
			return &call{
				op:   rapid.SampledFrom([]coll.Collective{coll.Barrier, coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.ReduceScatterBlock, coll.Scan, coll.Exscan}).Draw(t, "op"),
				root: rapid.IntRange(0, ranks-1).Draw(t, "root"), n: rapid.SampledFrom([]int{1, 8, 56, 112, 113, 300, 2048, 3000, 9000}).Draw(t, "n"),
				seed: rapid.Int64Range(0, 1<<20).Draw(t, "seed"), twin: rapid.SliceOfN(rapid.Bool(), ranks, ranks).Draw(t, "twins"),
			}
		}), 1, 30).Draw(t, "calls")
		random := rand.New(rand.NewSource(rapid.Int64().Draw(t, "order")))
		at, ops, wants := make([]int, ranks), make([]*board.Op, ranks), make([][]byte, ranks)
		for steps, left := 0, ranks*len(calls); left > 0; steps++ {
			require.Less(t, steps, 1000*ranks*len(calls), "everybody waits")
			i := random.Intn(ranks)
			if at[i] == len(calls) {
				continue
			}
			c := calls[at[i]]
			done := false
			var recv []byte
			if ops[i] == nil {
				var x *coll.Call
				x, wants[i] = c.part(i, ranks)
				recv = x.Recv
				if c.twin[i] {
					done = boardc.Perform(views[i], x, x.Bytes())
				}
				if !done {
					ops[i] = &board.Op{Call: x, Combine: func(in, inout []byte) {
						for j, v := range in {
							inout[j] += v
						}
					}}
					ops[i].Begin(boards[i])
				}
			} else if done = ops[i].Step(); done {
				require.NoError(t, ops[i].Err())
				recv = ops[i].Recv
			}
			if done {
				if wants[i] != nil && !bytes.Equal(wants[i], recv) {
					t.Fatalf("call %d, rank %d: %+v", at[i], i, c)
				}
				ops[i] = nil
				at[i]++
				left--
			}
		}
	})
}

// berths are the bells of the ranks of a test, as the twin finds them.
type berths []uint64

const berthStep = 128

func (bs berths) word(rank, at int) *atomic.Uint32 {
	return mem.U32(mem.Bytes(bs), rank*berthStep+at)
}

func (bs berths) flags(rank int) *atomic.Uint32 { return bs.word(rank, 0) }
func (bs berths) bell(rank int) *atomic.Uint32  { return bs.word(rank, 64) }

func (bs berths) ring(rank int) {
	bs.flags(rank).Store(0)
	bs.bell(rank).Add(1)
	sys.FutexWake(bs.bell(rank), math.MaxInt32)
}

// finish carries a call on to its end, and sleeps while it waits.
func (bs berths) finish(o *board.Op, rank int) {
	for !o.Step() {
		w := o.Awaits()
		mark := bs.bell(rank).Load()
		bs.flags(rank).Store(1)
		w.Sleep()
		if !w.There() {
			sys.FutexWait(bs.bell(rank), mark)
		}
		w.Wake()
		bs.flags(rank).Store(0)
	}
}

// Ranks that nap in the twin and ranks that sleep in Go wake each other: those in Go would
// sleep for ever.
func TestSleepersAreWoken(t *testing.T) {
	calls := 20000
	if testing.Short() {
		calls = 4000
	}
	for _, central := range []uint32{0, 1<<coll.Barrier | 1<<coll.Allreduce} {
		for ranks := 2; ranks <= most; ranks += 2 {
			memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8))
			bells := make(berths, most*berthStep/8)
			waits := make([]atomic.Pointer[call], ranks)
			var all sync.WaitGroup
			for i := range ranks {
				b, v := board.Open(memory, most, i, ranks), new(board.View)
				b.Moor(i)
				b.Fenced, b.Central, b.Follows, b.Split, b.Ring = true, central, ranks == most, 1<<20, bells.ring
				b.Core = func() uint32 {
					bells.word(i, 4).Store(sys.Core())
					return sys.Core()
				}
				b.View(v, board.Berths{First: mem.Ref(&bells[0]), Own: mem.Ref(&bells[i*berthStep/8]), Step: berthStep, N: uint32(ranks)})
				v.Naps = 1
				for op := range v.Limit {
					v.Limit[op] = math.MaxInt64
				}
				all.Go(func() {
					plan, own := rand.New(rand.NewSource(int64(ranks))), rand.New(rand.NewSource(int64(i)))
					for n := range calls {
						ops := []coll.Collective{coll.Barrier, coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Alltoall, coll.Reduce, coll.Allreduce, coll.Scan}
						c := &call{op: ops[plan.Intn(len(ops))], root: plan.Intn(ranks), n: 1 + plan.Intn(20)*plan.Intn(20), seed: int64(n)}
						waits[i].Store(c)
						x, want := c.part(i, ranks)
						if own.Intn(3) == 0 || !boardc.Perform(v, x, x.Bytes()) {
							o := &board.Op{Call: x, Combine: func(in, inout []byte) {
								for j, v := range in {
									inout[j] += v
								}
							}}
							o.Begin(b)
							bells.finish(o, i)
							require.NoError(t, o.Err())
						}
						if want != nil && !bytes.Equal(want, x.Recv) {
							t.Errorf("call %d, rank %d: %+v", n, i, c)
							return
						}
					}
					waits[i].Store(nil)
				})
			}
			ended := make(chan struct{})
			go func() {
				all.Wait()
				close(ended)
			}()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				for i := range waits {
					t.Logf("rank %d is in %+v", i, waits[i].Load())
				}
				t.Fatal("somebody sleeps for ever")
			}
		}
	}
}
