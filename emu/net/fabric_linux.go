package net

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Fabric is one rank's end of the network, and of its host's shared memory. It is a network.Fabric,
// used as that of emu/host is.
type Fabric struct {
	*host.Fabric         // the ranks of this host, this rank's exposures, doorbells, and who has died
	links        []*link // by rank; nil for those of this host
	peers        []*link // the same without gaps
	hosts        []int   // by rank, see Host
	poll         *poller
	silence      time.Duration // after which a rank elsewhere is dead
	delay        time.Duration // before one is dead whose connection has ended

	turn    uint        // of Next
	current *link       // whose message is out; nil: the host's
	more    atomic.Bool // Next may find something that has been read already, or that it has left unread
	unread  bool        // see Unread
	looked  bool        // at the connections, since Next found none
	cursor  int         // where in peers the next look begins
	fetches []*rdmaeng.Transfer
}

// places is how many goroutines may run at once, at least: a rank that sleeps keeps its P until the runtime's monitor
// takes that, which may last for milliseconds, and the watcher needs one to wake it.
const places = 2

// hostTurns is how many messages of its host a rank takes before it looks at the network.
const hostTurns = 8

// NewFabric joins a rank's end of its host to the connections of a Listener. It owns both from now on. A rank whose
// connection has ended is dead after the delay, in which a launcher may end this process.
func NewFabric(h *host.Fabric, links []Conn, delay time.Duration) (*Fabric, error) {
	silence, err := SilenceLimit()
	if err != nil {
		return nil, err
	}
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	f := &Fabric{Fabric: h, links: make([]*link, h.Size()), hosts: make([]int, h.Size()), poll: p, silence: silence,
		delay: delay}
	for _, c := range links {
		l := newLink(f, c)
		f.links[c.Rank], f.hosts[c.Rank] = l, c.Host
		f.peers = append(f.peers, l)
		if err := p.add(l); err != nil {
			p.release()
			return nil, err
		}
	}
	here := slices.Index(f.links, nil)
	for rank, l := range f.links {
		if l == nil {
			f.hosts[rank] = here
		}
	}
	h.Beside(f.arrived, p.arm)
	if runtime.GOMAXPROCS(0) < places {
		runtime.GOMAXPROCS(places)
	}
	go f.watch()
	return f, nil
}

// TrySend implements packetizer.Port.
func (f *Fabric) TrySend(to int, h packetizer.Header, payload []byte) bool {
	return f.TrySendAt(to, &h, payload)
}

// TrySendAt is TrySend for a header that it reads where it lies.
func (f *Fabric) TrySendAt(to int, h *packetizer.Header, payload []byte) bool {
	l := f.links[to]
	if l == nil {
		return f.Fabric.TrySendAt(to, h, payload)
	}
	return l.send(&frame{kind: message, word: *h}, payload)
}

// Next implements mbox.Box. Pieces of writes that it meets on the way are put in their places.
func (f *Fabric) Next() (h packetizer.Header, payload []byte, ok bool) {
	if len(f.fetches) > 0 {
		f.runAgent()
	}
	f.current = nil
	f.turn++
	hostFirst := f.turn%hostTurns != 0
	if hostFirst {
		if h, payload, ok = f.Fabric.Next(); ok {
			return h, payload, true
		}
	}
	if !f.looked || !hostFirst { // what has come to one connection must not hide the others for ever
		f.look()
	}
	f.unread = false
	for range f.peers {
		l := f.peers[f.cursor]
		if f.cursor++; f.cursor == len(f.peers) {
			f.cursor = 0
		}
		if w, b, ok := l.next(); ok {
			f.current = l
			f.more.Store(true)
			return w, b, true
		}
		f.unread = f.unread || l.unread
	}
	if !hostFirst {
		if h, payload, ok = f.Fabric.Next(); ok {
			return h, payload, true
		}
	}
	f.looked = false
	f.more.Store(f.unread)
	f.rearm()
	return h, nil, false
}

// Unread implements network.Streams.
func (f *Fabric) Unread() bool { return f.unread }

// Release implements mbox.Box.
func (f *Fabric) Release() {
	if f.current == nil {
		f.Fabric.Release()
		return
	}
	f.current.release()
	f.current = nil
}

// Host implements network.Hosts. Ranks that are connected are not on the same host.
func (f *Fabric) Host(rank int) int { return f.hosts[rank] }

// Reaches implements network.RemoteMemory: of ranks elsewhere nobody reads the memory.
func (f *Fabric) Reaches(rank int) bool { return f.links[rank] == nil && f.Fabric.Reaches(rank) }

// Finalize says good-bye to all, after what is still to be sent, and waits until they have done so: a connection that
// ends while something in it has not been read loses what its other end has not got.
func (f *Fabric) Finalize() {
	said := make([]bool, len(f.peers))
	for {
		var fds []unix.PollFd
		for i, l := range f.peers {
			said[i] = said[i] || l.send(&frame{kind: bye}, nil)
			l.discard()
			if l.over.Load() || l.gone && said[i] && !l.pending() {
				continue
			}
			fd := unix.PollFd{Fd: int32(l.fd), Events: unix.POLLIN}
			if !said[i] || l.pending() {
				fd.Events |= unix.POLLOUT
			}
			fds = append(fds, fd)
		}
		if fds == nil {
			break
		}
		_, _ = unix.Poll(fds, -1)
	}
	f.Fabric.Finalize()
}

// Fail leaves in disorder: the connections end, which tells the others. Calls may be under way, so descriptors stay
// open for as long as anybody has the fabric.
func (f *Fabric) Fail() {
	for _, l := range f.peers {
		l.shut()
	}
	f.poll.stop()
	f.Fabric.Fail()
}

// Close implements network.Fabric.
func (f *Fabric) Close() {
	f.poll.close()
	for _, l := range f.peers {
		l.close()
	}
	f.Fabric.Close()
}

var (
	_ rdmaeng.Lender = (*Fabric)(nil)
	_ rdmaeng.Reader = (*Fabric)(nil)
)
