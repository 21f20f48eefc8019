// Package host is the emulated Exanet between processes of one host, or
// between goroutines of one process: packetizer, mailbox and RDMA engine over
// shared memory.
//
//	Job       the shared memory of all ranks (segment.go)
//	ring      messages of one rank to another (ring.go)
//	Fabric    one rank's packetizer and mailbox (fabric.go),
//	          its RDMA engine (rdma.go, attach.go), and how it waits (wait.go)
//
// A message goes into the ring of its pair by plain stores. An RDMA write goes
// the same way, piece by piece, if it is short or cross-memory attach is
// refused: the receiving side then deposits the pieces when it polls, as the
// unit of the prototype's engine at the receiving endpoint would. Otherwise the
// writer copies straight into the other process, and only the notification
// travels through the ring.
package host

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/packetizer"
)

// Errors that JobError wraps.
var (
	ErrRanks   = fmt.Errorf("a job on one host has 1 to %d ranks", maxSharedRanks)
	ErrSegment = errors.New("not a job segment: was the program started by a launcher of another version?")
	ErrProfile = errors.New("ranks disagree")
	ErrTaken   = errors.New("this rank has already joined: MPI must be initialised once a process, by one process a rank")
)

// DefaultLimit is the largest payload of a message in bytes, the size above
// which a cross-memory copy beats two copies through shared memory.
const DefaultLimit = 4096

// Fabric is one rank's end of the fabric. It implements packetizer.Port,
// mbox.Box and rdmaeng.Engine. Its rank serialises all calls, except that
// WakeForeground, WakeBackground, MarkBackground and WaitBackground may be
// called at any time, and that Spin and Sleep run beside everything but the
// polling calls Next, Release and Notified.
type Fabric struct {
	job    *Job
	me     int
	limit  int
	self   *control
	fenced bool // publish with a full fence
	// crowded: more ranks than cores, so a rank that waits stands in the way
	// of the one it waits for.
	crowded bool

	// The polling side.
	in         []inbox // rings that peers have opened
	cursor     int     // where the next poll begins
	current    int     // the inbox whose message is out, between Next and Release
	openedSeen uint32
	deathsSeen uint32

	engine
}

// Attach joins the job whose segment is f as one of its ranks. limit is the
// largest payload of a message in bytes; 0 means DefaultLimit. profile is a short
// text that all ranks must agree on, see WaitAttached.
func Attach(f *os.File, rank, limit int, profile string) (*Fabric, error) {
	j, err := open(f, 0)
	if err != nil {
		return nil, err
	}
	fab, err := j.attach(rank, limit, profile)
	if err != nil {
		_ = sys.Unmap(j.mapped)
	}
	return fab, err
}

// AttachLocal joins a job made by NewLocalJob.
func (j *Job) AttachLocal(rank, limit int) (*Fabric, error) { return j.attach(rank, limit, "") }

