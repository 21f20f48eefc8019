package checking

import (
	"fmt"
	"slices"
	"strings"
)

// Wait is a call that waits. It can go on when each of its needs is met, and a need is met when one
// of its ranks can go on.
type Wait struct {
	Text  string
	Needs [][]int // ranks of the job; an empty need can be met by any
}

// Knot returns which ranks can never go on, in ascending order, of those that wait in calls. A rank
// that waits in several can go on when one of the calls can; one that waits in none can.
func Knot(ranks [][]Wait) (stuck []int) {
	free := make([]bool, len(ranks))
	for i, waits := range ranks {
		free[i] = len(waits) == 0
	}
	for moved := true; moved; {
		moved = false
		for i, waits := range ranks {
			if !free[i] && slices.ContainsFunc(waits, func(w Wait) bool { return w.met(i, free) }) {
				free[i], moved = true, true
			}
		}
	}
	for i := range ranks {
		if !free[i] {
			stuck = append(stuck, i)
		}
	}
	return stuck
}

// met reports whether a wait of a rank can end.
func (w *Wait) met(rank int, free []bool) bool {
	for _, need := range w.Needs {
		if len(need) == 0 {
			if slices.Contains(free, true) {
				continue
			}
			return false
		}
		if !slices.ContainsFunc(need, func(r int) bool { return r != rank && free[r] }) {
			return false
		}
	}
	return true
}

// Cycle describes a cycle of waits among the ranks of a knot, and how many ranks wait for it.
func Cycle(ranks [][]Wait, stuck []int) string {
	var path []int
	at := stuck[0]
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = next(ranks[at], at, stuck)
	}
	cycle := path[slices.Index(path, at):]
	parts := make([]string, len(cycle))
	for i, r := range cycle {
		parts[i] = fmt.Sprintf("rank %d waits in %s", r, ranks[r][0].Text)
	}
	text := strings.Join(parts, "; ")
	others := slices.DeleteFunc(slices.Clone(stuck), func(r int) bool { return slices.Contains(cycle, r) })
	for i, r := range others {
		if i == mostOthers {
			return text + fmt.Sprintf("; and %d more ranks", len(others)-i)
		}
		text += fmt.Sprintf("; rank %d in %s", r, ranks[r][0].Text)
	}
	return text
}

// mostOthers bounds how many ranks are named that wait for a cycle without being in it.
const mostOthers = 8

// next is a rank of the knot that a rank waits for.
func next(waits []Wait, rank int, stuck []int) int {
	for _, w := range waits {
		for _, need := range w.Needs {
			if len(need) == 0 {
				need = stuck
			}
			if !slices.ContainsFunc(need, func(r int) bool { return !slices.Contains(stuck, r) }) {
				if i := slices.IndexFunc(need, func(r int) bool { return r != rank }); i >= 0 {
					return need[i]
				}
			}
		}
	}
	return rank // it waits for itself
}
