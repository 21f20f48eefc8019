//go:build cgo

package boardc_test

import (
	"bytes"
	"math"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/boardc"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// A gauge in C is one in Go, word by word, whatever is written and read, and whoever does.
func TestGaugesInCAndInGoAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var inC, inGo across.Gauge
		if rapid.Bool().Draw(t, "ahead") {
			inC.Ahead()
			inGo.Ahead()
		}
		forms := rapid.SampledFrom([]across.Forms{across.Copied, across.Roomy, across.OrLent}).Draw(t, "forms")
		size := rapid.SampledFrom([]int{1, 1023, 1024, 2047, 2048, 3000, 4095, 4096, 100_000, 1 << 18, 1 << 20, 1 << 25})
		ticks := rapid.Uint64Range(0, 1<<20)
		for range rapid.IntRange(1, 2000).Draw(t, "blocks") {
			n := size.Draw(t, "n")
			way := inGo.Way(n, forms)
			require.Equal(t, way, boardc.Way(&inC, n, forms))
			if n >= across.Least {
				require.Equal(t, inGo.Prepares(n), boardc.Prepares(&inC, n))
			}
			if way.Timed {
				told := across.Tell(way.Form, n, ticks.Draw(t, "written in"))
				if rapid.IntRange(0, 20).Draw(t, "told") == 0 {
					told = across.Told(rapid.Uint64().Draw(t, "anything"))
				}
				read := ticks.Draw(t, "read in")
				inGo.Note(told, read, forms)
				boardc.Note(&inC, told, read, forms)
			}
			require.Equal(t, *(*[across.Size]byte)(unsafe.Pointer(&inGo)), *(*[across.Size]byte)(unsafe.Pointer(&inC)))
		}
	})
}

// So it is for as many blocks as are counted, after which it begins again.
func TestGaugesInCAndInGoCountAlike(t *testing.T) {
	for _, n := range []int{across.Least, 2047, 2048, 100_000} {
		var inC, inGo across.Gauge
		for class := range across.Classes {
			inC.Ask(class, across.Hot)
			inGo.Ask(class, across.Hot)
		}
		for i := range math.MaxUint16 + 1000 {
			if inGo.Way(n, across.Roomy) != boardc.Way(&inC, n, across.Roomy) {
				require.Fail(t, "another way", "%d bytes, block %d", n, i)
			}
		}
	}
}

// And so they choose, from the first block on, whatever form takes least.
func TestGaugesInCAndInGoChooseAlike(t *testing.T) {
	forms := across.OrLent | 1<<across.Around
	for _, took := range [][4]uint64{
		{across.Hot: 6, across.Cold: 2, across.Around: 7, across.Lent: 6},
		{across.Hot: 40, across.Cold: 26, across.Around: 12, across.Lent: 14},
		{across.Hot: 40, across.Cold: 10, across.Around: 12, across.Lent: 14},
		{across.Hot: 9, across.Cold: 10, across.Around: 12, across.Lent: 5},
	} {
		for _, n := range []int{across.Least, 4096, 8192, 32 << 10, 1 << 20} {
			var inC, inGo across.Gauge
			for i := range 10_000 {
				way := inGo.Way(n, forms)
				require.Equal(t, way, boardc.Way(&inC, n, forms), "%v, %d bytes, block %d", took, n, i)
				if way.Timed {
					ticks := took[way.Form] * 1000
					told := across.Tell(way.Form, n, ticks/2)
					inGo.Note(told, ticks/2, forms)
					boardc.Note(&inC, told, ticks/2, forms)
				}
			}
		}
	}
}

// beltPart is how long a part of the belt is on most boards of belted.
const beltPart = 2560

// belted is a board of two that ask for cold copies, with stages and belts behind each other: of the latter four parts each, as long as the stage.
func belted(part int) (boards [2]*board.Board, views [2]*board.View, stages []byte) {
	memory, stages := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*4096)/8)), make([]byte, 2*5*part)
	for i := range boards {
		b := board.Open(memory, most, i, 2)
		b.Fenced, b.Ring = true, func(int) {}
		b.Stage(stages)
		boards[i], views[i] = b, new(board.View)
		b.View(views[i], board.Berths{})
		views[i].Spins, views[i].Limit[coll.Bcast], views[i].Limit[coll.Barrier] = 1000, math.MaxInt64, math.MaxInt64
	}
	for g := range gauges {
		ask(views[0], g, func() across.Form { return across.Cold })
	}
	return boards, views, stages
}

// The first call gives the belts of a board that is to be filled their memory, which Go then has no more to give.
func TestBeltsAreFilled(t *testing.T) {
	const part = 16 << 12
	f, err := sys.SharedMemory("stages", 2*5*part)
	require.NoError(t, err)
	defer f.Close()
	stages, err := sys.Map(f)
	require.NoError(t, err)
	defer func() { require.NoError(t, sys.Unmap(stages)) }()
	has := func() int64 { // bytes of memory
		info, err := f.Stat()
		require.NoError(t, err)
		return 512 * info.Sys().(*syscall.Stat_t).Blocks
	}
	if sys.Populate(stages[:4096]); has() == 0 {
		t.Skip("fstat sees no page after sys.Populate: MADV_POPULATE_READ does nothing here (before Linux 5.14)")
	}
	memory := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*4096)/8))
	var views [2]board.View
	var boards [2]*board.Board
	for i := range boards {
		b := board.Open(memory, most, i, 2)
		b.Fenced, b.Ring, b.Fills = true, func(int) {}, true
		b.Fill = func([]byte) { t.Error("it has been filled") }
		b.Stage(stages)
		b.View(&views[i], board.Berths{})
		views[i].Spins, views[i].Limit[coll.Barrier] = 1000, math.MaxInt64
		boards[i] = b
	}
	for i := range views { // the first is left to Go when it has waited in vain
		x, _ := (&call{op: coll.Barrier}).part(i, 2)
		boardc.Perform(&views[i], x, 0)
		require.EqualValues(t, 4096+2*4*part, has(), "rank %d fills both belts, and no stage", i)
	}
	for i, b := range boards {
		(&board.Op{Call: &coll.Call{Op: coll.Barrier, Rank: i, Ranks: 2}}).Begin(b)
	}
	runtime.KeepAlive(memory)
}

