package coll

import (
	"fmt"
	"math"
	"strings"
)

// Selection says which algorithm serves a call: that of the table, unless
// another is forced. All ranks of a job need the same.
type Selection struct {
	forced [Collectives]*Algorithm
	table  [Collectives][]choice
}

// choice is a Rule whose algorithm has been looked up.
type choice struct {
	bytes, ranks int
	algorithm    *Algorithm
}

// NewSelection makes the selection for an override: a comma-separated list of
// collective:algorithm, as "allreduce:ring,bcast:binomial", in which spaces do not matter; empty is none.
func NewSelection(override string) (*Selection, error) {
	s := new(Selection)
	for c := range Collectives {
		for _, r := range Rules(c) {
			s.table[c] = append(s.table[c], choice{r.Bytes, r.Ranks, find(c, r.Algorithm)})
		}
	}
	if strings.TrimSpace(override) == "" {
		return s, nil
	}
	for item := range strings.SplitSeq(override, ",") {
		c, a, err := parse(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		if had := s.forced[c]; had != nil {
			return nil, fmt.Errorf("%s is given twice: %s and %s", c, had.Name, a.Name)
		}
		s.forced[c] = a
	}
	return s, nil
}

func parse(item string) (Collective, *Algorithm, error) {
	name, algorithm, ok := strings.Cut(item, ":")
	if !ok {
		return 0, nil, fmt.Errorf("%q is not collective:algorithm", item)
	}
	name, algorithm = strings.TrimSpace(name), strings.TrimSpace(algorithm)
	for c := range Collectives {
		if c.String() != name {
			continue
		}
		if a := find(c, algorithm); a != nil {
			return c, a, nil
		}
		var have []string
		for _, a := range algorithms[c] {
			have = append(have, a.Name)
		}
		return 0, nil, fmt.Errorf("%s has no algorithm %q: it has %s", name, algorithm, strings.Join(have, ", "))
	}
	return 0, nil, fmt.Errorf("there is no collective %q: there are %s", name, strings.Join(names[:], ", "))
}

func find(c Collective, name string) *Algorithm {
	for i := range algorithms[c] {
		if a := &algorithms[c][i]; a.Name == name {
			return a
		}
	}
	return nil
}

// Forced returns the algorithm that is forced on a collective, "" if none is.
func (s *Selection) Forced(c Collective) string {
	if a := s.forced[c]; a != nil {
		return a.Name
	}
	return ""
}

// Shared reports whether a call is one for an algorithm that needs shared memory.
func (s *Selection) Shared(c *Call) bool {
	a := s.forced[c.Op]
	if a == nil {
		a = s.row(c, true)
	}
	return a.shared
}

// SharedUpTo is the size up to which calls of a collective are for shared memory, -1 if
// none is.
func (s *Selection) SharedUpTo(op Collective, ranks int) int {
	if a := s.forced[op]; a != nil {
		if a.shared {
			return math.MaxInt
		}
		return -1
	}
	switch r := s.table[op][0]; {
	case !r.algorithm.shared || r.ranks != 0 && ranks > r.ranks:
		return -1
	case r.bytes == 0:
		return math.MaxInt
	default:
		return r.bytes
	}
}

// row returns the algorithm of the first row that fits a call; those that need
// shared memory do not unless there is.
func (s *Selection) row(c *Call, shared bool) *Algorithm {
	rows := s.table[c.Op]
	if len(rows) > 1 {
		n := c.Bytes()
		for rows[0].bytes != 0 && n > rows[0].bytes || rows[0].ranks != 0 && c.Ranks > rows[0].ranks || rows[0].algorithm.shared && !shared {
			rows = rows[1:]
		}
	}
	return rows[0].algorithm
}

// Pick returns the algorithm for a call, of those that need no shared memory. One
// that reorders the ranks gives way to the first of the collective if the operator
// does not commute, even if it is forced.
func (s *Selection) Pick(c *Call) *Algorithm {
	a := s.forced[c.Op]
	if a == nil || a.shared {
		a = s.row(c, false)
	}
	if a.reorders && !c.Commute {
		return &algorithms[c.Op][0]
	}
	return a
}
