package coll

// relative is the caller's rank counted from the root, real the rank that has a
// number counted so.
func (s *Schedule) relative() int    { return (s.Rank - s.Root + s.Ranks) % s.Ranks }
func (s *Schedule) real(rel int) int { return (rel + s.Root) % s.Ranks }

// parent returns the lowest bit of a relative rank, which leads to its parent in
// the binomial tree; its children are found by the bits below. The root gets
// the first power of two that is not below the number of ranks.
func (s *Schedule) parent(rel int) (bit int) {
	for bit = 1; bit < s.Ranks && rel&bit == 0; bit <<= 1 {
	}
	return bit
}

// bcastBinomial goes down a binomial tree (thesis, chapter 4).
func bcastBinomial(s *Schedule) {
	r := s.relative()
	bit := s.parent(r)
	if r != 0 {
		s.recv(s.real(r-bit), s.Recv)
		s.wait()
	}
	for bit >>= 1; bit > 0; bit >>= 1 {
		if r+bit < s.Ranks {
			s.send(s.real(r+bit), s.Recv)
		}
	}
}

// bcastScatterRing scatters pieces down a binomial tree and lets each travel
// around a ring (van de Geijn): every rank handles the data twice, however many
// ranks there are.
func bcastScatterRing(s *Schedule) {
	r, n := s.relative(), len(s.Recv)
	cut := func(i int) int { return n/s.Ranks*min(i, s.Ranks) + min(n%s.Ranks, i) }
	piece := func(i int) []byte { return s.Recv[cut(i):cut(i+1)] }
	bit := s.parent(r)
	if r != 0 {
		s.recv(s.real(r-bit), s.Recv[cut(r):cut(min(r+bit, s.Ranks))])
		s.wait()
	}
	for bit >>= 1; bit > 0; bit >>= 1 {
		if r+bit < s.Ranks {
			s.send(s.real(r+bit), s.Recv[cut(r+bit):cut(min(r+2*bit, s.Ranks))])
		}
	}
	for i := range s.Ranks - 1 {
		s.recv(s.down(1), piece((r-i-1+s.Ranks)%s.Ranks))
		s.send(s.up(1), piece((r-i+s.Ranks)%s.Ranks))
		s.wait()
	}
}