// What is on a rank's belt stays there until the other one has read it, though it is full, and the rank waits: more goes to its place.
func TestWhatIsOnTheBeltStays(t *testing.T) {
	const n, calls = 4096, 6 // of which the belt holds two
	for _, inC := range []bool{true, false} {
		boards, views, stages := belted(beltPart)
		perform := func(rank int, seed int64) {
			x, want := (&call{op: coll.Bcast, n: n, seed: seed}).part(rank, 2)
			if inC {
				require.True(t, boardc.Perform(views[rank], x, n))
			} else {
				o := &board.Op{Call: x}
				o.Begin(boards[rank])
				require.True(t, o.Step())
			}
			require.Equal(t, want, x.Recv)
		}
		for seed := range int64(calls) {
			perform(0, seed)
		}
		x, _ := (&call{op: coll.Barrier}).part(0, 2)
		require.False(t, boardc.Perform(views[0], x, 0))
		require.NotZero(t, slices.Max(stages[beltPart/2:]))
		for seed := range int64(calls) {
			perform(1, seed)
		}
	}
}

// Where the belt has no memory yet nothing is prepared: page by page that would take longer.
func TestABeltWithoutMemoryIsNotPrepared(t *testing.T) {
	const n, at, part = 4096, 128 << 10, 64 << 10 // it gets so much memory at a time
	boards, views, stages := belted(part)
	defer runtime.KeepAlive(boards) // a view keeps nothing
	rest := stages[part+at : 5*part]
	for i := range rest {
		rest[i] = 1
	}
	for range at / n {
		for i, v := range views {
			x, _ := (&call{op: coll.Bcast, n: n}).part(i, 2)
			require.True(t, boardc.Perform(v, x, n))
		}
		ask(views[0], gauges/2, func() across.Form { return across.Cold }) // the peer may have found out that another form is sooner
	}
	require.NotZero(t, slices.Max(stages[part+at-n:part+at]), "the memory is in use")
	require.True(t, mem.Deref[across.Gauge](gaugeAt(views[0], gauges/2)).Prepares(n))
	x, _ := (&call{op: coll.Barrier}).part(0, 2)
	require.False(t, boardc.Perform(views[0], x, 0))
	require.NotZero(t, slices.Min(rest))
}

// The twin says of what it prepares, and of nothing else, that it does: cold blocks of that may be a little slower when they are timed.
func TestTheTwinSaysWhatItPrepares(t *testing.T) {
	const copies, folds, loans, perRank = 0, 1, 2, gauges / 2
	for me := range 2 {
		memory := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*4096)/8))
		defer runtime.KeepAlive(memory) // a view keeps nothing
		v := new(board.View)
		board.Open(memory, most, me, 2).View(v, board.Berths{})
		for reader := range 2 {
			for k, prepared := range map[int]bool{copies: true, folds: true, loans: false} {
				g := mem.Deref[across.Gauge](gaugeAt(v, reader*perRank+k))
				for form, took := range []uint64{across.Hot: 5000, across.Cold: 5500, across.Around: 6000, across.Lent: 6000} {
					for range 2 {
						g.Note(across.Tell(across.Form(form), 4096, took/2), took/2, across.OrLent|1<<across.Around)
					}
				}
				want := across.Hot
				if prepared && reader == me {
					want = across.Cold
				}
				require.Equal(t, want, g.Way(4096, across.OrLent|1<<across.Around).Form, "rank %d, reader %d, gauge %d", me, reader, k)
			}
		}
	}
}

// Who waits makes its own what it writes next on its belt: a word of each line; but not of a block that will be timed.
func TestWhoWaitsPreparesTheBelt(t *testing.T) {
	const n, perRank = 4096, gauges / 2
	boards, views, stages := belted(beltPart)
	g := mem.Deref[across.Gauge](gaugeAt(views[0], perRank)) // of what rank 1 copies
	rest := stages[beltPart : 5*beltPart]
	var times [2]int
	for range 200 {
		ask(views[0], perRank, func() across.Form { return across.Cold }) // the peer would find out that another form is sooner
		for i, v := range views {
			x, _ := (&call{op: coll.Bcast, n: n}).part(i, 2)
			require.True(t, boardc.Perform(v, x, n))
		}
		for i := range rest {
			rest[i] = 1
		}
		var barrier [2]*coll.Call
		for i := range barrier {
			barrier[i], _ = (&call{op: coll.Barrier}).part(i, 2)
		}
		prepares := g.Prepares(n)
		require.False(t, boardc.Perform(views[0], barrier[0], 0))
		words := 0
		for at := 0; at < len(rest); at += mem.CacheLine {
			if *(*uint64)(unsafe.Pointer(&rest[at])) == 0 {
				words++
			}
		}
		require.Equal(t, 8*words, bytes.Count(rest, []byte{0}), "a word of each line")
		if prepares {
			require.Equal(t, n/mem.CacheLine, words)
			times[1]++
		} else {
			require.Zero(t, words)
			times[0]++
		}
		require.True(t, boardc.Perform(views[1], barrier[1], 0))
		require.True(t, inGo(boards[0], barrier[0]).Step())
	}
	require.NotZero(t, times[0])
	require.NotZero(t, times[1])
}
