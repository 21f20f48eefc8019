package randprog

import "math/rand/v2"

// Kind says what an operation does.
type Kind uint8

// The operations of a program. Probes include the receive of what they find.
const (
	Send Kind = iota
	Isend
	Recv
	Irecv
	Sendrecv
	Probe
	Iprobe
	Test
	Wait
	WaitAll
	WaitAny
	Cancel
	Null  // an operation on ProcNull; Tag selects which
	Pause // Size microseconds; 0 yields
	kinds
)

// Parts of a phase.
const (
	prepost  = 0 // receives only
	exchange = 1
)

// Limits of programs.
const (
	maxRanks    = 6
	maxThreads  = 3 // goroutines of a rank
	tagKinds    = 3 // tags of a stream
	maxMessage  = 1 << 20
	tagsOfPhase = maxThreads * maxThreads * tagKinds
)

// Thread is a goroutine of a rank.
type Thread struct {
	Rank  int
	Index int // among the goroutines of its rank
}

// Op is one operation. Its ID is its position in the program and names its
// message and its request.
type Op struct {
	ID, Phase, Part int
	Thread          int // index into Program.Threads
	Kind            Kind
	Unit            int // operations that make sense only together share it

	// A send.
	Mode Mode
	Dest int // index into Program.Threads
	Tag  int
	Size int // bytes

	// A receive or probe.
	From int // rank or AnySource
	RTag int // tag or AnyTag
	Cap  int // bytes of the buffer

	// Peek makes an Iprobe a probe only, which receives nothing.
	Peek bool

	// Cancelable marks a send or receive that a later Cancel may name. It
	// counts for nothing where the end of another operation is at stake.
	Cancelable bool

	Reqs []int // Test, Wait, WaitAll, WaitAny, Cancel: the operations meant
	Sure int   // WaitAny: the one among Reqs that is certain to complete
}

// Program is a random MPI program. It is not changed once it is made, and is
// shared by the ranks of a process.
type Program struct {
	Seed    uint64
	Ranks   int
	Rules   Rules
	Threads []Thread
	Phases  int
	Ops     []Op

	tagBase, tagStep int
}

// threadsOf returns the threads of a rank as indices into Threads.
func (p *Program) threadsOf(rank int) (ids []int) {
	for id, t := range p.Threads {
		if t.Rank == rank {
			ids = append(ids, id)
		}
	}
	return ids
}

// single reports whether thread is the only one of its rank, which is what
// allows it to receive with AnyTag.
func (p *Program) single(thread int) bool {
	return len(p.threadsOf(p.Threads[thread].Rank)) == 1
}

// tag returns the kth tag of the stream from one thread to another.
func (p *Program) tag(phase, from, to, k int) int {
	pair := p.Threads[from].Index*maxThreads + p.Threads[to].Index
	return p.tagBase + phase*p.tagStep + pair*tagKinds + k
}

// ops returns the operations of one thread in one part of a phase.
func (p *Program) ops(thread, phase, part int) (ops []*Op) {
	for i := range p.Ops {
		if o := &p.Ops[i]; o.Thread == thread && o.Phase == phase && o.Part == part {
			ops = append(ops, o)
		}
	}
	return ops
}

// sends reports whether o sends a message.
func (o *Op) sends() bool { return o.Kind == Send || o.Kind == Isend || o.Kind == Sendrecv }

// receives reports whether o receives, or may receive, a message.
func (o *Op) receives() bool {
	switch o.Kind {
	case Recv, Irecv, Sendrecv, Probe:
		return true
	case Iprobe:
		return !o.Peek
	}
	return false
}

// probes reports whether o probes and then receives what it found.
func (o *Op) probes() bool { return o.Kind == Probe || o.Kind == Iprobe && !o.Peek }

// sentTo returns the sends to a thread in one phase, in program order.
func (p *Program) sentTo(thread, phase int) (ops []*Op) {
	for i := range p.Ops {
		if o := &p.Ops[i]; o.sends() && o.Dest == thread && o.Phase == phase {
			ops = append(ops, o)
		}
	}
	return ops
}

// random returns a source of random numbers for one use within a program.
func (p *Program) random(use ...int) *rand.Rand {
	h := uint64(0x9e3779b97f4a7c15)
	for _, u := range use {
		h = (h ^ uint64(u)) * 0xff51afd7ed558ccd
		h ^= h >> 32
	}
	return rand.New(rand.NewPCG(p.Seed, h))
}
