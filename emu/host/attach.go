package host

import (
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Cross-memory attach: one process copies straight into another's memory. User
// namespaces, seccomp filters and security modules can refuse it, and a PID
// namespace can make the published PID name somebody else. So each pair is
// probed before the first use: the peer publishes the address of a random
// cookie, and the probe reads it there and writes the same bytes back.
//
// A PID can be recycled once its process has been reaped. The launcher reaps
// nobody before the job is over; for ranks with another parent a pidfd, opened
// before the cookie was seen, tells whether the process still exists.
const (
	attachUnknown uint8 = iota
	attachWorks
	attachRefused
)

// attachMost is how many bytes are copied by one call, during which Go's collector may have to wait.
const attachMost = 4 << 20

// pidKept is how long an answer about a PID holds: none comes round again so soon.
const pidKept = 10 * time.Millisecond

// attached is a process that cross-memory attach reaches.
type attached struct {
	pidfd int
	alive bool
	seen  time.Duration // when, on the fabric's clock
}

func newCookie() []uint64 {
	return []uint64{rand.Uint64() | 1, 0}
}

// Reaches reports whether write can write into the memory of a rank, and Read read it.
func (f *Fabric) Reaches(to int) bool {
	if f.job.localRings != nil || to == f.me {
		return true
	}
	h := f.job.ringOf(f.me, to).head
	if h.attach == attachUnknown {
		h.attach = attachRefused
		if f.probe(to) {
			h.attach = attachWorks
		}
	}
	if h.attach != attachWorks {
		return false
	}
	p := f.peers[to]
	if now := clock(); now-p.seen > pidKept {
		p.alive, p.seen = sys.Alive(p.pidfd), now
	}
	return p.alive
}

// Read reads the memory of a rank that this one reaches, and reports whether it could read
// all. It may be called at any time.
func (f *Fabric) Read(from int, addr uint64, to []byte) bool {
	if f.within(from) {
		mem.Copy(to, mem.At(addr, len(to)))
		return true
	}
	pid := int(f.job.control(from).pid.Load())
	for len(to) > 0 {
		n, err := sys.VMRead(pid, addr, to[:min(len(to), attachMost)])
		if err != nil || n == 0 {
			return false
		}
		addr, to = addr+uint64(n), to[n:]
	}
	return true
}

// write writes the memory of a rank that this one reaches, and reports whether it could write all.
func (f *Fabric) write(to int, addr uint64, from []byte) bool {
	if f.within(to) {
		mem.Copy(mem.At(addr, len(from)), from)
		return true
	}
	pid := int(f.job.control(to).pid.Load())
	for len(from) > 0 {
		n, err := sys.VMWrite(pid, addr, from[:min(len(from), attachMost)])
		if err != nil || n == 0 {
			return false
		}
		addr, from = addr+uint64(n), from[n:]
	}
	return true
}

func (f *Fabric) probe(to int) bool {
	c := f.job.control(to)
	pid, addr, cookie := int(c.pid.Load()), c.cookieAddr.Load(), c.cookie.Load()
	fd, err := sys.OpenProcess(pid)
	if err != nil {
		return false
	}
	seen := make([]uint64, 1)
	n, err := sys.VMRead(pid, addr, mem.Bytes(seen))
	if err == nil && n == 8 && seen[0] == cookie {
		n, err = sys.VMWrite(pid, addr, mem.Bytes(seen))
		if err == nil && n == 8 {
			if f.peers == nil {
				f.peers = make(map[int]*attached)
			}
			f.peers[to] = &attached{pidfd: fd, seen: -pidKept}
			return true
		}
	}
	_ = unix.Close(fd)
	return false
}

func (e *engine) close() {
	for _, p := range e.peers {
		_ = unix.Close(p.pidfd)
	}
	e.peers = nil
}
