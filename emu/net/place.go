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
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Place is where the ranks of a job show each other their cards, if there is no MPI yet that could do so: a server
// of the launcher's. A rank connects, shows its card, and gets those of all when all have come.
type Place struct {
	door
	ranks int
	warn  func(refused int64)
	over  sync.Once

	mu    sync.Mutex
	cards [][]byte
	conns []net.Conn // of those that have come
}

// thePlace is its number where ranks have theirs.
const thePlace = math.MaxUint32

// NewPlace opens the place for so many ranks, at all addresses of this host. When it ends, warn is told how many
// connections of strangers there were, if any.
func NewPlace(secret Secret, ranks int, warn func(refused int64)) (*Place, error) {
	l, err := net.Listen("tcp", "")
	if err != nil {
		return nil, err
	}
	p := &Place{door: door{Listener: l, gate: gate{secret, thePlace}}, ranks: ranks, warn: warn,
		cards: make([][]byte, ranks)}
	go p.serve(p.come)
	return p, nil
}

// Meet says in one word where ranks find the place, and its secret; Exchange takes it.
func (p *Place) Meet() string {
	return hex.EncodeToString(p.secret[:]) + "@" + strings.Join(p.addresses(), ",")
}

// ErrMeet is the error of a word that is not from Meet.
var ErrMeet = errors.New(env.Meet + " is not what ranks meet by")

// parseMeet reads the value of EXANET_MEET. Errors do not show the secret.
func parseMeet(word string) (s Secret, addrs []string, err error) {
	wrong := func(what string) (Secret, []string, error) {
		return s, nil, fmt.Errorf("%w: %s; want the job's secret, %d hexadecimal digits, then @, then addresses with "+
			"commas between, as 10.0.0.5:40123", ErrMeet, what, 2*len(s))
	}
	secret, list, at := strings.Cut(word, "@")
	switch n, err := hex.Decode(s[:], []byte(secret[:min(len(secret), 2*len(s))])); {
	case word == "":
		return wrong("it is not set")
	case !at:
		return wrong("it has no @")
	case len(secret) != 2*len(s):
		return wrong(fmt.Sprintf("there are %d characters before the @", len(secret)))
	case err != nil || n != len(s):
		return wrong("what is before the @ has other characters")
	}
	addrs = strings.Split(list, ",")
	for _, a := range addrs {
		_, port, err := net.SplitHostPort(a)
		if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 {
			return wrong(fmt.Sprintf("%q is no address", a))
		}
	}
	return s, addrs, nil
}

// addresses are those under which ranks of other hosts reach the place. A launcher on a host without ranks may have
// none that EXANET_NETWORK names; the ranks only meet there.
func (p *Place) addresses() (list []string) {
	at, err := own()
	if err != nil {
		at = public(addresses())
	}
	port := strconv.Itoa(p.Addr().(*net.TCPAddr).Port)
	for _, a := range at {
		list = append(list, net.JoinHostPort(a, port))
	}
	return list
}

// Close ends the place: ranks that still wait there get an error.
func (p *Place) Close() {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// end lets nobody in any more.
func (p *Place) end() {
	p.over.Do(func() {
		_ = p.Listener.Close()
		if n := p.refused.Load(); n > 0 {
			p.warn(n)
		}
	})
}

// come takes the card of a rank.
func (p *Place) come(rank int, c net.Conn) error {
	if rank >= p.ranks {
		return errStranger
	}
	_ = c.SetDeadline(time.Now().Add(proveTime))
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
	p.end()
	return nil
}

// Exchange shows the card of a rank at the Place that meet names, and returns those of all ranks, and the secret
// of the job. It waits until all have come, or ctx ends. The error is rdmaeng.ErrPeer if not all will come.
func Exchange(ctx context.Context, meet string, rank int, mine []byte) (cards [][]byte, secret Secret, err error) {
	secret, addrs, err := parseMeet(meet)
	if err != nil {
		return nil, secret, err
	}
	c, err := reach(ctx, gate{secret, uint32(rank)}, addrs)
	if err != nil {
		hint := ""
		if n := os.Getenv(env.Network); n != "" {
			hint = fmt.Sprintf(" (%s=%q: name a network that joins the hosts, or none)", env.Network, n)
		}
		return nil, secret, fmt.Errorf("rank %d does not reach its launcher at %s, as %s has it%s, or others have "+
			"ended: %w", rank, strings.Join(addrs, ","), env.Meet, hint, err)
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

// reachTime is how long a rank tries to reach the place, as long as anybody seems to be there.
const reachTime = time.Minute

// reach connects to the place, at one of its addresses. While strangers crowd there it may take several tries.
func reach(ctx context.Context, g gate, addrs []string) (c net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	d := net.Dialer{Timeout: helloTime}
	for {
		again := false
		for _, a := range addrs {
			if c, err = d.DialContext(ctx, "tcp", a); err == nil {
				if err = g.knock(c, thePlace); err == nil {
					return c, nil
				}
				_ = c.Close()
			}
			again = again || !errors.Is(err, errStranger) && !errors.Is(err, syscall.ECONNREFUSED)
		}
		select {
		case <-time.After(dialEvery):
		case <-ctx.Done():
			again = false
		}
		if !again {
			return nil, err
		}
	}
}
