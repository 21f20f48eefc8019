//go:build cgo && !race

package boardc_test

import (
	"bytes"
	"math"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/boardc"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// What the ranks hand to each other goes through C, which the race detector does not see.

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

// waiting is how ranks wait in the twin: they sleep for longer than the test, look for a moment, yield, or yield and then sleep.
type waiting func(v *board.View)

func naps(v *board.View)   { v.Naps, v.PerCore = 10*60*1000, most }
func looks(v *board.View)  { v.Spins = 200 }
func yields(v *board.View) { v.Yields = 50 }
func tires(v *board.View) {
	naps(v)
	v.Yields = 3
}

// Ranks that nap in the twin, or spin or yield there for a moment, and ranks that sleep in Go wake each
// other: those in Go would sleep for ever.
func TestSleepersAreWoken(t *testing.T) {
	calls := 8000
	if testing.Short() {
		calls = 2000
	}
	for ranks := 2; ranks <= most; ranks += 2 {
		for _, central := range []uint32{0, 1<<coll.Barrier | 1<<coll.Allreduce} {
			testSleepers(t, ranks, calls, central, naps, -1)
			testSleepers(t, ranks, calls, central, yields, -1)
			testSleepers(t, ranks, calls, central, tires, -1)
		}
	}
	for _, deaf := range []int{-1, 1} {
		testSleepers(t, 2, calls, 0, looks, deaf)
		testSleepers(t, 3, calls, 0, looks, deaf)
	}
}

// testSleepers makes random calls; a rank may be deaf: it cannot read from the others, which must
// learn of that.
func testSleepers(t *testing.T, ranks, calls int, central uint32, wait waiting, deaf int) {
	memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8))
	pids := slices.Repeat([]int32{int32(os.Getpid())}, ranks)
	defer runtime.KeepAlive(pids)
	bells := make(berths, most*berthStep/8)
	waits := make([]atomic.Pointer[call], ranks)
	var missed, owed atomic.Int64
	var all sync.WaitGroup
	for i := range ranks {
		b, v := board.Open(memory, most, i, ranks), new(board.View)
		b.Moor(i)
		b.Fenced, b.Central, b.Follows, b.Split, b.Ring = true, central, ranks == most, 1<<20, bells.ring
		b.Core = func() uint32 {
			bells.word(i, 4).Store(sys.Core())
			return sys.Core()
		}
		b.Read = func(_ int, addr uint64, to []byte) bool {
			return i != deaf && copy(to, mem.At(addr, len(to))) == len(to)
		}
		b.View(v, board.Berths{First: mem.Ref(&bells[0]), Own: mem.Ref(&bells[i*berthStep/8]), Step: berthStep, N: uint32(ranks)})
		if i != deaf {
			v.Pids = mem.Ref(&pids[0])
		}
		wait(v)
		for op := range v.Limit {
			v.Limit[op] = math.MaxInt64
		}
		all.Go(func() {
			plan, own := rand.New(rand.NewSource(int64(ranks))), rand.New(rand.NewSource(int64(i)))
			for n := range calls {
				ops := []coll.Collective{coll.Barrier, coll.Bcast, coll.Gather, coll.Scatter, coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Reduce, coll.Allreduce, coll.ReduceScatter, coll.Scan}
				c := &call{op: ops[plan.Intn(len(ops))], root: plan.Intn(ranks), n: 1 + plan.Intn(45)*plan.Intn(45), seed: int64(n)}
				waits[i].Store(c)
				x, want := c.part(i, ranks)
				direct, perform := c.direct(true), func() bool { return boardc.Perform(v, x, x.Bytes()) }
				if direct {
					perform = func() bool { return boardc.Direct(v, x, x.Bytes()) }
				}
				if own.Intn(3) == 0 || !perform() {
					o := &board.Op{Call: x, Direct: direct, Combine: func(in, inout []byte) {
						for j, v := range in {
							inout[j] += v
						}
					}}
					o.Begin(b)
					bells.finish(o, i)
					require.NoError(t, o.Err())
					missed.Add(int64(len(o.Missed)))
					owed.Add(int64(len(o.Owed)))
					if len(o.Missed) > 0 { // as messages would
						copy(x.Recv, want)
					}
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
	require.Equal(t, missed.Load(), owed.Load())
	require.Equal(t, deaf >= 0, missed.Load() > 0)
}

// A root in Go that is ahead by all places sleeps until one is free, and the twin wakes it.
func TestWhoSleepsForAPlaceIsWoken(t *testing.T) {
	const ranks, slots = 2, 8
	memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8))
	bells := make(berths, most*berthStep/8)
	boards, views := make([]*board.Board, ranks), make([]*board.View, ranks)
	for i := range ranks {
		boards[i], views[i] = board.Open(memory, most, i, ranks), new(board.View)
		boards[i].Moor(i)
		boards[i].Fenced, boards[i].Ring = true, bells.ring
		boards[i].View(views[i], board.Berths{First: mem.Ref(&bells[0]), Own: mem.Ref(&bells[i*berthStep/8]), Step: berthStep, N: ranks})
		views[i].Naps, views[i].Limit[coll.Bcast] = 10, math.MaxInt64
	}
	c := &call{op: coll.Bcast, n: 100}
	var o *board.Op
	for i := range slots + 1 {
		x, _ := c.part(0, ranks)
		o = &board.Op{Call: x}
		o.Begin(boards[0])
		require.Equal(t, i < slots, o.Step(), "as long as there are places")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		bells.finish(o, 0)
	}()
	require.Eventually(t, func() bool { return bells.flags(0).Load() == 1 }, time.Minute, time.Millisecond)
	x, _ := c.part(1, ranks)
	require.True(t, boardc.Perform(views[1], x, x.Bytes()))
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it sleeps for ever")
	}
}

// A rank that waits where more ranks run than its core's share, and is the last of them, goes on in
// Go, once in a while; any other waits in the twin.
func TestWhoIsTooManyOnACoreGoesOnInGo(t *testing.T) {
	for name, x := range map[string]struct {
		rank, share int
		there       []int // other ranks that run there
		inGo        bool
	}{
		"the last of too many": {4, 2, []int{1, 2}, true},
		"not the last":         {3, 2, []int{1, 2, 5}, false},
		"as many as it holds":  {5, 3, []int{1, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for stayed := false; !stayed; { // the kernel may move the thread
				var core uint32
				inGo := !waits(t, x.rank, func(v *board.View, bells berths) {
					v.PerCore = uint32(x.share)
					core = sys.Core()
					for _, i := range x.there {
						bells.word(i, 4).Store(core)
					}
				})
				if stayed = sys.Core() == core; stayed {
					require.Equal(t, x.inGo, inGo)
				}
			}
		})
	}
}

// Where ranks nap after they have yielded, so many times or for so long, they do so in the twin; else the call goes on in Go.
func TestWhoHasYieldedNaps(t *testing.T) {
	for name, yields := range map[string]uint32{"so many times": 50, "for so long": 1 << 30} {
		require.True(t, waits(t, 1, func(v *board.View, _ berths) { v.Yields, v.PerCore = yields, 1 }), name)
		require.False(t, waits(t, 1, func(v *board.View, _ berths) { v.Yields, v.PerCore, v.Naps = yields, 1, 0 }), name)
	}
}

// As long as a rank yields others wake who sleeps on its core: it would not before its call ends.
func TestWhoYieldsTendsNobody(t *testing.T) {
	const (
		header, line  = 128, 256 // bytes: the layout of package board
		tends, seeks  = 3 * 8, 13 * 8
		rank, forLong = 1, 1 << 20 // ranks of a core: 40 us each
	)
	memory, _, v, root := napping(rank)
	v.Yields, v.PerCore = 1<<30, forLong
	c := &call{op: coll.Bcast, n: 100}
	ended := make(chan bool)
	go func() {
		x, _ := c.part(rank, most)
		ended <- boardc.Perform(v, x, x.Bytes())
	}()
	own := header + rank*line
	require.Eventually(t, func() bool { return mem.U64(memory, own+seeks).Load() != 0 }, time.Minute, time.Millisecond, "it yields")
	require.Zero(t, mem.U64(memory, own+tends).Load())
	broadcast(t, root, c)
	require.True(t, <-ended)
}

// waits lets a rank nap in the twin, until rank 0, in Go, broadcasts what it waits for, a while later, and reports
// whether the call has ended there.
func waits(t *testing.T, rank int, prepare func(v *board.View, bells berths)) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, bells, v, root := napping(rank)
	c := &call{op: coll.Bcast, n: 100}
	twin, _ := c.part(rank, most)
	returned := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		select {
		case <-returned:
		case <-time.After(100 * time.Millisecond): // longer than it takes to give up
		}
		broadcast(t, root, c)
	})
	prepare(v, bells)
	done := boardc.Perform(v, twin, twin.Bytes())
	close(returned)
	all.Wait()
	return done
}