func (j *Job) attach(rank, limit int, profile string) (*Fabric, error) {
	if rank < 0 || rank >= j.ranks {
		return nil, &JobError{Ranks: j.ranks, Err: fmt.Errorf("there is no rank %d: %w", rank, ErrSegment)}
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	f := &Fabric{job: j, me: rank, limit: limit, self: j.control(rank), fenced: true, current: -1}
	f.crowded = j.ranks > runtime.NumCPU()
	f.engine.init()
	if !f.self.state.CompareAndSwap(stateAbsent, stateJoining) {
		return nil, &JobError{Ranks: j.ranks, Err: fmt.Errorf("rank %d: %w", rank, ErrTaken)}
	}
	if j.localRings == nil {
		if !sys.RegisterBarrier() {
			j.head.fence.Store(1)
		}
		f.announce()
	}
	f.self.setProfile(profile)
	f.self.state.CompareAndSwap(stateJoining, stateAttached) // unless it has been marked dead
	return f, nil
}

// Ready tells the fabric that every rank has attached; until then it takes no
// advantage of what they may have in common.
func (f *Fabric) Ready() { f.fenced = f.job.head.fence.Load() != 0 }

// Rank is this rank's number.
func (f *Fabric) Rank() int { return f.me }

// Size is the number of ranks of the job.
func (f *Fabric) Size() int { return f.job.ranks }

// Limit implements packetizer.Port.
func (f *Fabric) Limit() int { return f.limit }

// TrySend implements packetizer.Port.
func (f *Fabric) TrySend(to int, h packetizer.Header, payload []byte) bool {
	g := &f.job.geo
	r := f.job.ringOf(f.me, to)
	inline := len(payload) <= cellInline
	c, bulk, bulkTail := r.room(g, inline, len(payload))
	if c == nil {
		if c, bulk, bulkTail = f.starve(r, to, inline, len(payload)); c == nil {
			return f.lost(to)
		}
	}
	if !r.head.opened {
		f.open(r, to)
	}
	if inline {
		copy(c.payload[:], payload)
	} else {
		copy(bulk, payload)
	}
	c.header[1], c.header[2] = h[1], h[2]
	r.publish(g, c, h[0], len(payload), bulkTail, f.fenced)
	f.ringBell(to)
	return true
}

func (f *Fabric) ringBell(to int) {
	if flags := f.job.control(to).flags.Load(); flags != 0 {
		f.job.ring(to, flags)
	}
}

// lost reports whether a full ring leads to a rank that will never empty it.
func (f *Fabric) lost(to int) bool {
	s := f.job.control(to).state.Load()
	return s == stateDead || s == stateFinalized
}

// starve asks the consumer to ring when it has made room, and looks again.
func (f *Fabric) starve(r ring, to int, inline bool, n int) (*cell, []byte, uint64) {
	r.head.starved.Store(1)
	return r.room(&f.job.geo, inline, n)
}

// open tells the consumer of a ring that it has to look at it from now on.
func (f *Fabric) open(r ring, to int) {
	w, bit := f.job.openedBy(to, f.me)
	w.Or(bit)
	f.job.control(to).opened.Add(1)
	r.head.opened = true
}

// rescan takes notice of newly opened rings.
func (f *Fabric) rescan() {
	f.openedSeen = f.self.opened.Load()
	for base := 0; base < f.job.ranks; base += 64 {
		w, _ := f.job.openedBy(f.me, base)
		for set := w.Load(); set != 0; set &= set - 1 {
			from := base + bits.TrailingZeros64(set)
			if !f.knows(from) {
				f.in = append(f.in, inbox{ring: f.job.ringOf(from, f.me), from: from})
			}
		}
	}
}

func (f *Fabric) knows(from int) bool {
	for i := range f.in {
		if f.in[i].from == from {
			return true
		}
	}
	return false
}

// Next implements mbox.Box. Records of the sending fabrics that it meets on
// the way are carried out.
func (f *Fabric) Next() (h packetizer.Header, payload []byte, ok bool) {
	if f.self.opened.Load() != f.openedSeen {
		f.rescan()
	}
	g := &f.job.geo
	for tried := 0; tried < len(f.in); {
		if f.cursor >= len(f.in) {
			f.cursor = 0
		}
		in := &f.in[f.cursor]
		c, w, ok := in.peek(g)
		if !ok {
			f.cursor++
			tried++
			continue
		}
		n := int(w >> 16 & 0xffff)
		if n == deviceLength {
			f.carryOut(in, c)
			f.advance(in)
			continue
		}
		f.current = f.cursor
		f.cursor++
		if n <= cellInline {
			payload = c.payload[:n]
		} else {
			payload = in.bulkNext(g, n)
		}
		return packetizer.Header{w, c.header[1], c.header[2]}, payload, true
	}
	return h, nil, false
}

// Release implements mbox.Box.
func (f *Fabric) Release() { f.advance(&f.in[f.current]) }

func (f *Fabric) advance(in *inbox) {
	if in.advance(&f.job.geo) {
		// The producer may be between its last look and its sleep, or asleep
		// in the background: count up both bells.
		f.job.wake(in.from, bellForeground)
		f.job.wake(in.from, bellBackground)
	}
}

// Deaths returns how many ranks have died; it changes with each death.
func (f *Fabric) Deaths() uint32 { return f.job.head.deaths.Load() }

// Dead reports whether a rank has died.
func (f *Fabric) Dead(rank int) bool { return f.job.Dead(rank) }

// SawDeaths makes Spin and Sleep wait again after n deaths have been dealt with.
func (f *Fabric) SawDeaths(n uint32) { f.deathsSeen = n }

// Finalize marks this rank as having left in good order.
func (f *Fabric) Finalize() { f.self.state.CompareAndSwap(stateAttached, stateFinalized) }

// Fail marks this rank as dead, for ranks of one process.
func (f *Fabric) Fail() { f.job.MarkDead(f.me) }

// WaitAttached waits until every rank has attached. It returns an error if one
// dies before that, or has another profile than this one.
func (f *Fabric) WaitAttached() error {
	mine := f.self.profileText()
	for i := range f.job.ranks {
		for pause := 20 * time.Microsecond; !f.job.Attached(i); pause = min(2*pause, time.Millisecond) {
			if f.Deaths() != 0 {
				return fmt.Errorf("rank %d has not joined: %w", i, ErrPeer)
			}
			time.Sleep(pause)
		}
		if theirs := f.job.control(i).profileText(); theirs != mine && !f.job.Dead(i) {
			return &ProfileError{Rank: f.me, Peer: i, Mine: mine, Theirs: theirs}
		}
	}
	return nil
}

// Close gives up what the fabric holds. The segment stays mapped until the
// process ends, since peers may still look at it from other goroutines.
func (f *Fabric) Close() { f.engine.close() }

// announce publishes what peers need for cross-memory attach.
func (f *Fabric) announce() {
	sys.AllowAttach()
	f.self.pid.Store(uint32(os.Getpid()))
	f.self.cookie.Store(f.cookie[0])
	f.self.cookieAddr.Store(mem.Addr(mem.Bytes(f.cookie)))
}

// ProfileError names two ranks that disagree about the profile.
type ProfileError struct {
	Rank, Peer   int
	Mine, Theirs string
}

func (e *ProfileError) Error() string {
	return fmt.Sprintf("rank %d uses %s and rank %d uses %s: give all ranks the same protocol and device", e.Rank, e.Mine, e.Peer, e.Theirs)
}

// Unwrap returns ErrProfile.
func (e *ProfileError) Unwrap() error { return ErrProfile }

func (c *control) setProfile(text string) {
	words := make([]uint64, len(c.profile))
	copy(mem.Bytes(words), text)
	for i, w := range words {
		c.profile[i].Store(w)
	}
}

func (c *control) profileText() string {
	words := make([]uint64, len(c.profile))
	for i := range words {
		words[i] = c.profile[i].Load()
	}
	return string(bytes.TrimRight(mem.Bytes(words), "\x00"))
}
