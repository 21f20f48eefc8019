package coll

// span is how many relative ranks the subtree at rel has, rel itself included,
// if bit leads to its parent.
func (s *Schedule) span(rel, bit int) int { return min(bit, s.Ranks-rel) }

// gatherBinomial goes up a binomial tree: a rank passes on the blocks of its
// subtree together.
func gatherBinomial(s *Schedule) {
	r := s.relative()
	bit := s.parent(r)
	if r == 0 {
		s.gatherRoot(bit)
		return
	}
	span, n := s.span(r, bit), len(s.Send)
	all := s.Send
	if span > 1 {
		all = s.Temp(span * n)
		s.copy(all[:n], s.Send)
		for b := 1; b < span; b <<= 1 {
			s.recv(s.real(r+b), all[b*n:(b+s.span(r+b, b))*n])
		}
		s.wait()
	}
	s.send(s.real(r-bit), all)
}

func (s *Schedule) gatherRoot(top int) {
	n := s.RecvBlocks.Size(0)
	s.copyIn(s.recvBlock(s.Root), s.Send)
	var broken []byte // blocks of a subtree that go on at rank 0
	first := 0
	for b := 1; b < top; b <<= 1 {
		at, span := s.real(b), s.span(b, b)
		if at+span <= s.Ranks {
			s.recv(at, s.Recv[at*n:(at+span)*n])
		} else {
			first, broken = at, s.Temp(span*n)
			s.recv(at, broken)
		}
	}
	if broken != nil {
		s.wait()
		tail := (s.Ranks - first) * n
		s.copy(s.Recv[first*n:first*n+tail], broken[:tail])
		s.copy(s.Recv[:len(broken)-tail], broken[tail:])
	}
}

// gatherLinear lets every rank send its block to the root.
func gatherLinear(s *Schedule) {
	if s.Rank != s.Root {
		s.send(s.Root, s.Send)
		return
	}
	for i := range s.Ranks {
		if i != s.Root {
			s.recv(i, s.recvBlock(i))
		}
	}
	s.copyIn(s.recvBlock(s.Root), s.Send)
}
