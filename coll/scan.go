package coll

// scanDoubling doubles the distance in every round. total is what the caller's
// group of ranks adds up to, the result what those of them not above it do.
func scanDoubling(s *Schedule) {
	n := len(s.Recv)
	s.copyIn(s.Recv, s.Send)
	if s.Ranks == 1 {
		return
	}
	total, tmp := s.Temp(n), s.Temp(n)
	s.copy(total, s.Recv)
	s.doubling(total, tmp, func() { s.combine(tmp, s.Recv) })
}

// exscanDoubling is scanDoubling without the caller's own contribution.
func exscanDoubling(s *Schedule) {
	n := len(s.Recv)
	if s.Ranks == 1 {
		return
	}
	total, tmp := s.Temp(n), s.Temp(n)
	s.copy(total, s.input())
	first := true
	s.doubling(total, tmp, func() {
		if first {
			s.copy(s.Recv, tmp)
		} else {
			s.combine(tmp, s.Recv)
		}
		first = false
	})
}

// doubling calls below whenever tmp has the total of a group of lower ranks.
func (s *Schedule) doubling(total, tmp []byte, below func()) {
	for mask := 1; mask < s.Ranks; mask <<= 1 {
		peer := s.Rank ^ mask
		if peer >= s.Ranks {
			continue
		}
		s.recv(peer, tmp)
		s.send(peer, total)
		s.wait()
		switch last := 2*mask >= s.Ranks; {
		case peer < s.Rank:
			below()
			if !last {
				s.combine(tmp, total)
			}
		case last:
		case s.Commute:
			s.combine(tmp, total)
		default:
			s.combine(total, tmp)
			s.copy(total, tmp)
		}
	}
}

// scanLinear passes the result from rank to rank.
func scanLinear(s *Schedule) {
	s.copyIn(s.Recv, s.Send)
	if s.Rank > 0 {
		tmp := s.Temp(len(s.Recv))
		s.recv(s.Rank-1, tmp)
		s.wait()
		s.combine(tmp, s.Recv)
	}
	if s.Rank+1 < s.Ranks {
		s.send(s.Rank+1, s.Recv)
	}
}

// exscanLinear is scanLinear without the caller's own contribution.
func exscanLinear(s *Schedule) {
	next := s.input()
	if s.Rank > 0 {
		if s.Rank+1 < s.Ranks {
			next = s.Temp(len(s.Recv))
			s.copy(next, s.input())
		}
		s.recv(s.Rank-1, s.Recv)
		s.wait()
	}
	if s.Rank+1 < s.Ranks {
		if s.Rank > 0 {
			s.combine(s.Recv, next)
		}
		s.send(s.Rank+1, next)
	}
}
