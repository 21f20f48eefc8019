package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// codes says that the ways have had different exit codes, or nothing.
func codes(ways [2]Way, outcomes [2][]Outcome) string {
	var seen [2][]int
	for i, list := range outcomes {
		for _, o := range list {
			seen[i] = append(seen[i], o.Code)
		}
		slices.Sort(seen[i])
		seen[i] = slices.Compact(seen[i])
	}
	if slices.Equal(seen[0], seen[1]) {
		return ""
	}
	return fmt.Sprintf("exit codes differ: %v %s, %v %s", seen[0], ways[0].Name, seen[1], ways[1].Name)
}

// outputs says which line the ways have not in common, or nothing. Only what is the
// same in all runs of the first way can be compared.
func outputs(ways [2]Way, outcomes [2][]Outcome) string {
	for _, form := range []func(string) []string{sorted, shapes} {
		want := form(outcomes[0][0].All())
		if !steady(outcomes[0], form, want) {
			continue
		}
		for k, o := range outcomes[1] {
			if got := form(o.All()); !slices.Equal(want, got) {
				a, b := firstDifference(want, got)
				return fmt.Sprintf("outputs differ, first in run %d: %q %s, %q %s", k+1, a, ways[0].Name, b,
					ways[1].Name)
			}
		}
		break
	}
	return ""
}

// steady reports whether all outcomes have the same output in a form.
func steady(outcomes []Outcome, form func(string) []string, want []string) bool {
	return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return !slices.Equal(want, form(o.All())) })
}

// sorted are the lines of an output in an order of their own, since ranks print
// when they like, without what the library itself says.
func sorted(output string) []string {
	lines := slices.DeleteFunc(strings.Split(output, "\n"),
		func(l string) bool { return strings.HasPrefix(l, "exanet: ") })
	slices.Sort(lines)
	return lines
}

var (
	number = regexp.MustCompile(`[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)
	blanks = regexp.MustCompile(`[ \t]+`)
)

// shapes are the same without numbers, which are times perhaps.
func shapes(output string) []string {
	return sorted(blanks.ReplaceAllString(number.ReplaceAllString(output, "0"), " "))
}

// firstDifference returns the first line of each sorted list that the other has not.
func firstDifference(a, b []string) (string, string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	first := func(l []string) string {
		if len(l) == 0 {
			return ""
		}
		return l[0]
	}
	return first(a), first(b)
}
