package interleave

import (
	"encoding/binary"
	"math/bits"
)

// Model says when stores become visible.
type Model uint8

const (
	SC   Model = iota // at once
	TSO               // late: x86
	Weak              // late, in any order, and loads are early: ARM64
)

func (m Model) String() string { return [...]string{"SC", "TSO", "Weak"}[m] }

// state is all that decides what can happen from here on.
type state struct {
	at     []*node
	mem    []uint64
	buffer [][]entry
	past   [][]old  // what a load of a rank may still read, in the order of time
	over   [][2]int // how much of past is over for some of what comes, see below
	asleep []bool   // in a futex wait
	fresh  []int    // stores at the end of a buffer behind which the rank has only stored
	fences []uint32 // the ranks that a membarrier waits for, and 1<<31 while it does
}

// What a part of the past is over for.
const (
	fenced  = iota // what comes behind an acquire fence
	ordered        // loads that are sequentially consistent, as those stores are that have become visible
)

// entry is a store that is not visible yet.
type entry struct {
	word            int32 // none: a release fence
	release, seqCst bool
	mask, val       uint64
}

// old is what bits of a word have been before a store.
type old struct {
	word      int32
	mask, val uint64
}

const none = -1

func (s *state) clone() *state {
	c := &state{
		at: append([]*node(nil), s.at...), mem: append([]uint64(nil), s.mem...),
		buffer: append([][]entry(nil), s.buffer...), past: append([][]old(nil), s.past...),
		over: append([][2]int(nil), s.over...), asleep: append([]bool(nil), s.asleep...),
		fresh: append([]int(nil), s.fresh...), fences: append([]uint32(nil), s.fences...),
	}
	for r := range c.buffer { // no two states append to the same
		c.buffer[r] = c.buffer[r][:len(c.buffer[r]):len(c.buffer[r])]
		c.past[r] = c.past[r][:len(c.past[r]):len(c.past[r])]
	}
	return c
}

// encode is the same for the same state, and for no other.
func (s *state) encode(b []byte) []byte {
	for _, v := range s.mem {
		b = binary.AppendUvarint(b, v)
	}
	for r, n := range s.at {
		b = binary.AppendUvarint(b, uint64(n.id))
		flags := uint64(s.fences[r]) << 1
		if s.asleep[r] {
			flags |= 1
		}
		b = binary.AppendUvarint(b, flags)
		b = binary.AppendUvarint(b, uint64(len(s.buffer[r])))
		b = binary.AppendUvarint(b, uint64(s.fresh[r]))
		for _, e := range s.buffer[r] {
			how := uint64(e.word+1) << 2
			if e.release {
				how |= 1
			}
			if e.seqCst {
				how |= 2
			}
			b = binary.AppendUvarint(b, how)
			b = binary.AppendUvarint(b, e.mask)
			b = binary.AppendUvarint(b, e.val)
		}
		b = binary.AppendUvarint(b, uint64(len(s.past[r])))
		b = binary.AppendUvarint(b, uint64(s.over[r][fenced]))
		b = binary.AppendUvarint(b, uint64(s.over[r][ordered]))
		for _, o := range s.past[r] {
			b = binary.AppendUvarint(b, uint64(o.word))
			b = binary.AppendUvarint(b, o.mask)
			b = binary.AppendUvarint(b, o.val)
		}
	}
	return b
}

func (s *state) ended(r int) bool { return s.at[r].op.kind >= done }

func (s *state) final() bool {
	for r := range s.at {
		if !s.ended(r) || len(s.buffer[r]) > 0 {
			return false
		}
	}
	return true
}

// step is what a rank, or its store buffer, does next.
type step struct {
	rank int
	what action
	i    int // which store, which value, which rank
	got  uint64
	to   *state
}

type action uint8

const (
	operate action = iota
	commit
	interrupt // by another's membarrier
	die
)

// steps calls do for each step from a state, until that returns false. A store into a
// buffer is a step that nobody else sees or prevents: there is no need to try others
// before it. A membarrier may yet come before it, see late.
func (m *search) steps(s *state, do func(step) bool) bool {
	for r := range s.at {
		if s.at[r].op.kind == store && m.buffers(&s.at[r].op) && len(s.buffer[r]) < m.room && !m.mayDie[r] {
			return m.operations(s, r, do)
		}
	}
	for r := range s.at {
		for i := range s.buffer[r] {
			if m.mayCommit(s.buffer[r], i) {
				c := s.clone()
				c.leave(m, r, i)
				if !do(step{rank: r, what: commit, i: i, to: c}) {
					return false
				}
			}
		}
		if s.ended(r) || s.asleep[r] {
			continue
		}
		if m.mayDie[r] {
			c := s.clone()
			c.at[r], c.fences[r] = m.dead[r], 0
			c.now(r)
			if !do(step{rank: r, what: die, to: c}) {
				return false
			}
		}
		if !m.operations(s, r, do) {
			return false
		}
	}
	return true
}

