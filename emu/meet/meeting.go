//go:build linux

package meet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/emu/net"
)

// Launcher is what has started the ranks: another MPI, or a process manager.
type Launcher interface {
	// Gather shows all ranks what each of them says, by rank. All call it, in the same order.
	Gather(mine []byte) ([][]byte, error)
	// Excuse tells the rank leader that this one cannot come to its Server, or ends the job. Excused returns how
	// many have said so to this rank since the last time.
	Excuse(leader int, why error)
	Excused() int
}

// Meeting is a rank that looks for the others.
type Meeting struct {
	rank, size int
	profile    string
	job        *host.Job // of the first rank of a host
	socket     Socket    // likewise
	server     *Server   // likewise
	err        error
}

// Begin begins with a rank's card. profile is what all must have alike; device, the one that was asked for, if it is
// within one host, else ""; err, why this rank cannot take part.
func Begin(rank, size int, profile, device string, err error) (*Meeting, Card) {
	m := &Meeting{rank: rank, size: size, profile: profile, err: err}
	c := Card{Node: Node(), Profile: Digest([]byte(profile))}
	copy(c.Device[:], device)
	if m.err == nil && rank == 0 { // which is the first of its host in any case
		m.lead()
		c.Socket = m.socket
	}
	if m.err != nil {
		c.State = Failing
	}
	return m, c
}

// Err is why this rank cannot take part.
func (m *Meeting) Err() error { return m.err }

// lead makes the memory of a host, for which the other ranks there will ask.
func (m *Meeting) lead() {
	if m.job, m.err = host.NewJob(m.size); m.err != nil {
		return
	}
	if _, m.err = unix.Getrandom(m.socket[:], 0); m.err == nil {
		m.server, m.err = Open(m.socket, m.size)
	}
}

// End gives up what the Meeting has.
func (m *Meeting) End() {
	m.server.Close()
	if m.job != nil {
		_ = m.job.Close()
	}
}

// first returns the first rank of a rank's host, and how many ranks that has.
func first(cards []Card, rank int) (leader, ranks int) {
	leader = -1
	for i, c := range cards {
		if c.Node == cards[rank].Node {
			if ranks++; leader < 0 {
				leader = i
			}
		}
	}
	return leader, ranks
}

// Take takes a rank's place in the job of a segment, and connects to the ranks of other hosts if there are peers.
type Take func(segment *os.File, peers *net.Peers) error

// Join gives the rank its place, once all cards fit, see Refusal, and reports whether all ranks have theirs. Who calls
// it with apart has ranks of one host talk over the network as well. Errors are those of this rank, and none if another
// one has failed.
func (m *Meeting) Join(cards []Card, l Launcher, apart bool, take Take) (all bool, err error) {
	leader, ranks := first(cards, m.rank)
	socket := cards[leader].Socket
	var peers *net.Peers
	several := ranks < m.size
	if several || apart {
		at := m.rank // each is taken for a host of its own
		if several {
			at = leader
		}
		peers, socket, err = m.invite(cards, l, leader, at, several)
		if peers.Listener != nil {
			defer peers.Listener.Close()
		}
		if err != nil {
			return false, err
		}
	}
	if m.rank == leader {
		all, err = m.receive(ranks, l, func(f *os.File) error { return take(f, peers) })
	} else {
		all, err = m.come(leader, socket, l, func(f *os.File) error { return take(f, peers) })
	}
	if several {
		all, err = agreed(l, all, err)
	}
	return all, err
}

// Apart is Join for ranks that share no memory and need no connections: take asks l itself for what it needs of the
// others.
func (m *Meeting) Apart(l Launcher, take func() error) (all bool, err error) {
	err = take()
	return agreed(l, err == nil, err)
}

// receive is the part of the first rank of a host, which has so many.
func (m *Meeting) receive(ranks int, l Launcher, take func(*os.File) error) (all bool, err error) {
	// Who waits for this rank's place in the job learns so that it is not taken.
	if err := m.server.Serve(m.job.File(), ranks, l.Excused); err != nil {
		m.job.MarkDead(m.rank)
		return false, err
	}
	m.server.Watch(m.job.MarkDead)
	err = take(m.job.File())
	if err != nil {
		m.job.MarkDead(m.rank)
	}
	if all = m.server.Outcome(err == nil); !all && err == nil {
		err = errors.New("a rank could not join the others")
	}
	return all, err
}

// come is the part of the others.
func (m *Meeting) come(leader int, socket Socket, l Launcher, take func(*os.File) error) (all bool, err error) {
	client, segment, err := Connect(socket, m.rank)
	if client == nil {
		l.Excuse(leader, err)
		return false, err
	}
	if err == nil {
		err = take(segment)
		_ = segment.Close()
	}
	return client.Report(err == nil), err
}

// letter is what ranks of several hosts say before they connect.
type letter struct {
	Failed string          // why it cannot go on
	Socket []byte          // of the first rank of a host
	Secret []byte          // of the job, from rank 0
	Card   json.RawMessage // of the network
}

// invite shows all ranks where each listens, and the ranks of a host the socket of its leader, which it returns.
// at is the lowest rank on this rank's host. several says that there are other hosts.
func (m *Meeting) invite(cards []Card, l Launcher, leader, at int, several bool) (*net.Peers, Socket, error) {
	p := &net.Peers{Cards: make([][]byte, m.size)}
	var mine letter
	if m.rank == leader && m.job == nil {
		m.lead()
	}
	if m.err == nil {
		p.Listener, m.err = net.Listen("")
	}
	if m.err == nil && several {
		m.err = p.Listener.Unreachable()
	}
	if m.err != nil {
		mine.Failed = m.err.Error()
	} else {
		mine.Card, mine.Socket = p.Listener.Card(m.profile, at), m.socket[:]
	}
	if m.rank == 0 {
		p.Secret = net.NewSecret()
		mine.Secret = p.Secret[:]
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return p, Socket{}, err
	}
	all, err := l.Gather(text)
	if err != nil {
		return p, Socket{}, err
	}
	letters := make([]letter, m.size)
	for i, text := range all {
		if err := json.Unmarshal(text, &letters[i]); err != nil {
			return p, Socket{}, fmt.Errorf("rank %d does not say where it is: %w", i, err)
		}
		if f := letters[i].Failed; f != "" {
			return p, Socket{}, fmt.Errorf("rank %d cannot take part: %s", i, f)
		}
		p.Cards[i] = letters[i].Card
		if m.job != nil && cards[i].Node != cards[m.rank].Node {
			m.job.Elsewhere(i)
		}
	}
	var socket Socket
	copy(p.Secret[:], letters[0].Secret)
	copy(socket[:], letters[leader].Socket)
	return p, socket, nil
}

// agreed reports whether all ranks of all hosts have their places. Each says why it has not, else nothing.
func agreed(l Launcher, mine bool, err error) (bool, error) {
	var why string
	switch {
	case err != nil:
		why = err.Error()
	case !mine:
		why = "a rank of its host could not"
	}
	all, e := l.Gather([]byte(why[:min(len(why), mostWhy)]))
	if err != nil || e != nil {
		return false, errors.Join(err, e)
	}
	for i, text := range all {
		if len(text) > 0 {
			return false, fmt.Errorf("rank %d could not join the others: %s", i, text)
		}
	}
	return true, nil
}

// mostWhy is how many bytes of a reason a rank gives.
const mostWhy = 1000
