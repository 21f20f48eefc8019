//go:build cgo

package boardc_test

import (
	"math"
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

// beltPart is how long a part of the belt is on the boards of belted: there are four, behind the stage.
const beltPart = 2560

// belted is a board of two that ask for cold copies, with stages and belts behind each other.
func belted() (boards [2]*board.Board, views [2]*board.View, stages []byte) {
	memory, stages := mem.Bytes(make([]uint64, (board.Fixed(most)+2*8*4096)/8)), make([]byte, 2*5*beltPart)
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

// What is on a rank's belt stays there until the other one has read it, though it is full, and the rank waits: more goes to its place.
func TestWhatIsOnTheBeltStays(t *testing.T) {
	const n, calls = 4096, 6 // of which the belt holds two
	for _, inC := range []bool{true, false} {
		boards, views, stages := belted()
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

// Who waits makes its own what it writes next on its belt: a word of each line.
func TestWhoWaitsPreparesTheBelt(t *testing.T) {
	const n = 4096
	_, views, stages := belted()
	for i, v := range views {
		x, _ := (&call{op: coll.Bcast, n: n}).part(i, 2)
		require.True(t, boardc.Perform(v, x, n))
	}
	rest := stages[beltPart+n : 5*beltPart]
	for i := range rest {
		rest[i] = 1
	}
	x, _ := (&call{op: coll.Barrier}).part(0, 2)
	require.False(t, boardc.Perform(views[0], x, 0))
	want := slices.Repeat([]byte{1}, len(rest))
	for at := 0; at < n; at += mem.CacheLine {
		clear(want[at : at+8])
	}
	require.Equal(t, want, rest)
}
