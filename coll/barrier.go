package coll

// barrierDissemination: in round m a rank signals the one 2^m behind it and
// waits for the one 2^m before it (thesis, chapter 4).
func barrierDissemination(s *Schedule) {
	for d := 1; d < s.Ranks; d *= 2 {
		s.recv(s.down(d), nil)
		s.send(s.up(d), nil)
		s.wait()
	}
}

// barrierTree gathers signals up a binomial tree to rank 0 and sends them down
// again: twice the rounds, but fewer messages.
func barrierTree(s *Schedule) {
	s.Root = 0
	bit := s.parent(s.Rank)
	for b := 1; b < bit && s.Rank+b < s.Ranks; b <<= 1 {
		s.recv(s.Rank+b, nil)
	}
	s.wait()
	if s.Rank != 0 {
		s.send(s.Rank-bit, nil)
	}
	bcastBinomial(s)
}
