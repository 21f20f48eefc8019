package commid

import (
	"errors"
	"slices"
)

// ErrTooMany is the error of Take when all slots are in use.
var ErrTooMany = errors.New("too many communicators")

// Supply has the slots of a rank. The slot that was freed last is the first used again,
// so that the ranks see few numbers, unless it is not vacant yet.
type Supply struct {
	leader int
	parts  [2]part
	vacant func(d ID) bool
}

// part is the slots of a part, which begin with first and end before end.
type part struct {
	first, end int
	gens       []uint32 // of those that have been used
	free       []int
}

// The parts of a Supply: slots of communicators that may have an area for collectives, and others.
const (
	WithArea = iota
	WithoutArea
)

// NewSupply makes the supply of a rank, of which so many slots have areas. A slot is given out only while
// vacant says so.
func NewSupply(leader, areas int, vacant func(d ID) bool) Supply {
	first := selfSlot + 1
	border := max(first, areas)
	parts := [2]part{{first: first, end: border}, {first: border, end: slots}}
	return Supply{leader: leader, parts: parts, vacant: vacant}
}

// Take gives an ID of the first of the parts out that has one which is not in use and has never been, but
// for those returned.
func (s *Supply) Take(parts ...int) (ID, error) {
	for _, which := range parts {
		p := &s.parts[which]
		for i, slot := range slices.Backward(p.free) {
			if d := of(s.leader, slot, p.gens[slot-p.first]); s.vacant(d) {
				p.free = slices.Delete(p.free, i, i+1)
				return d, nil
			}
		}
		if slot := p.first + len(p.gens); slot < p.end {
			p.gens = append(p.gens, 0)
			return of(s.leader, slot, 0), nil
		}
	}
	return ID{}, ErrTooMany
}

func (s *Supply) part(d ID) *part {
	if d.Slot() < s.parts[WithArea].end {
		return &s.parts[WithArea]
	}
	return &s.parts[WithoutArea]
}

// Return takes an ID back that no rank has opened.
func (s *Supply) Return(d ID) {
	p := s.part(d)
	p.free = append(p.free, d.Slot())
}

// Release takes back an ID whose communicator this rank has closed. A slot whose
// generations are used up is not used again: a rank may have seen none of them but the
// first.
func (s *Supply) Release(d ID) {
	p := s.part(d)
	gen := &p.gens[d.Slot()-p.first]
	if *gen++; *gen < generations {
		p.free = append(p.free, d.Slot())
	}
}
