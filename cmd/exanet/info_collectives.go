package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/exanet-mpi/exanet/coll"
)

// printCollectives writes which algorithm serves which calls, with an override
// as in EXANET_COLL, as a table file that can be edited and used in its turn.
func printCollectives(w io.Writer, override string) error {
	s, err := coll.NewSelection(override)
	if err != nil {
		return usageErrorf("EXANET_COLL: %w", err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, "# The first row that fits a call counts: of at most so many bytes and ranks. The rows shared")
	fmt.Fprintln(&b, "# and direct are for blocking calls where ranks share memory, leaders for several hosts.")
	if s.File() != "" {
		fmt.Fprintf(&b, "# Rows with a line number come from %s.\n", s.File())
	}
	fmt.Fprintln(&b, coll.TableHead)
	for op := range coll.Collectives {
		rules := s.Rules(op)
		if forced := s.Forced(op); forced != "" {
			rules = []coll.Rule{{Algorithm: forced}}
		}
		for i, r := range rules {
			var notes []string
			if s.Forced(op) != "" {
				notes = append(notes, "forced")
			}
			if r.Line > 0 {
				notes = append(notes, fmt.Sprintf("line %d", r.Line))
			}
			if left := others(op, rules, i); len(left) > 0 {
				notes = append(notes, "others: "+strings.Join(left, ", "))
			}
			line := coll.Row{Op: op, Rule: r}.String()
			if len(notes) > 0 {
				line = fmt.Sprintf("%-58s# %s", line, strings.Join(notes, "; "))
			}
			fmt.Fprintln(&b, line)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// others lists, beside the first rule, the algorithms that no rule has.
func others(op coll.Collective, rules []coll.Rule, i int) (names []string) {
	if i > 0 {
		return nil
	}
	for _, a := range coll.Algorithms(op) {
		used := false
		for _, r := range rules {
			used = used || r.Algorithm == a.Name
		}
		if !used {
			names = append(names, a.Name)
		}
	}
	return names
}
