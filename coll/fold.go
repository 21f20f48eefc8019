package coll

import "math/bits"

// What the reductions share.

// acc is a rank's partial result of a reduction. It begins as the caller's
// input, which must not be written, and moves to memory of its own, the home,
// when something is combined with it. Where a rank goes on with a part of the
// vector only, only that part moves.
type acc struct {
	s          *Schedule
	data, home []byte
	moved      bool // data is home
	tmp        []byte
}

// start makes the partial result of a call, with home as its memory.
func (s *Schedule) start(home []byte) acc {
	a := acc{s: s, data: s.input(), home: home}
	a.moved = s.InPlace && len(home) > 0 && &a.data[0] == &home[0]
	return a
}

// settle makes home the place of a partial result that nothing was combined
// with.
func (a *acc) settle() {
	if !a.moved {
		a.s.copy(a.home, a.data)
		a.data, a.moved = a.home, true
	}
}

// recv receives what peer has for [lo,hi) of the vector, and merge combines it
// once it has arrived; lower says that it is of lower ranks.
func (a *acc) recv(peer, lo, hi int, lower bool) {
	a.s.recv(peer, a.landing(lo, hi, lower))
}

// atHome reports whether a part is received where it is combined.
func (a *acc) atHome(lower bool) bool { return !a.moved && (a.s.Commute || !lower) }

func (a *acc) landing(lo, hi int, lower bool) []byte {
	if a.atHome(lower) {
		return a.home[lo:hi]
	}
	if cap(a.tmp) < hi-lo {
		a.tmp = a.s.Temp(hi - lo)
	}
	return a.tmp[:hi-lo]
}

func (a *acc) merge(lo, hi int, lower bool) {
	s, home, part := a.s, a.home[lo:hi], a.landing(lo, hi, lower)
	switch {
	case a.atHome(lower):
		s.combine(a.data[lo:hi], home)
	case s.Commute || lower:
		if !a.moved {
			s.copy(home, a.data[lo:hi])
		}
		s.combine(part, home)
	default:
		s.combine(home, part)
		s.copy(home, part)
	}
	a.data, a.moved = a.home, true
}

// cube numbers a power of two of the ranks, so that algorithms can pair them by
// their bits. Of the first 2*extra ranks one of each pair lends its data to the
// other, which has a number. Numbers rise with ranks.
type cube struct {
	pow, extra int
	v          int // the caller's number, -1: it lends
	partner    int // of the caller, among the first 2*extra; else -1
	keep       int // a rank that does not lend, -1: no matter which
}

func (s *Schedule) cube(keep int) cube {
	c := cube{pow: 1, partner: -1, keep: keep}
	for 2*c.pow <= s.Ranks {
		c.pow *= 2
	}
	c.extra = s.Ranks - c.pow
	if s.Rank >= 2*c.extra {
		c.v = s.Rank - c.extra
		return c
	}
	c.partner = s.Rank ^ 1
	c.v = s.Rank / 2
	if c.rank(c.v) != s.Rank {
		c.v = -1
	}
	return c
}

// rank returns the rank with a number.
func (c *cube) rank(v int) int {
	switch {
	case v >= c.extra:
		return v + c.extra
	case c.keep == 2*v:
		return 2 * v
	}
	return 2*v + 1
}

// rounds is the number of doublings.
func (c *cube) rounds() int { return bits.Len(uint(c.pow)) - 1 }

// borrow lets the lenders give their data away. It reports false for a lender,
// which is left out of what follows.
func (s *Schedule) borrow(c *cube, a *acc) bool {
	switch {
	case c.v < 0:
		s.send(c.partner, a.data)
		return false
	case c.partner >= 0:
		n := len(a.data)
		a.recv(c.partner, 0, n, c.partner < s.Rank)
		s.wait()
		a.merge(0, n, c.partner < s.Rank)
	}
	return true
}

// part is a range of a vector.
type part struct{ lo, hi int }

// halves cuts a range between elements.
func (p part) halves(elem int) (low, high part) {
	mid := p.lo + (p.hi-p.lo)/elem/2*elem
	return part{p.lo, mid}, part{mid, p.hi}
}

// most is the largest number of doublings.
const most = 32

// scatterHalves is the first half of Rabenseifner's algorithms: in each round
// a rank keeps one half of its range and gives the other to its partner,
// nearest partners first, so that the order of ranks is kept. It returns the
// ranges before each round, and the one that the caller has in the end.
func (s *Schedule) scatterHalves(c *cube, a *acc) (cuts [most]part, mine part) {
	mine = part{0, len(a.data)}
	round := 0
	for mask := 1; mask < c.pow; mask <<= 1 {
		cuts[round] = mine
		round++
		peer := c.rank(c.v ^ mask)
		keep, give := mine.halves(s.Elem)
		lower := c.v&mask != 0 // the partner is below
		if lower {
			keep, give = give, keep
		}
		a.recv(peer, keep.lo, keep.hi, lower)
		s.send(peer, a.data[give.lo:give.hi])
		s.wait()
		a.merge(keep.lo, keep.hi, lower)
		mine = keep
	}
	return cuts, mine
}

// other is what a part of whole leaves.
func (p part) other(whole part) part {
	if p.lo == whole.lo {
		return part{p.hi, whole.hi}
	}
	return part{whole.lo, p.lo}
}
