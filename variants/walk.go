package variants

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// InOrder yields the values of a map by rising keys. A protocol goes through its maps in this way wherever others can
// see the order: in what it sends, or in which of its requests ends first. So the same events always lead to the same
// actions. The value that it has yielded may be removed.
func InOrder[K cmp.Ordered, V any](m map[K]V) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(m[k]) {
				return
			}
		}
	}
}
