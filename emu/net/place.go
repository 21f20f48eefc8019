package net

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Place is where the ranks of a job show each other their cards, if there is no MPI yet that could do so: a server
// of the launcher's. A rank connects, shows its card, and gets those of all when all have come.
type Place struct {
	l     net.Listener
	g     gate
	ranks int

	mu    sync.Mutex
	cards [][]byte
	conns []net.Conn // of those that have come
}

// thePlace is its number where ranks have theirs.
const thePlace = math.MaxUint32

// NewPlace opens the place for so many ranks, at all addresses of this host.
func NewPlace(secret Secret, ranks int) (*Place, error) {
	l, err := net.Listen("tcp", "")
	if err != nil {
		return nil, err
	}
	p := &Place{l: l, g: gate{secret, thePlace}, ranks: ranks, cards: make([][]byte, ranks)}
	go p.serve()
	return p, nil
}

// Meet says in one word where ranks find the place, and its secret; Exchange takes it.
func (p *Place) Meet() string {
	return hex.EncodeToString(p.g.secret[:]) + "@" + strings.Join(p.addresses(), ",")
}

// ErrMeet is the error of a word that is not from Meet.
var ErrMeet = errors.New("this says not where the ranks of the job meet")

func parseMeet(word string) (s Secret, addrs []string, err error) {
	secret, list, _ := strings.Cut(word, "@")
	if n, err := hex.Decode(s[:], []byte(secret)); len(secret) != 2*len(s) || err != nil || n != len(s) {
		return s, nil, ErrMeet
	}
	return s, strings.Split(list, ","), nil
}

// addresses are those under which ranks of other hosts reach the place.
func (p *Place) addresses() (list []string) {
	port := strconv.Itoa(p.l.Addr().(*net.TCPAddr).Port)
	for _, a := range own() {
		list = append(list, net.JoinHostPort(a, port))
	}
	return list
}

// Close ends the place: ranks that still wait there get an error.
func (p *Place) Close() {
	_ = p.l.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

func (p *Place) serve() {
	places := make(chan struct{}, strangersMost)
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		places <- struct{}{}
		go func() {
			defer func() { <-places }()
			if p.come(c) != nil {
				_ = c.Close()
			}
		}()
	}
}

// come takes the card of whoever has connected.
func (p *Place) come(c net.Conn) error {
	rank, err := p.g.admit(c)
	if err != nil || rank >= p.ranks {
		return errStranger
	}
	_ = c.SetDeadline(time.Now().Add(helloTime))
	var text json.RawMessage
	if err := json.NewDecoder(io.LimitReader(c, 64<<10)).Decode(&text); err != nil {
		return err
	}
	_ = c.SetDeadline(time.Time{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cards[rank] != nil {
		return fmt.Errorf("rank %d has come before", rank)
	}
	p.cards[rank] = text
	if p.conns = append(p.conns, c); len(p.conns) < p.ranks {
		return nil
	}
	all, err := json.Marshal(p.cards)
	if err != nil {
		return err
	}
	for _, c := range p.conns {
		_, _ = c.Write(all)
		_ = c.Close()
	}
	p.conns = nil
	return p.l.Close()
}

// Exchange shows the card of a rank at the Place that meet names, and returns those of all ranks, and the secret
// of the job. It waits until all have come, or ctx ends. The error is rdmaeng.ErrPeer if not all will come.
func Exchange(ctx context.Context, meet string, rank int, mine []byte) (cards [][]byte, secret Secret, err error) {
	secret, addrs, err := parseMeet(meet)
	if err != nil {
		return nil, secret, err
	}
	g := gate{secret, uint32(rank)}
	var c net.Conn
	for _, a := range addrs {
		d := net.Dialer{Timeout: helloTime}
		if c, err = d.DialContext(ctx, "tcp", a); err != nil {
			continue
		}
		if err = g.knock(c, thePlace); err == nil {
			break
		}
		_ = c.Close()
	}
	if err != nil {
		return nil, secret, fmt.Errorf("rank %d does not reach its launcher at %v: %w", rank, addrs, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if _, err := c.Write(mine); err != nil {
		return nil, secret, err
	}
	if err := json.NewDecoder(c).Decode(&cards); err != nil {
		return nil, secret, fmt.Errorf("rank %d was not told where the others are: %w: %w", rank, rdmaeng.ErrPeer, err)
	}
	return cards, secret, nil
}
