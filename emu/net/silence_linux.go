package net

import (
	"time"

	"golang.org/x/sys/unix"
)

// A host may end without a word: its power fails, or its cable is cut.
//
// TCP itself is a bad judge of that. It repeats what got lost after ever longer times: on a network that loses one
// packet of ten, a limit of seconds on the age of what is not acknowledged would soon be met by a host that is well.
// And it takes a receiver for silent that has no room, as one that a debugger has stopped. So the kernel is told to
// give up much later, and the watcher of each rank asks it how many segments have come. Any segment shows that there is
// a host at the other end: data, repeated data, acknowledgements, and keepalive probes and their answers. These the
// kernel sends by itself, whatever the process does, at a steady pace; only an end with data that is not
// acknowledged repeats that instead. Both ends probe, so several packets in each direction, all of them, must be lost
// in a row before a host that is well counts as dead.
//
// A connection on which nothing has come is shut down, and with that the rank at its other end is dead.

const (
	probesWithin = 5   // keepalive probes from each end in the limit; the kernel sends one a second at most
	probesMost   = 127 // without an answer, until the kernel gives up
	looksWithin  = 20  // at the connections in the limit
)

// probe makes the kernel send keepalive probes on a connection.
func probe(fd int, limit time.Duration) {
	every := max(1, int(limit/probesWithin/time.Second))
	for _, o := range []struct{ level, option, value int }{
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, every},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, every},
		{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, probesMost},
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
	} {
		_ = unix.SetsockoptInt(fd, o.level, o.option, o.value)
	}
}

// hearing is what the watcher knows of a link.
type hearing struct {
	segments uint32        // that have come
	quiet    time.Duration // since one came
}

// attend looks after the connections. It ends those on which nothing has come for the limit, or nearly: what came last
// did so some time before it was seen. Some time has passed since this was called last. If that is more than it should
// be, this process was stopped, or all of this machine, and could not hear.
func (f *Fabric) attend(passed time.Duration) {
	every := f.silence / looksWithin
	for _, l := range f.peers {
		if l.over.Load() {
			continue
		}
		info, err := unix.GetsockoptTCPInfo(l.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			continue
		}
		l.repace(info)
		if h := &l.hearing; info.Segs_in != h.segments {
			*h = hearing{segments: info.Segs_in}
		} else if h.quiet += min(passed, 2*every); h.quiet >= f.silence-2*every {
			_ = unix.Shutdown(l.fd, unix.SHUT_RDWR) // whoever reads next finds that
		}
	}
}
