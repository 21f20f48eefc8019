package coll_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/exanet-mpi/exanet/coll"
)

// A simulation performs the schedules of all ranks in one goroutine. Messages
// are delivered in random order, each pair of ranks keeping its own. A message
// leaves its buffer only when it is delivered, so a schedule that changes a
// buffer before it has waited for the send is found out.
type simulation struct {
	players  []*player
	wires    map[[2]int]*wire
	combine  func(from, to []byte)
	rng      *rand.Rand
	messages int
	rounds   int // the most waits of a rank
}

type player struct {
	steps []coll.Step
	at    int
	open  int // sends and receives that have not ended
	waits int
	ended bool
}

// wire is what one rank sends another.
type wire struct {
	sent, posted [][]byte
	count        int // messages so far
}

func simulate(calls []coll.Call, pick func(*coll.Call) *coll.Algorithm, schedules []*coll.Schedule,
	combine func(from, to []byte), rng *rand.Rand) (*simulation, error) {
	s := &simulation{wires: make(map[[2]int]*wire), combine: combine, rng: rng}
	for i := range calls {
		schedules[i].Release()
		schedules[i].Call = calls[i]
		schedules[i].Build(pick(&calls[i]))
		s.players = append(s.players, &player{steps: schedules[i].Steps})
	}
	for {
		moved, over := false, true
		for _, i := range rng.Perm(len(calls)) {
			m, err := s.advance(i)
			if err != nil {
				return s, err
			}
			moved = moved || m
			over = over && s.players[i].ended
		}
		m, err := s.deliverSome()
		if err != nil {
			return s, err
		}
		if !moved && !m {
			return s, s.verdict(over)
		}
	}
}

// verdict is what is wrong with an end at which nothing moves any more.
func (s *simulation) verdict(over bool) error {
	if !over {
		return fmt.Errorf("deadlock")
	}
	for pair, w := range s.wires {
		if len(w.sent) > 0 || len(w.posted) > 0 {
			return fmt.Errorf("%d messages and %d receives are left over from rank %d to rank %d", len(w.sent),
				len(w.posted), pair[0], pair[1])
		}
	}
	for _, p := range s.players {
		s.rounds = max(s.rounds, p.waits)
	}
	return nil
}

func (s *simulation) wire(from, to int) *wire {
	w := s.wires[[2]int{from, to}]
	if w == nil {
		w = new(wire)
		s.wires[[2]int{from, to}] = w
	}
	return w
}

// advance performs steps of a rank until it has to wait.
func (s *simulation) advance(me int) (moved bool, err error) {
	p := s.players[me]
	for p.at < len(p.steps) {
		st := p.steps[p.at]
		if st.Kind == coll.Wait && p.open > 0 {
			return moved, nil
		}
		p.at++
		moved = true
		peer := int(st.Peer)
		switch st.Kind {
		case coll.Send, coll.Recv:
			if peer == me || peer < 0 || peer >= len(s.players) {
				return moved, fmt.Errorf("rank %d: a message to or from rank %d", me, peer)
			}
			p.open++
			if st.Kind == coll.Send {
				s.messages++
				w := s.wire(me, peer)
				w.sent = append(w.sent, st.From)
				w.count++
			} else {
				w := s.wire(peer, me)
				w.posted = append(w.posted, st.To)
			}
		case coll.Wait:
			p.waits++
		case coll.Combine, coll.Copy:
			if len(st.From) != len(st.To) {
				return moved, fmt.Errorf("rank %d: %d bytes into %d", me, len(st.From), len(st.To))
			}
			if st.Kind == coll.Copy {
				copy(st.To, st.From)
			} else {
				s.combine(st.From, st.To)
			}
		}
	}
	if p.open == 0 && !p.ended {
		p.ended, moved = true, true
	}
	return moved, nil
}

// deliverSome delivers some of the messages that can be.
func (s *simulation) deliverSome() (moved bool, err error) {
	for from := range s.players {
		for to := range s.players {
			w := s.wires[[2]int{from, to}]
			if w == nil || len(w.sent) == 0 || len(w.posted) == 0 || moved && s.rng.IntN(2) == 0 {
				continue
			}
			if len(w.sent[0]) != len(w.posted[0]) {
				return true, fmt.Errorf("rank %d sends %d bytes, rank %d expects %d", from, len(w.sent[0]), to,
					len(w.posted[0]))
			}
			copy(w.posted[0], w.sent[0])
			w.sent, w.posted = w.sent[1:], w.posted[1:]
			s.players[from].open--
			s.players[to].open--
			moved = true
		}
	}
	return moved, nil
}
