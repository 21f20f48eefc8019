package host

import "sync/atomic"

// A claim is the word by which the two ends of a copy share it out. The data are
// divided into units; the writer takes them from the front and the reader from the
// back, each by a compare-and-swap, so that a unit is copied by one of them and
// whoever finds none left has nothing to do but to wait. Each adds what it has
// copied to the units done; the addition that makes all of them done tells its end
// that it is the last, and that the copy is complete.
//
//	bits  0-7   units taken from the front
//	bits  8-15  units taken from the back
//	bits 16-23  units done
//	bit  24     broken: one end could not copy what it took
//	bits 32-63  generation: which use of the word this is
//
// The writer owns the word. It begins a use when the one before is over, with the
// next generation, which is in every compare-and-swap: an end that comes late, with a
// copy that is over, changes nothing and gets nothing.
type claim struct{ atomic.Uint64 }

const (
	claimUnits  = 64 // into which a copy is divided, at most
	claimBack   = 8
	claimDone   = 16
	claimBroken = 1 << 24
	claimGen    = 32
	claimCount  = 0xff
)

// begin starts the next use of a word that nobody uses, and returns its generation.
func (c *claim) begin() uint32 {
	gen := uint32(c.Load()>>claimGen) + 1
	c.Store(uint64(gen) << claimGen)
	return gen
}

// take claims up to want of the units that are left, and returns the first and how
// many; none if all are taken or the use is over.
func (c *claim) take(gen uint32, units, want int, fromBack bool) (first, n int) {
	for {
		w := c.Load()
		front, back := int(w&claimCount), int(w>>claimBack&claimCount)
		n = min(want, units-front-back)
		if uint32(w>>claimGen) != gen || w&claimBroken != 0 || n <= 0 {
			return 0, 0
		}
		first, next := front, w+uint64(n)
		if fromBack {
			first, next = units-back-n, w+uint64(n)<<claimBack
		}
		if c.CompareAndSwap(w, next) {
			return first, n
		}
	}
}

// finish tells that n units have been copied, and reports whether they were the
// last.
func (c *claim) finish(gen uint32, units, n int) (last bool) {
	for {
		w := c.Load()
		if uint32(w>>claimGen) != gen || w&claimBroken != 0 {
			return false
		}
		if c.CompareAndSwap(w, w+uint64(n)<<claimDone) {
			return int(w>>claimDone&claimCount)+n == units
		}
	}
}

// giveUp tells the other end that units taken have not been copied.
func (c *claim) giveUp(gen uint32) {
	for {
		w := c.Load()
		if uint32(w>>claimGen) != gen || c.CompareAndSwap(w, w|claimBroken) {
			return
		}
	}
}

// claimState is what a look at the word tells of a use.
type claimState struct {
	over, broken bool // over: the word is used for something else
	left, done   int  // units
}

func (c *claim) look(gen uint32, units int) claimState {
	w := c.Load()
	front, back := int(w&claimCount), int(w>>claimBack&claimCount)
	return claimState{
		over: uint32(w>>claimGen) != gen, broken: w&claimBroken != 0,
		left: units - front - back, done: int(w >> claimDone & claimCount),
	}
}