// napping is a board as a rank sees it that naps, and as rank 0 does, in Go.
func napping(rank int) (memory []byte, bells berths, v *board.View, root *board.Board) {
	memory = mem.Bytes(make([]uint64, (board.Fixed(most)+most*8*2048)/8))
	bells, v = make(berths, most*berthStep/8), new(board.View)
	b, root := board.Open(memory, most, rank, most), board.Open(memory, most, 0, most)
	b.Moor(rank)
	b.View(v, board.Berths{First: mem.Ref(&bells[0]), Own: mem.Ref(&bells[rank*berthStep/8]), Step: berthStep, N: most})
	v.Limit[coll.Bcast] = math.MaxInt64
	naps(v)
	root.Fenced, root.Ring = true, bells.ring
	return memory, bells, v, root
}

// broadcast is rank 0's part of a Bcast.
func broadcast(t *testing.T, root *board.Board, c *call) {
	x, _ := c.part(0, most)
	o := &board.Op{Call: x}
	o.Begin(root)
	assert.True(t, o.Step())
}

// A rank that yields leaves its core to those that ran there last, unless they look for what is not
// there yet.
func TestWhoMayGoOnNeedsTheCore(t *testing.T) {
	const (
		header, line, slots, cell = 128, 256, 8, 128 // bytes, but for slots: the layout of package board
		seeks                     = 13 * 8           // in a line
		cores                     = header + most*(line+slots*cell)
		here, there               = 5, 6
		whole                     = 1<<63 | 1 // all cells of turn 0
		other                     = 1<<62 | 1 // all have done with it
	)
	posts := func(ranks ...int) []int { return ranks }
	for name, x := range map[string]struct {
		core  uint32 // of rank 1
		seeks uint64 // of rank 1
		posts []int
		want  bool
	}{
		"it does not wait":                     {here, 0, nil, true},
		"it ran elsewhere":                     {there, 0, nil, false},
		"one has not posted":                   {here, whole, posts(0, 1, 2), false},
		"all have posted, and it looks for it": {here, whole, posts(0, 1, 2, 3), true},
		"all but itself":                       {here, whole, posts(0, 2, 3), true},
		"one has not done with the turn":       {here, other, posts(0, 1, 2, 3), false},
	} {
		t.Run(name, func(t *testing.T) {
			const ranks = 4
			memory := mem.Bytes(make([]uint64, (board.Fixed(most)+ranks*8*2048)/8))
			b, v := board.Open(memory, most, 0, ranks), new(board.View)
			b.View(v, board.Berths{})
			mem.U32(memory, cores+4).Store(x.core)
			mem.U64(memory, header+line+seeks).Store(x.seeks)
			for _, i := range x.posts {
				mem.U64(memory, header+most*line+i*cell).Store(1)
			}
			require.Equal(t, x.want, boardc.Needed(v, here, 1<<62|1000))
			require.Equal(t, x.want && x.seeks == 0, boardc.Needed(v, here, x.seeks), "what this rank misses the other does")
		})
	}
}
