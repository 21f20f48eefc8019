package coll

// Neighbour collectives: every rank exchanges with its neighbours in a virtual
// topology, all at once. Two ranks that are neighbours more than once match by
// the order in which both list each other; on a Cartesian ring of one or two,
// what is sent downwards arrives from above.

func neighborAllgather(s *Schedule) { s.neighbors(func(int) []byte { return s.Send }) }
func neighborAlltoall(s *Schedule)  { s.neighbors(s.sendBlock) }

func (s *Schedule) neighbors(out func(i int) []byte) {
	for i := range s.Sources {
		i = s.facing(i)
		if from := s.Sources[i]; from >= 0 && from != s.Rank {
			s.recv(from, s.recvBlock(i))
		}
	}
	for i, to := range s.Dests {
		if to >= 0 && to != s.Rank {
			s.send(to, out(i))
		}
	}
	// What a rank has for itself.
	j := 0
	for i := range s.Sources {
		i = s.facing(i)
		if s.Sources[i] != s.Rank {
			continue
		}
		for j < len(s.Dests) && s.Dests[j] != s.Rank {
			j++
		}
		if j == len(s.Dests) {
			return
		}
		s.copy(s.recvBlock(i), out(j))
		j++
	}
}

// facing is the order in which sources are served: above before below.
func (s *Schedule) facing(i int) int {
	if s.Cartesian {
		return i ^ 1
	}
	return i
}
