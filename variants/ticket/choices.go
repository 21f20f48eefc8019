package ticket

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Choices tells what this rank has counted of the communicators that are open, and what it has come to: a line for each
// class.
func (p *Protocol) Choices(f func(line string)) {
	open := slices.SortedFunc(p.comms.All(), func(a, b *comm) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Gen, b.Gen))
	})
	for _, c := range open {
		for _, k := range sorted(c.sends) {
			f(fmt.Sprintf("communicator %d, sends to %s: %s", c.ID, k, c.sends[k]))
		}
		for _, k := range sorted(c.receives) {
			f(fmt.Sprintf("communicator %d, receives from %s: %s", c.ID, k, c.receives[k]))
		}
	}
}

func sorted[H any](m map[class]*H) []class {
	return slices.SortedFunc(maps.Keys(m), func(a, b class) int {
		return cmp.Or(cmp.Compare(a.peer, b.peer), cmp.Compare(a.bits, b.bits))
	})
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
