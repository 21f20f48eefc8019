package net

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

const (
	pieceMost  = 1 << 20   // bytes of a write in a frame, which the kernel gets in one call: each call's end costs time
	packMost   = 256 << 10 // the same, if the link packs them first
	lookMost   = 1 << 20   // bytes of pieces that one look takes in: a stream must not keep its rank from all else
	readAtOnce = 20 << 10  // bytes that are read before it is known where they belong: 16 KiB and headers in one call
	outMost    = 128 << 10 // bytes that wait to be sent, above which a message is refused
	shortMost  = 4 << 10   // bytes of a message that are copied behind its header: two places take the kernel longer
)

// link is the connection to one rank. What is to be sent belongs to whoever has the rank's lock, and what
// has come to the rank's poller.
type link struct {
	f    *Fabric
	rank int
	sock *os.File // whose descriptor fd is
	fd   int
	over atomic.Bool // the connection has ended, or nothing is to be sent any more

	head  [headerSize]byte
	out   []byte            // what waits to be sent, from sent on
	sent  int               //
	rest  []byte            // what is to be sent behind that: a part of the source of owner
	owner *rdmaeng.Transfer //
	wants bool              // the poller tells when there is room

	in       []byte // bytes r to w have come and are not dealt with
	r, w     int    //
	readable bool   // there may be more
	writable bool   // there is room again for what waits to be sent
	fresh    bool   // some have come that next has not seen
	body     frame  // a piece, of which left bytes are to come
	left     int    //
	unread   bool   // next has left something to the next look
	gone     bool   // the peer has said good-bye

	hearing hearing     // the watcher's, as what follows
	unpaced bool        // see unpace
	silent  atomic.Bool // nothing has come for the limit
}

func newLink(f *Fabric, c Conn) *link {
	room := headerSize + max(f.Limit(), readAtOnce) + readAtOnce
	l := &link{f: f, rank: c.Rank, sock: c.sock, fd: int(c.sock.Fd()), in: make([]byte, room)}
	probe(l.fd, f.silence)
	l.unpaced = unpace(l.fd)
	return l
}

// broken ends the link, and after the fabric's delay the rank at its other end, unless that has left in good order. For
// that one this rank is dead then. Who has been silent has had its time.
func (l *link) broken(why reason) {
	if l.over.Swap(true) {
		return
	}
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
	l.f.poll.drop(l)
	switch {
	case l.gone:
	case l.silent.Load():
		l.f.Lose(l.rank, uint32(silent))
	case l.f.delay > 0:
		time.AfterFunc(l.f.delay, func() { l.f.Lose(l.rank, uint32(why)) })
	default:
		l.f.Lose(l.rank, uint32(why))
	}
}

// pending reports whether something waits to be sent.
func (l *link) pending() bool { return l.sent < len(l.out) || len(l.rest) > 0 }

// send sends a frame of a message or of the fabric's own, and reports whether it was taken. A link that is over
// takes everything.
func (l *link) send(f *frame, data []byte) bool {
	f.size = uint32(len(data))
	if l.pending() {
		l.flush()
		if len(l.rest) > 0 || len(l.out)-l.sent > outMost {
			return l.over.Load()
		}
	}
	f.encode(l.head[:])
	if waits := l.pending(); waits || len(data) <= shortMost {
		l.out = append(append(l.out, l.head[:]...), data...)
		if !waits {
			l.flush()
		}
		return true
	}
	n := l.write(l.head[:], data)
	if n < headerSize {
		l.out = append(l.out, l.head[n:]...)
		n = headerSize
	}
	l.out = append(l.out, data[n-headerSize:]...)
	l.want()
	return true
}

// write gives the kernel what it takes of a and then b, and returns how much that was: all, if the
// link is over.
func (l *link) write(a, b []byte) int {
	all := len(a) + len(b)
	for !l.over.Load() {
		switch n, e := sys.SendNow(l.fd, a, b); e {
		case 0:
			return n
		case unix.EAGAIN:
			return 0
		case unix.EINTR:
		default:
			l.broken(closed)
		}
	}
	return all
}

// flush sends what waits, as far as there is room.
func (l *link) flush() {
	if !l.pending() {
		return
	}
	n := l.write(l.out[l.sent:], l.rest)
	if waits := len(l.out) - l.sent; n < waits {
		l.sent += n
	} else {
		l.out, l.sent = l.out[:0], 0
		l.rest = l.rest[min(n-waits, len(l.rest)):]
	}
	if len(l.rest) == 0 {
		l.owner = nil
	}
	l.want()
}

