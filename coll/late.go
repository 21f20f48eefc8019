package coll

// BuildLate makes the schedule of those blocks of a Gatherv, Scatterv, Alltoallv or
// Alltoallw that are longer than so many bytes, where the others move through shared
// memory (see package board). It has no step that waits.
func (s *Schedule) BuildLate(most int) {
	s.Steps = s.Steps[:0]
	late := func(b []byte) bool { return len(b) > most }
	switch root := s.Rank == s.Root; {
	case s.Op == Gatherv && root:
		for i := range s.Ranks {
			if b := s.recvBlock(i); i != s.Root && late(b) {
				s.recv(i, b)
			}
		}
	case s.Op == Gatherv && late(s.Send):
		s.send(s.Root, s.Send)
	case s.Op == Scatterv && root:
		for i := range s.Ranks {
			if b := s.sendBlock(i); i != s.Root && late(b) {
				s.send(i, b)
			}
		}
	case s.Op == Scatterv && late(s.Recv):
		s.recv(s.Root, s.Recv)
	case s.Op == Alltoallv || s.Op == Alltoallw:
		s.stageLate(late)
		for i := 1; i < s.Ranks; i++ {
			if from := s.down(i); late(s.recvBlock(from)) {
				s.recv(from, s.recvBlock(from))
			}
		}
		for i := 1; i < s.Ranks; i++ {
			if to := s.up(i); !s.InPlace && late(s.sendBlock(to)) || s.InPlace && late(s.recvBlock(to)) {
				s.send(to, s.outgoing(to))
			}
		}
	}
}

// stageLate is stage, if a block is late.
func (s *Schedule) stageLate(late func([]byte) bool) {
	for i := range s.Ranks {
		if s.InPlace && i != s.Rank && late(s.recvBlock(i)) {
			s.stage()
			return
		}
	}
}
