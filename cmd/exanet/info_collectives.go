package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/exanet-mpi/exanet/coll"
)

// printCollectives writes which algorithm serves which calls, with an override
// as in EXANET_COLL.
func printCollectives(w io.Writer, override string) error {
	s, err := coll.NewSelection(override)
	if err != nil {
		return usageErrorf("EXANET_COLL: %w", err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "collective\tbytes\tranks\talgorithm\tothers")
	for op := range coll.Collectives {
		rules := coll.Rules(op)
		if forced := s.Forced(op); forced != "" {
			rules = []coll.Rule{{Algorithm: forced}}
		}
		for i, r := range rules {
			name, mark := op.String(), ""
			if i > 0 {
				name = ""
			}
			if s.Forced(op) != "" {
				mark = " (forced)"
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s%s\t%s\n", name, upTo(r.Bytes), upTo(r.Ranks), r.Algorithm, mark, strings.Join(others(op, rules, i), ", "))
		}
	}
	return t.Flush()
}

func upTo(n int) string {
	if n == 0 {
		return "any"
	}
	return fmt.Sprintf("to %d", n)
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