func (m *search) operations(s *state, r int, do func(step) bool) bool {
	o, drained := &s.at[r].op, len(s.buffer[r]) == 0
	// goOn is the step behind which the rank has got a value.
	goOn := func(c *state, i int, got uint64) bool {
		n, ok := m.ranks.after(r, s.at[r], got)
		if !ok {
			m.restart = true
			return false
		}
		c.at[r] = n
		if o.kind != store {
			c.fresh[r] = 0
		}
		if n.op.kind >= done {
			c.now(r)
		}
		return do(step{rank: r, i: i, got: got, to: c})
	}
	switch o.kind {
	case load:
		return m.loads(s, r, goOn)
	case store:
		switch {
		case m.buffers(o):
			if len(s.buffer[r]) >= m.room {
				return true
			}
			c := s.clone()
			c.fresh[r]++
			e := entry{o.word, o.order.releases(), o.order == SeqCst, o.mask, o.val & o.mask}
			c.buffer[r] = append(c.buffer[r], e)
			return goOn(c, 0, 0)
		case drained:
			c := s.clone()
			c.write(m, r, o.word, o.mask, o.val)
			return goOn(c, 0, 0)
		}
	case update:
		if !drained && (m.model != Weak || o.order.releases() || s.hides(r, o.word)) {
			return true
		}
		c := s.clone()
		was := c.mem[o.word]
		c.from(r, o.word, o.mask, c.moment(r, o.word, o.mask, len(c.past[r])), o.order)
		c.write(m, r, o.word, o.mask, o.result(was))
		c.order(r, o.order)
		return goOn(c, 0, was&o.mask>>o.shift)
	case fence:
		c := s.clone()
		switch {
		case o.order == SeqCst:
			if !drained {
				return true
			}
			c.now(r)
		case m.model == Weak:
			if o.order.acquires() {
				c.cut(r, c.over[r][fenced])
			}
			if o.order.releases() && !drained {
				c.buffer[r] = append(c.buffer[r], entry{word: none})
			}
		}
		return goOn(c, 0, 0)
	case membarrier:
		const running = 1 << 31
		if s.fences[r] == 0 {
			if !drained {
				return true
			}
			c := s.clone()
			c.now(r)
			c.fences[r] = running | (1<<len(s.at)-1)&^(1<<r)
			return do(step{rank: r, to: c})
		}
		for left := s.fences[r] &^ running; left != 0; left &= left - 1 {
			k := bits.TrailingZeros32(left)
			if s.late(k) {
				continue
			}
			c := s.clone()
			c.now(k)
			c.fences[r] &^= 1 << k
			if c.fences[r] != running {
				if !do(step{rank: r, what: interrupt, i: k, to: c}) {
					return false
				}
				continue
			}
			c.fences[r] = 0
			c.now(r)
			n, ok := m.ranks.after(r, s.at[r], 0)
			if !ok {
				m.restart = true
				return false
			}
			c.at[r] = n
			if !do(step{rank: r, what: interrupt, i: k, to: c}) {
				return false
			}
		}
	case futexWait:
		if !drained {
			return true
		}
		c := s.clone()
		c.now(r)
		if uint32(c.mem[o.word]>>o.shift) != uint32(o.val) {
			return goOn(c, 0, 0)
		}
		c.asleep[r] = true
		return do(step{rank: r, to: c})
	case futexWake:
		if !drained {
			return true
		}
		return m.wakes(s, r, goOn)
	}
	return true
}

// buffers reports whether a store is not visible at once.
func (m *search) buffers(o *op) bool { return m.model == Weak || m.model == TSO && o.order != SeqCst }

// late reports whether a fence of a rank, now or before its last stores, has to wait for stores.
func (s *state) late(r int) bool { return len(s.buffer[r]) > s.fresh[r] }

// wakes are the ways to wake as many sleepers as a futex call may.
func (m *search) wakes(s *state, r int, goOn func(*state, int, uint64) bool) bool {
	o := &s.at[r].op
	var sleepers uint
	for k := range s.at {
		if w := &s.at[k].op; s.asleep[k] && w.word == o.word && w.shift == o.shift {
			sleepers |= 1 << k
		}
	}
	n := min(bits.OnesCount(sleepers), int(o.val))
	for set := sleepers; ; set = (set - 1) & sleepers {
		if bits.OnesCount(set) == n {
			c := s.clone()
			c.now(r)
			for k := range s.at {
				if set&(1<<k) == 0 {
					continue
				}
				w, ok := m.ranks.after(k, s.at[k], 1)
				if !ok {
					m.restart = true
					return false
				}
				c.at[k], c.asleep[k] = w, false
			}
			if !goOn(c, int(set), 0) {
				return false
			}
		}
		if set == 0 {
			return true
		}
	}
}

// mayCommit reports whether a store may become visible before those in front of it.
func (m *search) mayCommit(b []entry, i int) bool {
	if m.model != Weak || b[i].release {
		return i == 0
	}
	for _, e := range b[:i] {
		if e.word == none || e.word == b[i].word && e.mask&b[i].mask != 0 {
			return false
		}
	}
	return b[i].word != none
}

