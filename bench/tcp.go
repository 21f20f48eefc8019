package bench

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/mpi"
)

// tcp is a connection between the two ranks of a pair. Both ends try until it takes or gives something, which is
// quickest for ranks that have a core each.
type tcp struct {
	file *os.File
	fd   int
}

// meetTime is how long the two have to connect.
const meetTime = time.Minute

// connect makes a connection as those of several hosts have, by way of MPI.
func (p *pair) connect() error {
	l, err := net.Listen("")
	if err != nil {
		return err
	}
	me := 0
	if p.last {
		me = 1
	}
	peers := net.Peers{Listener: l, Secret: net.NewSecret(), Cards: make([][]byte, 2)}
	peers.Cards[me] = l.Card("", me)
	mine, theirs := slices.Concat(peers.Secret[:], peers.Cards[me]), make([]byte, largestCard)
	s, err := mpi.Sendrecv(p.comm, mine, p.peer, tagSettle, theirs, p.peer, tagSettle)
	if err != nil {
		l.Close()
		return err
	}
	if p.last { // the first one's secret is that of both
		copy(peers.Secret[:], theirs)
	}
	peers.Cards[1-me] = theirs[len(peers.Secret):s.Bytes()]
	ctx, cancel := context.WithTimeout(context.Background(), meetTime)
	defer cancel()
	list, err := peers.Connect(ctx, me)
	if err != nil {
		return err
	}
	f := list[0].File()
	if err := unix.SetNonblock(int(f.Fd()), true); err != nil {
		_ = f.Close()
		return err
	}
	p.tcp = &tcp{f, int(f.Fd())}
	return nil
}

// largestCard is more than the bytes of a secret and a card.
const largestCard = 64 << 10

func (t *tcp) close() { _ = t.file.Close() }

func (t *tcp) send(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(t.fd, b)
		switch err {
		case nil:
			b = b[n:]
		case unix.EAGAIN, unix.EINTR:
		default:
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

func (t *tcp) recv(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(t.fd, b)
		switch {
		case err == nil && n == 0:
			return io.ErrUnexpectedEOF
		case err == nil:
			b = b[n:]
		case err != unix.EAGAIN && err != unix.EINTR:
			return os.NewSyscallError("read", err)
		}
	}
	return nil
}

// window sends or receives one, and the answer.
func (t *tcp) window(p *pair, size int, answer []byte) error {
	move := t.send
	b, back := p.send[:size], t.recv
	if p.last {
		move, b, back = t.recv, p.recv[:size], t.send
	}
	for range window {
		if err := move(b); err != nil {
			return err
		}
	}
	return back(answer)
}
