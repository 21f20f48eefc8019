package coll

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
)

// Selection says which algorithm serves a call: that of the table, unless
// another is forced. All ranks of a job need the same.
type Selection struct {
	forced [Collectives]*Algorithm
	table  [Collectives][]choice
	file   string // that rows of the table come from
	digest uint32 // of those
}

// choice is a Rule whose algorithm has been looked up.
type choice struct {
	Rule
	algorithm *Algorithm
}

// NewSelection makes the selection for an override: a comma-separated list of
// collective:algorithm, as "allreduce:ring,bcast:binomial", in which spaces do not matter; empty is none. An
// item @FILE has the rows of a table file (see ReadTable) come before those built in.
func NewSelection(override string) (*Selection, error) {
	s := new(Selection)
	var items []string
	if strings.TrimSpace(override) != "" {
		items = strings.Split(override, ",")
	}
	for _, item := range items {
		item = strings.TrimSpace(item)
		if file, ok := strings.CutPrefix(item, "@"); ok {
			if err := s.load(file); err != nil {
				return nil, err
			}
			continue
		}
		c, a, err := parse(item)
		if err != nil {
			return nil, err
		}
		if had := s.forced[c]; had != nil {
			return nil, fmt.Errorf("%s is given twice: %s and %s", c, had.Name, a.Name)
		}
		s.forced[c] = a
	}
	for c := range Collectives {
		for _, r := range Rules(c) {
			s.add(c, r)
		}
	}
	return s, nil
}

// load takes over the rows of a table file.
func (s *Selection) load(file string) error {
	if s.file != "" {
		return fmt.Errorf("there can be one table: %s or %s", s.file, file)
	}
	rows, err := ReadTable(file)
	if err != nil {
		return err
	}
	s.file = file
	h := fnv.New32a()
	for _, r := range rows {
		s.add(r.Op, r.Rule)
		fmt.Fprintln(h, r)
	}
	s.digest = h.Sum32()
	return nil
}

// add appends a row, unless no call would come to it.
func (s *Selection) add(c Collective, r Rule) {
	for i := range s.table[c] {
		if s.table[c][i].covers(&r) {
			return
		}
	}
	s.table[c] = append(s.table[c], choice{r, find(c, r.Algorithm)})
}

// Rules returns the rows of a collective that are in force, without regard to what is
// forced. The last fits every call.
func (s *Selection) Rules(c Collective) []Rule {
	var rules []Rule
	for _, r := range s.table[c] {
		rules = append(rules, r.Rule)
	}
	return rules
}

// File is the name of the table file, "" if there is none.
func (s *Selection) File() string { return s.file }

// String tells selections apart in a few words: the digest of the table file and what is
// forced. It is empty if there is neither.
func (s *Selection) String() string {
	var words []string
	if s.file != "" {
		words = append(words, fmt.Sprintf("table %08x", s.digest))
	}
	for c, a := range s.forced {
		if a != nil {
			words = append(words, Collective(c).String()+":"+a.Name)
		}
	}
	return strings.Join(words, ",")
}

func parse(item string) (Collective, *Algorithm, error) {
	name, algorithm, ok := strings.Cut(item, ":")
	if !ok {
		return 0, nil, fmt.Errorf("%q is not collective:algorithm", item)
	}
	return named(strings.TrimSpace(name), strings.TrimSpace(algorithm))
}

// named returns the collective of a name and its algorithm of a name.
func named(name, algorithm string) (Collective, *Algorithm, error) {
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
		return 0, nil, fmt.Errorf("%s has no algorithm %.40q: it has %s", name, algorithm, strings.Join(have, ", "))
	}
	return 0, nil, fmt.Errorf("there is no collective %.40q: there are %s", name, strings.Join(names[:], ", "))
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

// Shared reports whether a call is one for an algorithm that needs shared memory, and
// whether that is Direct.
func (s *Selection) Shared(c *Call) (ok, direct bool) {
	a := s.choose(c, true)
	return a.shared, a.Name == Direct
}

// SharedUpTo is the size up to which calls of a collective are for Shared, -1 if none is.
func (s *Selection) SharedUpTo(op Collective, ranks int) int {
	if a := s.forced[op]; a != nil && !a.led {
		if a.Name == Shared {
			return math.MaxInt
		}
		return -1
	}
	limit := -1
	for _, r := range s.table[op] {
		upTo := r.Bytes
		if upTo == 0 {
			upTo = math.MaxInt
		}
		if r.Ranks != 0 && ranks > r.Ranks || upTo <= limit || r.algorithm.led {
			continue
		}
		if r.Algorithm != Shared {
			break
		}
		limit = upTo
	}
	return limit
}

// choose returns the algorithm that is forced on a call, if that can serve it, else that of the first row that
// fits; those that need shared memory do not unless there is.
func (s *Selection) choose(c *Call, shared bool) *Algorithm {
	if a := s.forced[c.Op]; a != nil && a.serves(c, shared) {
		return a
	}
	rows := s.table[c.Op]
	if len(rows) > 1 {
		n := c.Bytes()
		for rows[0].Bytes != 0 && n > rows[0].Bytes || rows[0].Ranks != 0 && c.Ranks > rows[0].Ranks ||
			!rows[0].algorithm.serves(c, shared) {
			rows = rows[1:]
		}
	}
	return rows[0].algorithm
}

// Pick returns the algorithm for a call, of those that need no shared memory. One
// that reorders the ranks gives way to the first of the collective if the operator
// does not commute, even if it is forced.
func (s *Selection) Pick(c *Call) *Algorithm {
	a := s.choose(c, false)
	if a.reorders && !c.Commute {
		return &algorithms[c.Op][0]
	}
	return a
}
