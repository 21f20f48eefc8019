package auto

// sends are the long sends of a class.
type sends struct {
	first, last, crossed uint64 // the receiver came first; last; both at once
	late                 int    // see Rule.Late
	copies               bool
}

// count adds one to n, which is one of its counts, and by to what makes it copy.
func (s *sends) count(rule *Rule, n *uint64, by int) {
	*n++
	s.late = min(max(0, s.late+by), rule.Late)
	switch s.late {
	case rule.Late:
		s.copies = true
	case 0:
		s.copies = false
	}
}

// receives are the long receives of a class that could be advertised.
type receives struct {
	stale, silent uint64 // advertised, but an eager message took it; not advertised
	earned        int    // see Rule.Silence
}

// silenceMost is for how many silent receives at a time a class earns.
const silenceMost = 64

func (s *receives) wasted(rule *Rule) {
	s.stale++
	s.earned = min(s.earned+1, silenceMost*rule.Silence)
}

// beSilent decides about a receive.
func (s *receives) beSilent(rule *Rule) bool {
	if s.earned < rule.Silence {
		return false
	}
	s.earned -= rule.Silence
	s.silent++
	return true
}

// spared is for a silent receive that an eager message has taken.
func (s *receives) spared(rule *Rule) { s.earned += rule.Silence }
