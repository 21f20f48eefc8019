package coll

// scatterBinomial goes down a binomial tree: a rank gets the blocks of its
// subtree together (thesis, chapter 4).
func scatterBinomial(s *Schedule) {
	r := s.relative()
	bit := s.parent(r)
	if r == 0 {
		s.scatterRoot(bit)
		return
	}
	span, n := s.span(r, bit), len(s.Recv)
	if span == 1 {
		s.recv(s.real(r-bit), s.Recv)
		return
	}
	all := s.Temp(span * n)
	s.recv(s.real(r-bit), all)
	s.wait()
	for b := bit >> 1; b > 0; b >>= 1 {
		if b < span {
			s.send(s.real(r+b), all[b*n:(b+s.span(r+b, b))*n])
		}
	}
	s.copy(s.Recv, all[:n])
}

func (s *Schedule) scatterRoot(top int) {
	n := s.SendBlocks.Size(0)
	for b := top >> 1; b > 0; b >>= 1 {
		if b >= s.Ranks {
			continue
		}
		at, span := s.real(b), s.span(b, b)
		if at+span <= s.Ranks {
			s.send(at, s.Send[at*n:(at+span)*n])
			continue
		}
		// The blocks of this subtree go on at rank 0.
		all, tail := s.Temp(span*n), (s.Ranks-at)*n
		s.copy(all[:tail], s.Send[at*n:])
		s.copy(all[tail:], s.Send[:span*n-tail])
		s.send(at, all)
	}
	s.copyIn(s.Recv, s.sendBlock(s.Root))
}

// scatterLinear lets the root send its block to every rank.
func scatterLinear(s *Schedule) {
	if s.Rank != s.Root {
		s.recv(s.Root, s.Recv)
		return
	}
	for i := range s.Ranks {
		if i != s.Root {
			s.send(i, s.sendBlock(i))
		}
	}
	s.copyIn(s.Recv, s.sendBlock(s.Root))
}
