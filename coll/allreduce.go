package coll

// allreduceDoubling combines with a partner twice as far in every round
// (recursive doubling; thesis, chapter 4: up to 2048 bytes).
func allreduceDoubling(s *Schedule) {
	c, a := s.cube(-1), s.start(s.Recv)
	n := len(s.Recv)
	if s.borrow(&c, &a) {
		for mask := 1; mask < c.pow; mask <<= 1 {
			peer, lower := c.rank(c.v^mask), c.v&mask != 0
			a.recv(peer, 0, n, lower)
			s.send(peer, a.data)
			s.wait()
			a.merge(0, n, lower)
		}
		a.settle()
	}
	s.repay(&c)
}

// repay gives the lenders the result. It may land where the lent data is: it
// depends on them, so they have left.
func (s *Schedule) repay(c *cube) {
	switch {
	case c.v < 0:
		s.recv(c.partner, s.Recv)
	case c.partner >= 0:
		s.send(c.partner, s.Recv)
	}
}

// allreduceRabenseifner scatters the reduction and gathers its pieces: every
// rank handles the data about twice (thesis, chapter 4: above 2048 bytes).
func allreduceRabenseifner(s *Schedule) {
	c, a := s.cube(-1), s.start(s.Recv)
	if s.borrow(&c, &a) {
		cuts, mine := s.scatterHalves(&c, &a)
		a.settle()
		round := c.rounds()
		for mask := c.pow >> 1; mask > 0; mask >>= 1 {
			round--
			peer, rest := c.rank(c.v^mask), mine.other(cuts[round])
			s.recv(peer, s.Recv[rest.lo:rest.hi])
			s.send(peer, s.Recv[mine.lo:mine.hi])
			s.wait()
			mine = cuts[round]
		}
	}
	s.repay(&c)
}

// allreduceRing lets pieces travel around the ring twice: the first time they
// are combined, the second time they are spread.
func allreduceRing(s *Schedule) {
	n := len(s.Recv) / s.Elem
	cut := func(i int) int { return (n/s.Ranks*i + min(n%s.Ranks, i)) * s.Elem }
	in, p := s.input(), s.Ranks
	if p == 1 {
		s.copyIn(s.Recv, in)
		return
	}
	var tmp []byte
	if s.InPlace {
		tmp = s.Temp(cut(1))
	}
	piece := s.Rank
	data := in[cut(piece):cut(piece+1)]
	for range p - 1 {
		next := (piece - 1 + p) % p
		lo, hi := cut(next), cut(next+1)
		home := s.Recv[lo:hi]
		land := home
		if s.InPlace {
			land = tmp[:hi-lo]
		}
		s.recv(s.down(1), land)
		s.send(s.up(1), data)
		s.wait()
		if s.InPlace {
			s.combine(land, home)
		} else {
			s.combine(in[lo:hi], home)
		}
		piece, data = next, home
	}
	for range p - 1 {
		next := (piece - 1 + p) % p
		s.recv(s.down(1), s.Recv[cut(next):cut(next+1)])
		s.send(s.up(1), s.Recv[cut(piece):cut(piece+1)])
		s.wait()
		piece = next
	}
}

// allreduceTree reduces up a binomial tree to rank 0 and sends the result down:
// twice the rounds of recursive doubling, but fewer messages.
func allreduceTree(s *Schedule) {
	s.Root = 0
	bit := s.parent(s.Rank)
	a := s.start(s.Recv)
	s.climb(&a, bit)
	if s.Rank != 0 {
		s.send(s.Rank-bit, a.data)
	} else {
		a.settle()
	}
	bcastBinomial(s)
}
