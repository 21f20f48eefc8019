package host

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// The segment of a job:
//
//	header    one page, see header
//	control   one block a rank, see control
//	rings     one a pair of ranks, at computed places
//	areas     a few a rank, see areas.go
//
// It is a memory file, so a ring that nobody uses costs no memory, and nothing
// is left of it when the last process of the job is gone.
const (
	segmentMagic = 0x4154454e41584521 // "!EXANETA": change it with the layout
	headerSize   = 4096
	pageSize     = 4096
	sharedCells  = 128
	localCells   = 32
	localBulk    = 128 << 10
	MaxRanks     = 4096
)

type header struct {
	magic  uint64
	ranks  uint32
	cells  uint32 // of a ring, and bulk: both sides must agree
	bulk   uint32
	joined atomic.Uint32 // ranks that have joined
	gate   atomic.Uint32 // futex word: 1 once all have joined, or one has died
	_      [36]byte

	deaths atomic.Uint32 // ranks marked dead; looked at by all who wait
	lost   atomic.Uint32 // 1 + the first of them that was on another host; 0: none
	_      [56]byte

	// Set by a rank whose kernel does not let it use membarrier, and where ranks sleep
	// in C, or all the time: senders must then fence between publishing and looking at the bell.
	fence atomic.Uint32

	// How the ranks stand to each other that do so worst, see occupancy.
	worst atomic.Uint32
}

// The states of a rank.
const (
	stateAbsent uint32 = iota
	stateJoining
	stateAttached
	stateFinalized
	stateDead
)

// Flags of a doorbell, see wait.go.
//
//exanet:c BELL_
const (
	bellForeground uint32 = 1 << iota
	bellBackground

	bellMessages = bellForeground | bellBackground
)

// doorbell is how a rank is woken. Code in C rings and waits as well.
//
//exanet:c doorbell
type doorbell struct {
	flags  atomic.Uint32 // which bell to ring; read by every sender
	core   atomic.Uint32 // where the rank ran when it waited last, see Core
	thread atomic.Uint32 // which waited last for long, see migrate
	_      [52]byte

	foreground atomic.Uint32 // futex words: counted up by each ring
	background atomic.Uint32
	_          [56]byte
}

// control is what the others know of a rank.
type control struct {
	doorbell

	state      atomic.Uint32
	pid        atomic.Uint32
	cookieAddr atomic.Uint64 // where the process keeps cookie, for the probe
	cookie     atomic.Uint64
	profile    [12]atomic.Uint64 // text; written before state

	opened    atomic.Uint32 // rings opened towards this rank
	elsewhere atomic.Uint32 // 1: it is on another host, see Job.Elsewhere
	life      sys.Life      // see detector.go
	lostPeer  atomic.Uint32 // 1: it knows that a rank of another host has died
	reason    atomic.Uint32 // why it is dead, if it is on another host, see Member.Lose
	_         [16]byte

	// Where the rank may run, and what follows from that, see affinity.go.
	cpus      [cpuWords]atomic.Uint64
	group     atomic.Uint64
	occupancy atomic.Uint32
	sharers   atomic.Uint32
	cores     atomic.Uint32
	_         [44]byte
	// A bitmap of the ranks that have opened one follows.
}

const controlSize = int(unsafe.Sizeof(control{}))

// Job is the shared memory of a set of ranks.
type Job struct {
	ranks  int
	geo    geometry
	file   *os.File // nil: all ranks live in this process
	mapped []byte

	// Shared form: bases of the control blocks and of the rings.
	control0        unsafe.Pointer
	controlStep     int
	ring0, ringStep int // in mapped
	head            *header
	localRings      []atomic.Pointer[byte] // in-process form, made on first use
	localBells      []bells

	areas, areaSize, area0 int // see areas.go
	localAreas             []atomic.Pointer[[]uint64]
	localCounters          []func() *[counters]atomic.Uint32 // made on first use
}

// sharedGeometry is that of the rings of a job of n processes. In a ring that is short of
// room for a window of messages each way, both ranks wait for room most of the time; rings
// of many ranks are used less, and there are ranks squared of them.
func sharedGeometry(n int) geometry {
	if n > many {
		return geometryOf(sharedCells, 128<<10)
	}
	return geometryOf(sharedCells, 512<<10)
}

