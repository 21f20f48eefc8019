package auto

import (
	"cmp"
	"fmt"
	"slices"
)

// Lines tells what this rank has counted of the communicators that are open, and what it has come to: a line for each
// class, those of sends first.
func (h *Choices) Lines(f func(line string)) {
	if h == nil {
		return
	}
	type entry struct {
		class
		what   string
		counts fmt.Stringer
	}
	var all []entry
	for k, s := range h.sends {
		all = append(all, entry{k, "sends to", s})
	}
	for k, s := range h.receives {
		all = append(all, entry{k, "receives from", s})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.gen, b.gen), cmp.Compare(b.what, a.what),
			cmp.Compare(a.peer, b.peer), cmp.Compare(a.bits, b.bits))
	})
	for _, e := range all {
		f(fmt.Sprintf("communicator %d, %s %s: %s", e.id, e.what, e.class, e.counts))
	}
}

func (s *sends) String() string {
	form := "SEND_RNDV"
	switch {
	case s.first > s.last+s.crossed:
		form = "RECV_RNDV"
	case s.copies:
		form = "HYBRID"
	}
	all := s.first + s.last + s.crossed
	share := func(n uint64) uint64 { return (100*n + all/2) / all }
	return fmt.Sprintf("receiver first in %d %%, sender first in %d %%, both at once in %d %% of %d: %s",
		share(s.first), share(s.last), share(s.crossed), all, form)
}

func (s *receives) String() string {
	form := "advertised"
	if s.earned > 0 && s.silent > 0 {
		form = "silent"
	}
	return fmt.Sprintf("%d advertised for eager messages, %d silent: %s", s.stale, s.silent, form)
}

func (k class) String() string {
	size, unit := uint64(1)<<k.bits, "B"
	switch {
	case k.bits >= 20:
		size, unit = size>>20, "MiB"
	case k.bits >= 10:
		size, unit = size>>10, "KiB"
	}
	return fmt.Sprintf("rank %d, up to %d %s", k.peer, size, unit)
}
