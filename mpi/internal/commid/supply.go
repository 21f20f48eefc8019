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
	gens   []uint32 // by slot, of those that have been used
	free   []int
	vacant func(slot int) bool
}

// NewSupply makes the supply of a rank. A slot is given out only while vacant says so.
func NewSupply(leader int, vacant func(slot int) bool) Supply {
	return Supply{leader: leader, gens: make([]uint32, selfSlot+1), vacant: vacant}
}

// Take gives an ID out that is not in use and has never been, but for those returned.
func (s *Supply) Take() (ID, error) {
	for i, slot := range slices.Backward(s.free) {
		if s.vacant(slot) {
			s.free = slices.Delete(s.free, i, i+1)
			return of(s.leader, slot, s.gens[slot]), nil
		}
	}
	if len(s.gens) == slots {
		return ID{}, ErrTooMany
	}
	s.gens = append(s.gens, 0)
	return of(s.leader, len(s.gens)-1, 0), nil
}

// Return takes an ID back that no rank has opened.
func (s *Supply) Return(d ID) { s.free = append(s.free, d.Slot()) }

// Release takes back an ID whose communicator this rank has closed. A slot whose
// generations are used up is not used again: a rank may have seen none of them but the
// first.
func (s *Supply) Release(d ID) {
	if s.gens[d.Slot()]++; s.gens[d.Slot()] < generations {
		s.free = append(s.free, d.Slot())
	}
}