// leave makes a store of a rank visible.
func (s *state) leave(m *search, r, i int) {
	before := len(s.buffer[r])
	e, rest := s.buffer[r][i], make([]entry, 0, before)
	rest = append(append(rest, s.buffer[r][:i]...), s.buffer[r][i+1:]...)
	for len(rest) > 0 && rest[0].word == none {
		rest = rest[1:]
	}
	s.buffer[r] = rest
	if i >= before-s.fresh[r] { // it was one of those
		s.fresh[r]--
	}
	s.fresh[r] = min(s.fresh[r], len(rest))
	s.write(m, r, e.word, e.mask, e.val)
	if e.seqCst {
		s.order(r, SeqCst)
	}
}

// order notes that a store of a rank has become visible.
func (s *state) order(r int, o Order) {
	if o == SeqCst {
		s.over[r][ordered] = len(s.past[r])
	}
}

// write is a store that is visible.
func (s *state) write(m *search, r int, word int32, mask, val uint64) {
	was := s.mem[word]
	s.mem[word] = was&^mask | val&mask
	if m.model != Weak || s.mem[word] == was {
		return
	}
	for q := range s.at {
		if q != r && !s.ended(q) && m.ranks.mem.loaded[m.words[word]]&(1<<q) != 0 {
			s.past[q] = append(s.past[q], old{word, mask, was & mask})
			s.cut(q, max(0, len(s.past[q])-m.room))
		}
	}
	s.forget(r, word, mask, len(s.past[r]))
}

// forget drops what bits of a word have been before a moment of a rank's past.
func (s *state) forget(r int, word int32, mask uint64, before int) {
	var kept []old
	over := s.over[r]
	for i, o := range s.past[r] {
		if o.word == word && i < before {
			o.mask &^= mask
			o.val &= o.mask
		}
		if o.mask != 0 {
			kept = append(kept, o)
			continue
		}
		for k := range over {
			if i < s.over[r][k] {
				over[k]--
			}
		}
	}
	s.past[r], s.over[r] = kept, over
}

// cut drops the past before a moment, and now all of it.
func (s *state) cut(r, moment int) {
	s.past[r] = s.past[r][moment:]
	for k := range s.over[r] {
		s.over[r][k] = max(0, s.over[r][k]-moment)
	}
}

func (s *state) now(r int) { s.past[r], s.over[r] = nil, [2]int{} }

// hides reports whether the rank has a store to a word that is not visible.
func (s *state) hides(r int, word int32) bool {
	for _, e := range s.buffer[r] {
		if e.word == word {
			return true
		}
	}
	return false
}

// moment returns since when in a rank's past bits of a word are what they are at another moment.
func (s *state) moment(r int, word int32, mask uint64, at int) int {
	for i := at - 1; i >= 0; i-- {
		if o := &s.past[r][i]; o.word == word && o.mask&mask != 0 {
			return i + 1
		}
	}
	return 0
}

// from notes that a rank has read bits of a word at a moment of its past: what it does
// behind an acquire comes behind that.
func (s *state) from(r int, word int32, mask uint64, moment int, o Order) {
	if o == SeqCst {
		moment = max(moment, s.over[r][ordered])
	}
	if o.acquires() {
		s.cut(r, moment)
		return
	}
	s.over[r][fenced] = max(s.over[r][fenced], moment)
	s.forget(r, word, mask, moment)
}

// loads are the values that a load may get.
func (m *search) loads(s *state, r int, goOn func(*state, int, uint64) bool) bool {
	o := &s.at[r].op
	var mask, val uint64 // of its own stores, the last first
	for i := len(s.buffer[r]) - 1; i >= 0; i-- {
		e := &s.buffer[r][i]
		if e.seqCst && o.order == SeqCst {
			return true // an LDAR waits for each STLR
		}
		if e.word == o.word {
			val |= e.val & e.mask &^ mask
			mask |= e.mask
		}
	}
	got := func(v uint64) uint64 { return (v&^mask | val) & o.mask >> o.shift }
	if o.mask&^mask != 0 {
		v := s.mem[o.word]
		for i := len(s.past[r]) - 1; i >= 0; i-- {
			p := &s.past[r][i]
			if p.word != o.word {
				continue
			}
			if v = v&^p.mask | p.val; p.mask&o.mask == 0 {
				continue
			}
			if o.order == SeqCst && i < s.over[r][ordered] {
				break
			}
			c := s.clone()
			c.from(r, o.word, o.mask, c.moment(r, o.word, o.mask, i), o.order)
			if !goOn(c, i+1, got(v)) {
				return false
			}
		}
	}
	c := s.clone()
	if o.mask&^mask != 0 {
		c.from(r, o.word, o.mask, c.moment(r, o.word, o.mask, len(c.past[r])), o.order)
	}
	return goOn(c, 0, got(s.mem[o.word]))
}
