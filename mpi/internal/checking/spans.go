package checking

import (
	"slices"

	"github.com/exanet-mpi/exanet/datatype"
)

// Span is memory that a pending request uses.
type Span struct {
	From, To uint64 // addresses
	Write    bool
	View     datatype.View // where within it, if there are gaps
	base     uint64        // of View
	Owner    any
}

// SpanOf is the span of data, which begin at an address.
func SpanOf(v datatype.View, base uint64, write bool, owner any) *Span {
	from, to := v.Span()
	s := &Span{From: base + uint64(from), To: base + uint64(to), Write: write, base: base, Owner: owner}
	if to-from > v.Size() {
		s.View = v
	}
	return s
}

// Spans are those of all pending requests of a rank, in the order of their beginnings.
type Spans struct {
	list    []*Span
	longest uint64 // so far
}

// Add adds a span.
func (l *Spans) Add(s *Span) {
	if s.From >= s.To {
		return
	}
	l.longest = max(l.longest, s.To-s.From)
	l.list = slices.Insert(l.list, l.after(s.From), s)
}

// Remove takes a span out, if it is there.
func (l *Spans) Remove(s *Span) {
	for i := l.after(s.From) - 1; i >= 0 && l.list[i].From == s.From; i-- {
		if l.list[i] == s {
			l.list = slices.Delete(l.list, i, i+1)
			return
		}
	}
}

// after is the index of the first span that begins behind an address.
func (l *Spans) after(from uint64) int {
	i, _ := slices.BinarySearchFunc(l.list, from+1, func(s *Span, at uint64) int {
		if s.From < at {
			return -1
		}
		return 1
	})
	return i
}

// Conflict returns a span that must not be in use together with s: they overlap, and one is written
// to.
func (l *Spans) Conflict(s *Span) *Span {
	if s.From >= s.To {
		return nil
	}
	for i := l.after(s.To-1) - 1; i >= 0 && l.list[i].From+l.longest > s.From; i-- {
		if t := l.list[i]; (s.Write || t.Write) && t.To > s.From && overlap(s, t) {
			return t
		}
	}
	return nil
}

// mostPieces bounds what is looked at of data with gaps; beyond it nothing is said.
const mostPieces = 1 << 14

// overlap reports whether any piece of one span lies in a piece of the other.
func overlap(a, b *Span) bool {
	x, y := a.pieces(), b.pieces()
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0][1] <= y[0][0]:
			x = x[1:]
		case y[0][1] <= x[0][0]:
			y = y[1:]
		default:
			return true
		}
	}
	return false
}

// pieces are where the data lie, in ascending order.
func (s *Span) pieces() [][2]uint64 {
	if s.View.Type == nil {
		return [][2]uint64{{s.From, s.To}}
	}
	n := s.View.Blocks()
	if n > mostPieces {
		return nil
	}
	segments, _ := s.View.Segments(make([]datatype.Segment, 0, n), 0, s.View.Size())
	list := make([][2]uint64, len(segments))
	for i, g := range segments {
		from := s.base + uint64(g.Off)
		list[i] = [2]uint64{from, from + uint64(g.Len)}
	}
	slices.SortFunc(list, func(a, b [2]uint64) int {
		if a[0] < b[0] {
			return -1
		}
		return 1
	})
	return list
}
