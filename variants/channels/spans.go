package channels

// spans is a set of tickets, as ranges in serial order. Between two ranges lies
// at least one receive (or send) that is still outstanding, so their number is
// bounded by what the program has posted.
type spans []span

type span struct{ from, n uint32 }

// add puts a ticket in.
func (s *spans) add(t uint32) {
	i := 0
	for i < len(*s) && before((*s)[i].from+(*s)[i].n, t) {
		i++
	}
	switch {
	case i < len(*s) && (*s)[i].from+(*s)[i].n == t:
		(*s)[i].n++
		if i+1 < len(*s) && (*s)[i+1].from == t+1 {
			(*s)[i].n += (*s)[i+1].n
			*s = append((*s)[:i+1], (*s)[i+2:]...)
		}
	case i < len(*s) && (*s)[i].from == t+1:
		(*s)[i].from--
		(*s)[i].n++
	default:
		*s = append(*s, span{})
		copy((*s)[i+1:], (*s)[i:])
		(*s)[i] = span{t, 1}
	}
}

// pass returns the first ticket from next on that is not in the set, and
// removes what lies before it.
func (s *spans) pass(next uint32) uint32 {
	for len(*s) > 0 {
		first := (*s)[0]
		end := first.from + first.n
		switch {
		case !before(next, end): // passed altogether
		case before(next, first.from):
			return next
		default:
			next = end
		}
		*s = (*s)[:copy(*s, (*s)[1:])]
	}
	return next
}
