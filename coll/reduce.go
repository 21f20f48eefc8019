package coll

// reduceBinomial goes up a binomial tree (thesis, chapter 4: below 2048
// bytes). Operators that do not commute are combined in rank order, towards
// rank 0, which passes the result on.
func reduceBinomial(s *Schedule) {
	root := s.Root
	if !s.Commute {
		s.Root = 0
	}
	r := s.relative()
	bit := s.parent(r)
	var home []byte
	switch {
	case s.Rank == root && r == 0:
		home = s.Recv
	case bit > 1 && r+1 < s.Ranks: // it has children
		home = s.Temp(len(s.input()))
	}
	a := s.start(home)
	s.climb(&a, bit)
	if r != 0 {
		s.send(s.real(r-bit), a.data)
	}
	switch {
	case s.Root == root:
		if r == 0 {
			a.settle()
		}
	case r == 0:
		s.send(root, a.data)
	case s.Rank == root:
		s.recv(0, s.Recv) // depends on what was sent, which has left
	}
}

// climb combines what the children in the binomial tree have. Theirs are the
// ranks above the caller's.
func (s *Schedule) climb(a *acc, bit int) {
	r, n := s.relative(), len(a.data)
	for b := 1; b < bit; b <<= 1 {
		if r+b >= s.Ranks {
			break
		}
		a.recv(s.real(r+b), 0, n, false)
		s.wait()
		a.merge(0, n, false)
	}
}

// reduceRabenseifner scatters the reduction and gathers its pieces at the root
// (thesis, chapter 4: from 2048 bytes).
func reduceRabenseifner(s *Schedule) {
	c := s.cube(s.Root)
	home := s.Recv
	if s.Rank != s.Root {
		home = nil
		if c.v >= 0 {
			home = s.Temp(len(s.Send))
		}
	}
	a := s.start(home)
	if !s.borrow(&c, &a) {
		return
	}
	cuts, mine := s.scatterHalves(&c, &a)
	if s.Rank == s.Root {
		a.settle()
	}
	top := s.Root - c.extra // the root's number
	if s.Root < 2*c.extra {
		top = s.Root / 2
	}
	round := c.rounds()
	for mask := c.pow >> 1; mask > 0; mask >>= 1 {
		round--
		peer, rest := c.rank(c.v^mask), mine.other(cuts[round])
		if (c.v^top)&mask != 0 {
			s.send(peer, a.data[mine.lo:mine.hi])
			return
		}
		s.recv(peer, a.data[rest.lo:rest.hi])
		s.wait()
		mine = cuts[round]
	}
}
