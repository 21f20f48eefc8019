package coll

// allgatherRing lets every block travel around the ring. The caller's own leaves from
// where it is, and is copied into its place meanwhile.
func allgatherRing(s *Schedule) {
	for i := range s.Ranks - 1 {
		s.recv(s.down(1), s.recvBlock(s.down(i+1)))
		if i == 0 && !s.InPlace {
			s.send(s.up(1), s.Send)
			s.copy(s.recvBlock(s.Rank), s.Send)
		} else {
			s.send(s.up(1), s.recvBlock(s.down(i)))
		}
		s.wait()
	}
	if s.Ranks == 1 {
		s.copyIn(s.recvBlock(0), s.Send)
	}
}

// allgatherBruck doubles what each rank has in every round. The blocks lie in
// scratch memory, beginning with the caller's own.
func allgatherBruck(s *Schedule) {
	if s.Ranks == 1 {
		s.copyIn(s.recvBlock(0), s.Send)
		return
	}
	off := s.offsets(&s.RecvBlocks)
	total := off[s.Ranks]
	// bytes of the k blocks that begin at rank i, around the end
	sum := func(i, k int) int {
		if i+k <= s.Ranks {
			return off[i+k] - off[i]
		}
		return total - off[i] + off[i+k-s.Ranks]
	}
	all := s.Temp(total)
	own := s.Send
	if s.InPlace {
		own = s.recvBlock(s.Rank)
	}
	s.copy(all[:sum(s.Rank, 1)], own)
	for d := 1; d < s.Ranks; d *= 2 {
		k := min(d, s.Ranks-d)
		have := sum(s.Rank, d)
		s.recv(s.up(d), all[have:have+sum(s.up(d), k)])
		s.send(s.down(d), all[:sum(s.Rank, k)])
		s.wait()
	}
	if s.RecvBlocks.Counts == nil && s.RecvBlocks.Each == nil {
		tail := total - off[s.Rank]
		s.copy(s.Recv[off[s.Rank]:total], all[:tail])
		s.copy(s.Recv[:total-tail], all[tail:])
		return
	}
	at := 0
	for i := range s.Ranks {
		b := s.recvBlock(s.up(i))
		s.copy(b, all[at:at+len(b)])
		at += len(b)
	}
}