func layout(n int, g geometry) (controlStep, ring0, ringStep, area0 int) {
	controlStep = controlSize + (n+511)/512*64
	ring0 = (headerSize + n*controlStep + pageSize - 1) &^ (pageSize - 1)
	ringStep = (g.ringSize() + pageSize - 1) &^ (pageSize - 1)
	return controlStep, ring0, ringStep, ring0 + n*n*ringStep
}

// populate gives the rings between a rank and its peers their memory, if that is not much: else
// the first messages meet a page fault for each page.
func (j *Job) populate(rank int) {
	const most = 12 << 20 // bytes for the job
	if n := j.here(); n*(n-1)*j.ringStep > most {
		return
	}
	for i := range j.ranks {
		if i != rank && j.Here(i) {
			sys.Populate(j.ringBytes(rank, i))
			sys.Populate(j.ringBytes(i, rank))
		}
	}
}

// NewJob makes the segment of a job of n ranks that are processes. The
// processes inherit File and attach to it.
func NewJob(n int) (*Job, error) {
	if n < 1 || n > MaxRanks {
		return nil, &JobError{Ranks: n, Err: ErrRanks}
	}
	_, _, _, area0 := layout(n, sharedGeometry(n))
	size, each := areaSizes(n)
	f, err := sys.SharedMemory("exanet-job", area0+n*(each*size+counters*counterSize))
	if err != nil {
		return nil, &JobError{Ranks: n, Err: err}
	}
	j, err := open(f, n)
	if err != nil {
		f.Close()
		return nil, err
	}
	j.head.ranks = uint32(n)
	j.head.cells, j.head.bulk = uint32(j.geo.cells), uint32(j.geo.bulk)
	atomic.StoreUint64(&j.head.magic, segmentMagic)
	return j, nil
}

// open maps a segment of n ranks; n of 0 means as many as it says itself.
func open(f *os.File, n int) (*Job, error) {
	b, err := sys.Map(f)
	if err != nil {
		return nil, &JobError{Ranks: n, Err: err}
	}
	j := &Job{file: f, mapped: b}
	j.head = mem.Struct[header](b, 0)
	if n == 0 {
		g := sharedGeometry(int(j.head.ranks))
		if atomic.LoadUint64(&j.head.magic) != segmentMagic || uint64(j.head.cells) != g.cells ||
			uint64(j.head.bulk) != g.bulk {
			_ = sys.Unmap(b)
			return nil, &JobError{Err: ErrSegment}
		}
		n = int(j.head.ranks)
	}
	j.ranks, j.geo = n, sharedGeometry(n)
	j.controlStep, j.ring0, j.ringStep, j.area0 = layout(n, j.geo)
	j.areaSize, j.areas = areaSizes(n)
	j.control0 = unsafe.Pointer(&b[headerSize])
	return j, nil
}

// NewLocalJob makes a job whose n ranks are goroutines of this process. Its
// memory is ordinary Go memory, so that the race detector sees what the ranks
// hand to each other.
func NewLocalJob(n int) *Job {
	j := &Job{ranks: n, geo: geometryOf(localCells, localBulk)}
	j.controlStep, _, _, _ = layout(n, j.geo)
	j.localRings = make([]atomic.Pointer[byte], n*n)
	j.areaSize, j.areas = areaSizes(n)
	j.localAreas = make([]atomic.Pointer[[]uint64], n*j.areas)
	j.localCounters = make([]func() *[counters]atomic.Uint32, n)
	j.localBells = make([]bells, n)
	for i := range j.localBells {
		j.localCounters[i] = sync.OnceValue(func() *[counters]atomic.Uint32 { return new([counters]atomic.Uint32) })
		j.localBells[i] = bells{make(chan struct{}, 1), make(chan struct{}, 1)}
	}
	j.head = mem.Struct[header](mem.Bytes(make([]uint64, headerSize/8)), 0)
	j.head.ranks = uint32(n)
	j.head.fence.Store(1)
	j.control0 = unsafe.Pointer(&make([]uint64, n*j.controlStep/8)[0])
	return j
}

// Ranks is the number of ranks.
func (j *Job) Ranks() int { return j.ranks }

// File is the memory file for the rank processes to inherit.
func (j *Job) File() *os.File { return j.file }

