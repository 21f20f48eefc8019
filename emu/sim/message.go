package sim

import "github.com/exanet-mpi/exanet/packetizer"

// none is the end of a list of messages or writes.
const none int32 = -1

// message is one of the packetizer that is on its way, or in a mailbox.
type message struct {
	header   packetizer.Header
	body     [packetizer.PayloadLimit]byte
	n        uint8
	from, to int32
	fetch    int32 // the write that an R5 is asked for; none: it is for the rank
	arrives  Time
	next     int32 // in the mailbox, or the free ones
}

func (s *Sim) newMessage() int32 {
	i := s.freeMsg
	if i == none {
		s.messages = append(s.messages, message{})
		return int32(len(s.messages) - 1)
	}
	s.freeMsg = s.messages[i].next
	return i
}

func (s *Sim) release(i int32) {
	s.messages[i].next = s.freeMsg
	s.freeMsg = i
}

// depart takes a message, which has been written to the packetizer now, to its
// mailbox.
func (s *Sim) depart(i int32) {
	m := &s.messages[i]
	from, to := s.place[m.from], s.place[m.to]
	at := s.packetizers[from].reserve(s.now, s.now, s.model.packetizer) + s.model.packetizer
	at, _, _ = s.travel(from, to, at, packetizer.MessageSize, true)
	if m.fetch != none {
		w := m.fetch
		at = s.r5s[to].reserve(s.now, at, s.model.agent) + s.model.agent
		s.note(Event{At: at, Kind: Asked, From: m.from, To: m.to, ID: uint32(i)})
		s.ends[m.to].asked--
		s.release(i)
		s.totals.Delivered++
		s.agenda.push(at, begin, w, 0)
		return
	}
	at = s.mailboxes[to].reserve(s.now, at, s.model.mailbox) + s.model.mailbox
	x := &s.ends[m.to]
	if x.gone {
		x.held--
		s.totals.Lost++
		s.release(i)
		return
	}
	m.arrives = at
	x.arrive(i)
	x.ready(at)
}

// travel takes so many bytes from one FPGA to another, from a time on, and returns
// when the last is there, when the first link is free again, and how long the bytes
// have waited on the way for links after the first.
func (s *Sim) travel(from, to int32, at Time, bytes int, isMessage bool) (there, free, waited Time) {
	if from == to {
		return at, at, 0
	}
	s.route = s.machine.Torus.route(from, to, s.route[:0])
	free = -1
	inside := int32(s.machine.Torus.Nodes() * insideLinks)
	there = at
	head := at
	for _, k := range s.route {
		w := &s.model.outside
		if k < inside {
			w = &s.model.inside
		}
		l := &s.links[k]
		took := w.takes(bytes)
		start := l.reserve(s.now, head, took)
		if s.reserved != nil {
			s.reserved(k, start, start+took)
		}
		l.load.Bytes += uint64(bytes)
		if isMessage {
			l.load.Messages++
		}
		if free < 0 {
			free = start + took
		} else {
			waited += start - head
		}
		there = max(there, start+took) + w.hop // a fast link waits for what a slow one brings
		head = start + w.hop
	}
	return there, free, waited
}

// back is how long the word that a write has ended takes to the writer: it is short,
// and waits for nobody.
func (s *Sim) back(from, to int32) (t Time) {
	if from == to {
		return 0
	}
	s.route = s.machine.Torus.route(from, to, s.route[:0])
	inside := int32(s.machine.Torus.Nodes() * insideLinks)
	for _, k := range s.route {
		if k < inside {
			t += s.model.inside.hop
		} else {
			t += s.model.outside.hop
		}
	}
	return t
}