// want tells the poller whether this link waits for room.
func (l *link) want() {
	if wants := l.pending() && !l.over.Load(); wants != l.wants {
		l.wants = wants
		l.f.poll.modify(l)
	}
}

// read reads once into b, and reports whether anything came.
func (l *link) read(b []byte) int {
	for l.readable && !l.over.Load() {
		n, e := sys.ReceiveNow(l.fd, b)
		switch {
		case n > 0:
			l.readable = n == len(b)
			return n
		case e == unix.EAGAIN:
			l.readable = false
		case e != unix.EINTR:
			l.broken(closed)
		}
	}
	return 0
}

// more reads what comes next into the buffer, where at least need bytes are to be had; it is not more than that, and
// what is read at once.
func (l *link) more(need int) bool {
	if l.r > 0 && (l.r == l.w || l.r+need > len(l.in)) {
		l.w = copy(l.in, l.in[l.r:l.w])
		l.r = 0
	}
	n := l.read(l.in[l.w:min(len(l.in), l.w+max(need-(l.w-l.r), readAtOnce))])
	l.w += n
	return n > 0
}

// has reads until n bytes are in the buffer, and reports whether they are.
func (l *link) has(n int) bool {
	for l.w-l.r < n {
		if !l.more(n) {
			return false
		}
	}
	return true
}

// arrived reads something, if that has come, and reports whether next may do something. It looks at nothing but
// the buffer, since its caller has not the rank's lock.
func (l *link) arrived() bool {
	if !l.fresh && l.readable && l.more(headerSize) {
		l.fresh = true
	}
	return l.fresh
}

// next returns the next message, until release, and carries out the frames before it. If these are long it leaves some
// to the next look.
func (l *link) next() (h packetizer.Header, payload []byte, ok bool) {
	l.fresh, l.unread = false, false
	if l.writable {
		l.writable = false
		l.flush()
	}
	for taken := 0; ; {
		if n := l.left; n > 0 {
			if !l.deposit() {
				return h, nil, false
			}
			if taken += n; taken >= lookMost {
				l.unread = true
				return h, nil, false
			}
			continue
		}
		if !l.has(headerSize) {
			return h, nil, false
		}
		var f frame
		f.decode(l.in[l.r:])
		if !f.sound(l.f.Limit()) { // no peer of this version sends that
			l.broken(unsound)
			l.r = l.w
			return h, nil, false
		}
		switch f.kind {
		case message, fetch:
			if !l.has(headerSize + int(f.size)) {
				return h, nil, false
			}
			data := l.in[l.r+headerSize:][:f.size]
			if f.kind == message {
				return f.word, data, true
			}
			l.r += headerSize + len(data)
			l.f.fetch(l.rank, &f, int(binary.LittleEndian.Uint64(data)))
		case piece:
			l.r += headerSize
			l.body, l.left = f, int(f.size)
			if l.left == 0 {
				l.complete()
			}
		case bye:
			l.r += headerSize
			l.gone = true
		}
	}
}

// release ends the use of the message that next has returned.
func (l *link) release() {
	l.r += headerSize + int(binary.LittleEndian.Uint32(l.in[l.r+4:]))
}

// deposit puts into its place what has come of a piece, and reports whether that was the last of it. The exposure
// may end meanwhile: it is looked up each time.
func (l *link) deposit() bool {
	for l.left > 0 {
		to, at := l.body.word[0], int(l.body.word[1])+int(l.body.size)-l.left
		if n := min(l.left, l.w-l.r); n > 0 {
			l.f.Deposit(to, l.in[l.r:l.r+n], at)
			l.r += n
			l.left -= n
			continue
		}
		if room := l.f.Room(to, at, l.left); room != nil {
			n := l.read(room)
			if l.left -= n; n == 0 {
				return false
			}
		} else if !l.more(min(l.left, readAtOnce)) {
			return false
		}
	}
	l.complete()
	return true
}

// complete ends a piece.
func (l *link) complete() {
	if l.body.word[2] != 0 {
		l.f.Complete(l.body.word[0], l.body.note)
	}
}

// discard sends what waits, and drops what comes, as far as that goes without waiting.
func (l *link) discard() {
	l.flush()
	l.readable = true
	for {
		if _, _, ok := l.next(); ok {
			l.release()
		} else if !l.unread {
			return
		}
	}
}

// shut ends the connection without a word.
func (l *link) shut() {
	l.over.Store(true)
	_ = unix.Shutdown(l.fd, unix.SHUT_RDWR)
}

func (l *link) close() { _ = l.sock.Close() }
