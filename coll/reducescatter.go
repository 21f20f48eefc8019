package coll

// reduceScatterHalving is recursive halving: in each round a rank gives away
// the half of its blocks that its partner is responsible for, farthest partners
// first. It changes the order of ranks.
func reduceScatterHalving(s *Schedule) {
	off := s.offsets(&s.RecvBlocks)
	in, out := s.input(), s.Recv[:s.RecvBlocks.Size(s.Rank)]
	c := s.cube(-1)
	if s.Ranks == 1 {
		s.copyIn(out, in[:len(out)])
		return
	}
	a := acc{s: s, data: in[:off[s.Ranks]]}
	if c.v >= 0 {
		a.home = s.Temp(off[s.Ranks])
	}
	if !s.borrow(&c, &a) {
		s.recv(c.partner, out) // depends on what was lent, which has left
		return
	}
	// first returns where the blocks of number v begin: a number has the
	// blocks of the rank that lent to it as well.
	first := func(v int) int {
		if v < c.extra {
			return off[2*v]
		}
		return off[v+c.extra]
	}
	lo := 0 // the numbers whose blocks the caller still handles: lo to lo+2*mask
	for mask := c.pow >> 1; mask > 0; mask >>= 1 {
		keep, give := lo, lo+mask
		if c.v&mask != 0 {
			keep, give = give, keep
		}
		kl, kh := first(keep), first(keep+mask)
		a.recv(c.rank(c.v^mask), kl, kh, false)
		s.send(c.rank(c.v^mask), a.data[first(give):first(give+mask)])
		s.wait()
		a.merge(kl, kh, false)
		lo = keep
	}
	if c.partner >= 0 {
		s.send(c.partner, a.data[off[c.partner]:off[c.partner+1]])
	}
	s.copy(out, a.data[off[s.Rank]:off[s.Rank+1]])
}

// reduceScatterPairwise gets a contribution to the caller's block from one rank
// a round: first from those below, nearest first, then from those above,
// farthest first, which keeps the order of ranks.
func reduceScatterPairwise(s *Schedule) {
	off := s.offsets(&s.RecvBlocks)
	in := s.input()
	block := func(i int) []byte { return in[off[i]:off[i+1]] }
	n := s.RecvBlocks.Size(s.Rank)
	out := s.Recv[:n]
	if s.Ranks == 1 {
		s.copyIn(out, block(0))
		return
	}
	sum := out
	if s.InPlace {
		sum = s.Temp(n) // the input is still needed
	}
	tmp := s.Temp(n)
	s.copy(sum, block(s.Rank))
	var above []byte
	for i := 1; i < s.Ranks; i++ {
		from, to := s.down(i), s.up(i)
		land := tmp
		if i == s.Rank+1 && !s.Commute {
			above = s.Temp(n)
			land = above
		}
		s.recv(from, land)
		s.send(to, block(to))
		s.wait()
		switch {
		case i <= s.Rank || s.Commute:
			s.combine(tmp, sum)
		case i > s.Rank+1:
			s.combine(tmp, above)
		}
	}
	if above != nil {
		s.combine(sum, above)
		sum = above
	}
	if s.InPlace || above != nil {
		s.copy(out, sum)
	}
}
