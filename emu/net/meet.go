package net

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/env"
)

// How ranks find each other. Each listens, and shows the others a card: where, by whatever has started
// them. Then each connects to those above it that are not on its host. Before anything else both ends prove that they
// know the secret of the job; whoever does not is refused and counted. When a rank has all its connections it
// listens no more, so from then on there is nothing that a stranger could connect to. Nothing is encrypted.

// card is what a rank tells the others.
type card struct {
	Addresses []string // where it listens, host:port
	Profile   string   // what all ranks must agree on, see host.Join
	Host      int      // the lowest rank on its host
}

// Conn is a connection to a rank.
type Conn struct {
	Rank int
	Host int // the lowest rank on that rank's host
	sock *os.File
}

// File is the connection's socket, which belongs to the caller from now on.
func (c Conn) File() *os.File { return c.sock }

// Listener is where the other ranks reach this one until all have.
type Listener struct {
	door
	addrs []string
}

// Peers is what a rank needs to connect to those of other hosts.
type Peers struct {
	Listener *Listener
	Secret   Secret
	Cards    [][]byte // by rank; nil: it needs no connection
}

// dialEvery is the time between two tries to reach somebody.
const dialEvery = 100 * time.Millisecond

// Listen listens at an address of this host; without one, at that which the others are told, or at all addresses if
// they are told several, see own.
func Listen(address string) (*Listener, error) {
	addrs := []string{address}
	if address == "" {
		var err error
		if addrs, err = own(); err != nil {
			return nil, err
		}
		if len(addrs) == 1 {
			address = addrs[0]
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	for i, a := range addrs {
		addrs[i] = net.JoinHostPort(a, port)
	}
	return &Listener{door: door{Listener: l}, addrs: addrs}, nil
}

// Card is what the others need to know of this rank: where it is, its profile, and the lowest rank on its host.
func (l *Listener) Card(profile string, host int) []byte {
	b, _ := json.Marshal(card{l.addrs, profile, host}) // strings and numbers can be encoded
	return b
}

// Unreachable is an error if this rank listens at no address at which others may reach its host.
func (l *Listener) Unreachable() error {
	if slices.ContainsFunc(l.addrs, func(a string) bool {
		host, _, err := net.SplitHostPort(a)
		return err == nil && !net.ParseIP(host).IsLoopback()
	}) {
		return nil
	}
	text := "its host has no address that other hosts could reach"
	if networks := os.Getenv(env.Network); networks != "" {
		text += fmt.Sprintf(" among those of %s=%q", env.Network, networks)
	}
	return errors.New(text)
}

// Close gives up.
func (l *Listener) Close() { _ = l.Listener.Close() }

// Refused is how many connections of strangers there were.
func (l *Listener) Refused() int64 { return l.refused.Load() }

// A MeetError says which rank could not be reached.
type MeetError struct {
	Rank, Peer int
	Err        error
}

func (e *MeetError) Error() string {
	return fmt.Sprintf("rank %d could not connect to rank %d: %v: see whether a firewall keeps their hosts apart, or "+
		"name another network of theirs in %s", e.Rank, e.Peer, e.Err, env.Network)
}

func (e *MeetError) Unwrap() error { return e.Err }

// Connect makes the connections of rank me to those with a card, and ends the Listener. It waits for the others
// until ctx ends. The error is a *MeetError, or a *host.ProfileError.
func (p *Peers) Connect(ctx context.Context, me int) ([]Conn, error) {
	l, cards := p.Listener, p.Cards
	l.gate = gate{p.Secret, uint32(me)}
	m := meeting{gate: l.gate, me: me, conns: make(map[int]net.Conn), changed: make(chan struct{}, 1)}
	m.hosts = make([]int, len(cards))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	missing := 0
	var mine card
	if err := json.Unmarshal(cards[me], &mine); err != nil {
		return nil, &MeetError{me, me, err}
	}
	for rank, text := range cards {
		if rank == me || text == nil {
			continue
		}
		missing++
		var c card
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, &MeetError{me, rank, err}
		}
		if c.Profile != mine.Profile {
			return nil, &host.ProfileError{Rank: me, Peer: rank, Mine: mine.Profile, Theirs: c.Profile}
		}
		m.hosts[rank] = c.Host
		if rank > me {
			go m.dial(ctx, rank, c.Addresses)
		}
	}
	go l.serve(func(rank int, c net.Conn) error {
		if rank >= me || cards[rank] == nil {
			return errStranger
		}
		m.has(rank, c)
		return nil
	})
	defer l.Close()
	for {
		m.Lock()
		have := len(m.conns)
		m.Unlock()
		if have == missing {
			return m.files()
		}
		select {
		case <-m.changed:
		case <-ctx.Done():
			return nil, m.absent(ctx, cards)
		}
	}
}

// meeting is what has come of Connect so far.
type meeting struct {
	gate
	me      int
	hosts   []int // by rank, of those with a card
	changed chan struct{}

	sync.Mutex
	conns map[int]net.Conn
	over  bool
	last  error
}

// has takes a connection to a rank whose end has proved to be that, unless there is one.
func (m *meeting) has(rank int, c net.Conn) {
	m.Lock()
	defer m.Unlock()
	if m.over || m.conns[rank] != nil {
		_ = c.Close()
		return
	}
	m.conns[rank] = c
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// absent is the error about the first rank that there is no connection to.
func (m *meeting) absent(ctx context.Context, cards [][]byte) error {
	m.Lock()
	defer m.Unlock()
	m.over = true
	peer := -1
	for rank, text := range cards {
		if c := m.conns[rank]; c != nil {
			_ = c.Close()
		} else if peer < 0 && rank != m.me && text != nil {
			peer = rank
		}
	}
	err := context.Cause(ctx)
	if m.last != nil {
		err = fmt.Errorf("%w (%w)", m.last, err)
	}
	return &MeetError{m.me, peer, err}
}

// files takes the connections out of the hands of Go's package net.
func (m *meeting) files() (list []Conn, err error) {
	m.Lock()
	defer m.Unlock()
	m.over = true
	for rank, c := range m.conns {
		sock, e := taken(c.(*net.TCPConn))
		_ = c.Close()
		if e != nil {
			err = &MeetError{m.me, rank, e}
			continue
		}
		list = append(list, Conn{rank, m.hosts[rank], sock})
	}
	slices.SortFunc(list, func(a, b Conn) int { return a.Rank - b.Rank })
	if err != nil {
		for _, c := range list {
			_ = c.sock.Close()
		}
		return nil, err
	}
	return list, nil
}

// taken returns the socket of a connection, which remains to be closed. It blocks: else Go's runtime would watch it
// too, and wake one of its threads whenever something comes.
func taken(c *net.TCPConn) (f *os.File, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if e := raw.Control(func(its uintptr) { fd, err = unix.FcntlInt(its, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "rank"), nil
}

// dial connects to a rank, at one of its addresses, as often as it takes.
func (m *meeting) dial(ctx context.Context, rank int, addrs []string) {
	d := net.Dialer{Timeout: helloTime}
	for i := 0; ctx.Err() == nil; i++ {
		c, err := d.DialContext(ctx, "tcp", addrs[i%len(addrs)])
		if err == nil {
			if err = m.knock(c, rank); err == nil {
				m.has(rank, c)
				return
			}
			_ = c.Close()
		}
		m.Lock()
		m.last = err
		m.Unlock()
		select {
		case <-time.After(dialEvery):
		case <-ctx.Done():
		}
	}
}
