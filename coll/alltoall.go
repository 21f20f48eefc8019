package coll

// stage moves the blocks of a call in place to scratch memory, since what
// arrives takes their places.
func (s *Schedule) stage() {
	if !s.InPlace {
		return
	}
	off := s.offsets(&s.RecvBlocks)
	s.staged = s.Temp(off[s.Ranks])
	for i := range s.Ranks {
		if i != s.Rank {
			s.copy(s.staged[off[i]:off[i+1]], s.recvBlock(i))
		}
	}
}

// outgoing is the block for a rank, after stage.
func (s *Schedule) outgoing(i int) []byte {
	if s.InPlace {
		return s.staged[s.ints[i]:s.ints[i+1]]
	}
	return s.sendBlock(i)
}

// keepOwn copies what the caller sends to itself.
func (s *Schedule) keepOwn() {
	if !s.InPlace {
		s.copy(s.recvBlock(s.Rank), s.sendBlock(s.Rank))
	}
}

// alltoallPairwise exchanges with one rank a round.
func alltoallPairwise(s *Schedule) {
	s.stage()
	s.keepOwn()
	for i := 1; i < s.Ranks; i++ {
		to, from := s.up(i), s.down(i)
		s.recv(from, s.recvBlock(from))
		s.send(to, s.outgoing(to))
		s.wait()
	}
}

// alltoallLinear begins everything at once.
func alltoallLinear(s *Schedule) {
	s.stage()
	for i := 1; i < s.Ranks; i++ {
		from := s.down(i)
		s.recv(from, s.recvBlock(from))
	}
	for i := 1; i < s.Ranks; i++ {
		to := s.up(i)
		s.send(to, s.outgoing(to))
	}
	s.keepOwn()
}

// alltoallBruck sends blocks through others: block j, counted from the caller,
// makes the hops that are the bits of j. So there are log2 rounds, and each
// block travels log2 times at most.
func alltoallBruck(s *Schedule) {
	n := s.RecvBlocks.Size(0)
	src := s.Send
	if s.InPlace {
		src = s.Recv
	}
	src = src[:n*s.Ranks]
	all := s.Temp(n * s.Ranks)
	split := s.Rank * n
	s.copy(all[:len(all)-split], src[split:])
	s.copy(all[len(all)-split:], src[:split])
	half := (s.Ranks + 1) / 2 * n
	out, in := s.Temp(half), s.Temp(half)
	for d := 1; d < s.Ranks; d *= 2 {
		// The blocks of this round come in runs of d.
		at := 0
		for j := d; j < s.Ranks; j += 2 * d {
			run := all[j*n : min(j+d, s.Ranks)*n]
			s.copy(out[at:at+len(run)], run)
			at += len(run)
		}
		s.recv(s.down(d), in[:at])
		s.send(s.up(d), out[:at])
		s.wait()
		at = 0
		for j := d; j < s.Ranks; j += 2 * d {
			run := all[j*n : min(j+d, s.Ranks)*n]
			s.copy(run, in[at:at+len(run)])
			at += len(run)
		}
	}
	for j := range s.Ranks {
		from := s.down(j)
		s.copy(s.Recv[from*n:(from+1)*n], all[j*n:(j+1)*n])
	}
}
