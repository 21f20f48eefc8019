package net

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/internal/sys"
)

// A rank waits as emu/host has it, on its doorbell. While it spins it looks at its connections as well. Before
// it sleeps it arms its watcher: a thread that sleeps until something comes on any of them, and then rings the
// doorbell, once. So while a rank polls nobody is woken for what it finds by itself.
//
// Some messages must be answered even by a rank that has nothing to do. Nobody can ring on another host; so the
// watcher looks now and then by itself, and wakes the background for what nobody has looked at meanwhile.

// poller knows which connections have something.
type poller struct {
	links, watched int        // epoll descriptors: of the connections; of that one, for the watcher
	end            int        // an eventfd that ends the watcher
	files          []*os.File // which close these: by release, or when nobody has the poller any more
	events         [64]unix.EpollEvent
	byFD           map[int32]*link
	armed          atomic.Bool
	looked         atomic.Bool // somebody has, since the watcher did
	ended          chan struct{}
}

func newPoller() (p *poller, err error) {
	p = &poller{byFD: make(map[int32]*link), ended: make(chan struct{})}
	if p.links, err = p.own(unix.EpollCreate1(unix.EPOLL_CLOEXEC)); err == nil {
		p.watched, err = p.own(unix.EpollCreate1(unix.EPOLL_CLOEXEC))
	}
	if err == nil {
		p.end, err = p.own(unix.Eventfd(0, unix.EFD_CLOEXEC))
	}
	if err == nil {
		err = control(p.watched, unix.EPOLL_CTL_ADD, p.end, unix.EPOLLIN)
	}
	if err == nil {
		err = control(p.watched, unix.EPOLL_CTL_ADD, p.links, 0)
	}
	if err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// own takes a descriptor over.
func (p *poller) own(fd int, err error) (int, error) {
	if err == nil {
		p.files = append(p.files, os.NewFile(uintptr(fd), "poller"))
	}
	return fd, err
}

func (p *poller) release() {
	for _, f := range p.files {
		_ = f.Close()
	}
}

func (p *poller) add(l *link) error {
	p.byFD[int32(l.fd)] = l
	return control(p.links, unix.EPOLL_CTL_ADD, l.fd, unix.EPOLLIN)
}

// control says which events of fd an epoll descriptor is to tell of.
func control(epoll, op, fd int, events uint32) error {
	return unix.EpollCtl(epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

// modify tells whether a link waits for room.
func (p *poller) modify(l *link) {
	events := uint32(unix.EPOLLIN)
	if l.wants {
		events |= unix.EPOLLOUT
	}
	_ = control(p.links, unix.EPOLL_CTL_MOD, l.fd, events)
}

// drop forgets a link that is over, of which there would be something for ever.
func (p *poller) drop(l *link) { _ = control(p.links, unix.EPOLL_CTL_DEL, l.fd, 0) }

// fewLinks is how many connections are read in vain, one by one, which takes less time than to ask for all and then
// to read.
const fewLinks = 2

// look marks the links that may have something to read, or have room again, and reports whether any has.
func (f *Fabric) look() (any bool) {
	p := f.poll
	if !p.looked.Load() {
		p.looked.Store(true)
	}
	f.looked = true
	if len(f.peers) <= fewLinks {
		wants := false
		for _, l := range f.peers {
			l.readable = true
			wants = wants || l.wants
		}
		if !wants {
			return true
		}
		any = true
	}
	for i := range sys.ReadyNow(p.links, p.events[:]) {
		any = p.byFD[p.events[i].Fd].mark(p.events[i].Events) || any
	}
	return any
}

// mark takes note of what the kernel tells of a link.
func (l *link) mark(events uint32) bool {
	if events == 0 {
		return false
	}
	if l.over.Load() {
		l.f.poll.drop(l)
		return false
	}
	l.readable = l.readable || events&^unix.EPOLLOUT != 0
	l.writable = l.writable || events&unix.EPOLLOUT != 0
	return true
}

// arm makes the watcher ring at the next arrival. The flag of the doorbell is up before: else the watcher might
// ring in vain for what came earlier, and be found armed.
func (p *poller) arm() {
	if !p.armed.Swap(true) {
		_ = control(p.watched, unix.EPOLL_CTL_MOD, p.links, unix.EPOLLIN|unix.EPOLLONESHOT)
	}
}

// unattended is how many milliseconds something may wait that nobody looks at: up to twice as many.
const unattended = 20

// watch is the watcher, until the poller is closed. It rings for what comes when it is armed, and wakes the background
// for what nobody looks at: on the connections, or read from them already. Now and then it looks for who is silent.
func (f *Fabric) watch() {
	p := f.poll
	defer close(p.ended)
	var events [2]unix.EpollEvent
	listened := time.Now()
	for {
		n, e := sys.ReadyPark(p.watched, events[:], unattended)
		if e != 0 && e != unix.EINTR {
			return
		}
		if passed := time.Since(listened); passed >= f.silence/looksWithin {
			listened = listened.Add(passed)
			f.attend(passed)
		}
		if n == 0 && !p.looked.Swap(false) {
			if sys.ReadyNow(p.links, events[:]) > 0 || f.more.Load() {
				f.WakeBackground(f.Rank())
			}
			continue
		}
		for i := range n {
			if int(events[i].Fd) == p.end {
				return
			}
			p.armed.Store(false)
			f.Ring(f.Rank())
		}
	}
}

// stop ends the watcher. Calls may still look.
func (p *poller) stop() { _, _ = unix.Write(p.end, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

// close is for when nobody looks any more.
func (p *poller) close() {
	p.stop()
	<-p.ended
	p.release()
}

// arrived reports whether Next may find something on a connection. The fabric of the host asks it with all else.
func (f *Fabric) arrived() (any bool) {
	if f.more.Load() {
		return true
	}
	if f.look() {
		for _, l := range f.peers {
			any = l.arrived() || l.writable || any
		}
	}
	f.looked = any
	return any
}

// rearm arms the watcher again which has rung, if the background still listens. The watcher may not see what a look has
// left, which may have been read already; the background is woken for that at once.
func (f *Fabric) rearm() {
	switch {
	case !f.BackgroundArmed():
	case f.unread:
		f.WakeBackground(f.Rank())
	default:
		f.poll.arm()
	}
}