// Elsewhere says that a rank is on another host: it does not join here, and what goes to it is somebody else's
// affair (emu/net). It is for whoever has made the job, before a rank joins.
func (j *Job) Elsewhere(rank int) {
	c := j.control(rank)
	c.elsewhere.Store(1)
	c.state.Store(stateAttached)
	j.head.joined.Add(1)
}

// Here reports whether a rank is on this host.
func (j *Job) Here(rank int) bool { return j.control(rank).elsewhere.Load() == 0 }

// Here and Spread tell a member where the ranks are: Spread, whether any is on another host.
func (m *Member) Here(rank int) bool { return m.job.Here(rank) }
func (m *Member) Spread() bool       { return m.job.here() < m.job.ranks }

// LostPeer reports whether a rank has learnt of the death of one of another host: its own end may follow from that.
// Where all ranks are here the device has died, which is nobody else's failure.
func (j *Job) LostPeer(rank int) bool {
	return j.here() < j.ranks && j.control(rank).lostPeer.Load() != 0
}

// FirstLost is the first rank of another host that one of this host has taken for dead, -1 if there is none.
func (j *Job) FirstLost() int { return int(j.head.lost.Load()) - 1 }

// here is how many are.
func (j *Job) here() (n int) {
	for i := range j.ranks {
		if j.Here(i) {
			n++
		}
	}
	return n
}

// Attached reports whether a rank has joined the job.
func (j *Job) Attached(rank int) bool { return j.control(rank).state.Load() > stateJoining }

// Finalized reports whether a rank has left the job in good order.
func (j *Job) Finalized(rank int) bool { return j.control(rank).state.Load() == stateFinalized }

// Dead reports whether a rank has been marked dead.
func (j *Job) Dead(rank int) bool { return j.control(rank).state.Load() == stateDead }

// MarkDead tells all ranks that one has died and wakes those that wait. The
// caller makes sure that the process is gone: nothing may write any more.
func (j *Job) MarkDead(rank int) {
	if j.control(rank).state.Swap(stateDead) == stateDead {
		return
	}
	j.head.deaths.Add(1)
	j.openGate()
	for i := range j.ranks {
		j.wake(i, bellForeground)
		j.wake(i, bellBackground)
	}
}

// openGate ends the wait for ranks that have not joined.
func (j *Job) openGate() {
	j.head.gate.Store(1)
	sys.FutexWake(&j.head.gate, j.ranks)
}

// Close unmaps and closes the segment. No Fabric of it may be in use.
func (j *Job) Close() error {
	if j.file == nil {
		return nil
	}
	err := sys.Unmap(j.mapped)
	if e := j.file.Close(); err == nil {
		err = e
	}
	return err
}

func (j *Job) control(rank int) *control {
	return (*control)(unsafe.Add(j.control0, rank*j.controlStep))
}

// openedBy returns the word of rank's bitmap that has the bit of peer from.
func (j *Job) openedBy(rank, from int) (w *atomic.Uint64, bit uint64) {
	p := unsafe.Add(j.control0, rank*j.controlStep+controlSize+from/64*8)
	return (*atomic.Uint64)(p), 1 << (from % 64)
}

// ringBytes is the memory of a ring in a job of processes.
func (j *Job) ringBytes(from, to int) []byte {
	at := j.ring0 + (to*j.ranks+from)*j.ringStep
	return j.mapped[at : at+j.ringStep]
}

// ringOf returns the ring from one rank to another.
func (j *Job) ringOf(from, to int) ring {
	if j.localRings == nil {
		return j.geo.ringAt(unsafe.Pointer(&j.ringBytes(from, to)[0]))
	}
	i := to*j.ranks + from
	p := j.localRings[i].Load()
	if p == nil {
		b := mem.Bytes(make([]uint64, j.geo.ringSize()/8))
		if j.localRings[i].CompareAndSwap(nil, &b[0]) {
			p = &b[0]
		} else {
			p = j.localRings[i].Load()
		}
	}
	return j.geo.ringAt(unsafe.Pointer(p))
}

// JobError says what is wrong with the segment of a job.
type JobError struct {
	Ranks int
	Err   error
}

func (e *JobError) Error() string {
	if e.Ranks == 0 {
		return fmt.Sprintf("job segment: %v", e.Err)
	}
	return fmt.Sprintf("job segment for %d ranks: %v", e.Ranks, e.Err)
}

func (e *JobError) Unwrap() error { return e.Err }
