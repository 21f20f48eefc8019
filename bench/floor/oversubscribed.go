package floor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// More processes than cores pass each other blocks here, as the ranks of an Alltoall do. Each has a session of its
// own, as MPICH's launcher alone gives its ranks: then a yield hands a core over to nobody, and who waits has to
// sleep. The order is the best there is: those on a core run one after the other, to and fro, and each, when it is
// its turn, takes what all others have for it, puts down what it has for them in the next step, and wakes its
// neighbour. So there is one hand-over less in a step than processes on the core, and nobody is woken in vain.

// ErrOversubscribed is the error of processes of which one has ended, or that take too long.
var ErrOversubscribed = errors.New("one of the processes of the measurement has ended, or waits in vain")

// MostProcesses is the most processes, and LongestBlock the longest block.
const (
	MostProcesses = 64
	LongestBlock  = 64 << 10
)

// oversubscribedMark instead of an order's number is at the beginning of their memory.
const oversubscribedMark = 0x63726f77

type oversubscribed struct {
	mark    uint32
	n       int32
	block   int64
	steps   int64 // that process 0 has timed
	attach  bool
	started atomic.Int32
	ready   atomic.Int32
	failed  atomic.Uint32 // errno of one that could not go on
	nanos   int64         // that process 0 has taken for the steps
	last    atomic.Int64  // the number of the last step, which process 0 may lower
	_       [64]byte
	members [MostProcesses]member
}

// member is what a process tells the others.
type member struct {
	core   int32
	pid    int32
	blocks uint64        // address of what it has for each, twice: for odd steps, and for even ones
	bell   atomic.Uint32 // it sleeps on it
	_      [44]byte
	put    uint64 // steps for which it has put down what it has
	_      [56]byte
}

const oversubscribedHeader = 16 << 10

// warming is how many steps come before those that are timed, unless the budget is used up by then: a machine that is
// busy with other things may take a tenth of a second for a step.
const (
	warming              = 50
	oversubscribedBudget = 3 * time.Second
)

// stage is where a process puts down what it has in a step, in shared memory.
func (s *oversubscribed) stage(memory []byte, rank, step int) []byte {
	n := int(s.n) * int(s.block)
	at := oversubscribedHeader + (2*rank+step%2)*n
	return memory[at : at+n]
}

// Oversubscribed returns the time in microseconds of a step of n processes that pass each other blocks of so many
// bytes, through shared memory, or by attach.
func Oversubscribed(ctx context.Context, start Start, n, block int, attach bool) (us float64, err error) {
	cores, err := sys.Affinity()
	if err != nil {
		return 0, fmt.Errorf("which cores may be used: %w", err)
	}
	file, err := sys.SharedMemory("exanet-floor", oversubscribedHeader+2*n*n*block)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	memory, err := sys.Map(file)
	if err != nil {
		return 0, err
	}
	defer func() { _ = sys.Unmap(memory) }()
	s := mem.Struct[oversubscribed](memory, 0)
	s.mark, s.n, s.block, s.attach = oversubscribedMark, int32(n), int64(block), attach
	// Of a machine that has nothing else to do some tenths of a second.
	s.last.Store(warming + int64(max(50, min(5000, 100_000_000/(n*1000+n*n*block/4)))))
	for i := range n {
		s.members[i].core = int32(cores[i%len(cores)])
	}

	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	runtime.LockOSThread() // the children die with the thread
	defer runtime.UnlockOSThread()
	var gone error
	begun, ends := 0, make(chan error, n)
	for range n {
		c := start(ctx)
		c.ExtraFiles, c.Stderr = []*os.File{file}, os.Stderr
		c.SysProcAttr = sys.WithParent(syscall.SysProcAttr{Setsid: true})
		if gone = c.Start(); gone != nil {
			cancel()
			gone = fmt.Errorf("start a process of the measurement: %w", gone)
			break
		}
		begun++
		go func() { ends <- c.Wait() }()
	}
	for range begun {
		// Whoever ends early leaves the others waiting.
		if err := <-ends; err != nil && ctx.Err() == nil {
			cancel()
			gone = fmt.Errorf("%w: %v", ErrOversubscribed, err)
		}
	}
	if gone != nil {
		return 0, gone
	}
	if e := s.failed.Load(); e != 0 {
		return 0, syscall.Errno(e)
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("%w: %d processes are not through after %v", ErrOversubscribed, n, timeout)
	}
	return float64(s.nanos) / float64(s.steps) / 1e3, nil
}

// exchangeBlocks is the part of one of the processes.
func exchangeBlocks(memory []byte) error {
	s := mem.Struct[oversubscribed](memory, 0)
	me, n, block := int(s.started.Add(1))-1, int(s.n), int(s.block)
	own := &s.members[me]
	if err := pin(int(own.core)); err != nil {
		return err
	}
	var sharing []*member // on this core
	at := 0
	for i := range n {
		if s.members[i].core == own.core {
			if i == me {
				at = len(sharing)
			}
			sharing = append(sharing, &s.members[i])
		}
	}
	sent, received := touched(2*n*block), touched(n*block)
	sys.AllowAttach()
	own.pid, own.blocks = int32(os.Getpid()), mem.Addr(sent)
	s.gather(s.n)

	var over atomic.Bool
	time.AfterFunc(oversubscribedBudget, func() { over.Store(true) })
	rung, first, begun := uint32(0), int64(0), time.Time{}
	for k := int64(0); k <= s.last.Load(); k++ {
		place, next := at, at+1
		if k%2 == 1 {
			place, next = len(sharing)-1-at, at-1
		}
		if place > 0 {
			for own.bell.Load() == rung {
				sys.FutexWait(&own.bell, rung)
			}
			rung++
		}
		late := me == 0 && over.Load()
		if begun.IsZero() && (k == warming || late) {
			first, begun = k, time.Now()
		}
		if late && k+2 < s.last.Load() {
			// The others see it with what this one has for them in this step, which they take in the next.
			s.last.Store(k + 2)
		}
		if k > 0 {
			s.take(memory, me, int(k-1), received)
		}
		if !s.attach {
			mem.Across(s.stage(memory, me, int(k)), sent[:n*block])
		}
		mem.Publish(&own.put, uint64(k)+1)
		if place < len(sharing)-1 {
			sharing[next].bell.Add(1)
			sys.FutexWake(&sharing[next].bell, 1)
		}
	}
	if me == 0 {
		s.steps, s.nanos = s.last.Load()-first, time.Since(begun).Nanoseconds()
	}
	s.gather(2 * s.n) // nobody goes while others read from him
	return nil
}

// gather waits until processes have come here so many times.
func (s *oversubscribed) gather(times int32) {
	for s.ready.Add(1); s.ready.Load() < times; {
		sys.Nap()
	}
}

// take copies what the others have for a process in a step, and what it has for itself.
func (s *oversubscribed) take(memory []byte, me, step int, received []byte) {
	block := int(s.block)
	for i := range int(s.n) {
		for atomic.LoadUint64(&s.members[i].put) <= uint64(step) {
		}
		to := received[i*block : (i+1)*block]
		if !s.attach || i == me {
			mem.Across(to, s.stage(memory, i, step)[me*block:][:block])
		} else if err := read(int(s.members[i].pid), s.members[i].blocks+uint64((step%2*int(s.n)+me)*block),
			to); err != nil {
			s.failed.Store(errno(err))
		}
	}
}
