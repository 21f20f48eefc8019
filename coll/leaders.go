package coll

import "slices"

// Where the ranks are on several hosts a message to another host costs much more than one to a rank nearby. So each
// host has a leader: within the host what all have goes to the leader, the leaders deal with each other, and
// each passes on the result. Each of these parts is a collective of its own among a few of the ranks, for
// which the built-in table has an algorithm.
//
// The leader is the host's first rank, or the root of the call if that is on the host. Reductions combine
// the ranks host by host: if the operator does not commute, each host must have ranks that follow each other.
// So must it for Gather and Allgather, whose blocks of one host then lie together.

// Leaders is the name of these algorithms.
const Leaders = "leaders"

// Hosts tells which ranks of a communicator are on the same host. It does not change.
type Hosts struct {
	of     []int   // by rank: its host, an index of what follows
	ranks  [][]int // of each host, from the lowest on
	sizes  []int   // of each host, in ranks
	blocks bool    // each host has ranks that follow each other
}

// NewHosts makes it of a number for each rank, which the ranks of a host have in common and nobody else has. It returns
// nil where leaders have nothing to do: the ranks are all on one host, or each is on one of its own.
func NewHosts(numbers []int) *Hosts {
	h := &Hosts{of: make([]int, len(numbers)), blocks: true}
	index := make(map[int]int)
	for rank, number := range numbers {
		i, known := index[number]
		if !known {
			i = len(h.ranks)
			index[number] = i
			h.ranks, h.sizes = append(h.ranks, nil), append(h.sizes, 0)
		}
		h.of[rank] = i
		h.blocks = h.blocks && i == len(h.ranks)-1
		h.ranks[i] = append(h.ranks[i], rank)
		h.sizes[i]++
	}
	if len(h.ranks) < 2 || len(h.ranks) == len(numbers) {
		return nil
	}
	return h
}

// led reports whether leaders can serve a call.
func (c *Call) led() bool {
	switch {
	case c.Hosts == nil:
		return false
	case c.Op == Reduce || c.Op == Allreduce:
		return c.Commute || c.Hosts.blocks
	case c.Op == Gather || c.Op == Allgather:
		return c.Hosts.blocks
	}
	return true
}

// lead returns the ranks of the caller's host, the one that leads them in a call with this root, and the leaders
// of all hosts, which are valid until the next lead.
func (s *Schedule) lead(root int) (near []int, leader int, leaders []int) {
	h := s.Hosts
	s.leaders = s.leaders[:0]
	for _, ranks := range h.ranks {
		s.leaders = append(s.leaders, ranks[0])
	}
	s.leaders[h.of[root]] = root
	mine := h.of[s.Rank]
	return h.ranks[mine], s.leaders[mine], s.leaders
}

// among appends what the caller does in a call among some of the ranks, until it has received all that it gets there.
// What it has sent may still be under way: what comes next writes there only what depends on its arrival. The
// fields of the call are as usual, but its Root is a rank of the whole.
func (s *Schedule) among(ranks []int, c Call) {
	whole, from := s.Call, len(s.Steps)
	c.Rank, c.Ranks, c.Root = slices.Index(ranks, s.Rank), len(ranks), slices.Index(ranks, c.Root)
	c.Elem, c.Commute = s.Elem, s.Commute
	s.Call = c
	builtIn.Pick(&c).build(s)
	s.Call = whole
	awaits := false
	for i := range s.Steps[from:] {
		switch st := &s.Steps[from+i]; st.Kind {
		case Send, Recv:
			st.Peer = int32(ranks[st.Peer])
			awaits = awaits || st.Kind == Recv
		case Wait:
			awaits = false
		}
	}
	if awaits {
		s.wait()
	}
}

func bcastLeaders(s *Schedule) {
	near, leader, leaders := s.lead(s.Root)
	if s.Rank == leader {
		s.among(leaders, Call{Op: Bcast, Root: s.Root, Recv: s.Recv})
	}
	s.among(near, Call{Op: Bcast, Root: leader, Recv: s.Recv})
}

func reduceLeaders(s *Schedule) {
	near, leader, leaders := s.lead(s.Root)
	part := s.Recv
	if s.Rank == leader && s.Rank != s.Root {
		part = s.Temp(len(s.Send))
	}
	s.among(near, Call{Op: Reduce, Root: leader, Send: s.Send, Recv: part, InPlace: s.InPlace})
	if s.Rank == leader {
		s.among(leaders, Call{Op: Reduce, Root: s.Root, Send: part, Recv: part, InPlace: s.Rank == s.Root})
	}
}

// allreduceLeaders is an Allreduce, or a Barrier, which is one of nothing.
func allreduceLeaders(s *Schedule) {
	near, leader, leaders := s.lead(0)
	leads := s.Rank == leader
	s.among(near, Call{Op: Reduce, Root: leader, Send: s.input(), Recv: s.Recv, InPlace: s.InPlace && leads})
	if leads {
		s.among(leaders, Call{Op: s.Op, Recv: s.Recv, InPlace: true})
	}
	s.among(near, Call{Op: Bcast, Root: leader, Recv: s.Recv})
}

func gatherLeaders(s *Schedule) {
	near, leader, leaders := s.lead(s.Root)
	n := s.Bytes()
	var part []byte // the blocks of this host
	switch s.Rank {
	case s.Root:
		part = s.Recv[near[0]*n:][:len(near)*n]
	case leader:
		part = s.Temp(len(near) * n)
	}
	s.among(near, Call{Op: Gather, Root: leader, Send: s.Send, Recv: part, RecvBlocks: Blocks{Unit: 1, N: n},
		InPlace: s.InPlace})
	if s.Rank == leader {
		s.among(leaders, Call{Op: Gatherv, Root: s.Root, Send: part, Recv: s.Recv,
			RecvBlocks: Blocks{Unit: n, Counts: s.Hosts.sizes}, InPlace: s.Rank == s.Root})
	}
}

func allgatherLeaders(s *Schedule) {
	near, leader, leaders := s.lead(0)
	n, leads := s.Bytes(), s.Rank == leader
	send := s.Send
	if s.InPlace {
		send = s.recvBlock(s.Rank)
	}
	s.among(near, Call{Op: Gather, Root: leader, Send: send, Recv: s.Recv[near[0]*n:][:len(near)*n],
		RecvBlocks: Blocks{Unit: 1, N: n}, InPlace: s.InPlace && leads})
	if leads {
		s.among(leaders, Call{Op: Allgatherv, Recv: s.Recv, RecvBlocks: Blocks{Unit: n, Counts: s.Hosts.sizes},
			InPlace: true})
	}
	s.among(near, Call{Op: Bcast, Root: leader, Recv: s.Recv})
}
