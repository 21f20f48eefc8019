package floor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// shared is the memory of both processes. Words that one side writes while the
// other one reads are alone in their cache lines.
type shared struct {
	order  atomic.Uint32 // number of the newest order; the child sleeps on it
	_      [60]byte
	what   uint32 // the order itself, written before its number
	core   int32
	_      [56]byte
	done   atomic.Uint32 // number of the last order that was carried out
	failed atomic.Uint32 // errno of the order, 0 for success
	_      [56]byte
	ping   uint64
	_      [56]byte
	pong   uint64
	_      [56]byte
	turn   atomic.Uint32
	_      [60]byte
	bell   atomic.Uint32 // the child sleeps on it in orderWake
	armed  atomic.Uint32
	_      [56]byte
	target uint64 // address of the child's buffer
	seen   uint64 // its first word, after orderLook

	// Of orderMessage and orderExchange: the way, the size, this process and its buffer.
	how    uint32
	size   uint64
	parent uint64
	source uint64

	_        [64]byte
	pingDone uint64 // what the parent copies is there
	_        [56]byte
	pongDone uint64
	_        [56]byte

	// Of orderExchange: how many pieces the parent, and the child, has put into shared memory.
	put      uint64
	_        [56]byte
	theirPut uint64
	_        [56]byte
}

// The words are followed by room for a message each way.
const (
	wordsSize  = 4096
	sharedSize = wordsSize + 2*slotSize
)

// Orders to the child.
const (
	orderPong = iota + 1 // answer every ping
	orderYield
	orderPipe
	orderWake
	orderLook // copy the first word of the buffer into seen
	orderMessage
	orderStream
	orderExchange
	orderQuit
)

// The child's file descriptors.
const (
	fdShared = 3 + iota
	fdRead
	fdWrite
)

// bufferSize is the size of the child's buffer, the target of Attach.
const bufferSize = 4 << 20

// timeout is how long the child may take for an order.
const timeout = 20 * time.Second

// Start makes the command that runs Peer in a child. It is killed when the
// context ends.
type Start func(context.Context) *exec.Cmd

// Pair is this process and its child. It belongs to the goroutine, and the
// thread, that opened it, until Close.
type Pair struct {
	s      *shared
	memory []byte
	cmd    *exec.Cmd
	gone   atomic.Bool
	waited chan struct{}
	in     *os.File // what the child writes
	out    *os.File // what the child reads
	cores  []int    // that we may use
	next   uint32
	until  time.Time // when the child must have carried out the order

	src, dst  []byte // of Copy, made at its first cold one
	message4M []byte // of Message and Exchange
}

// Open starts the child. The calling goroutine is locked to its thread until
// Close, since the kernel pins threads and the child dies with this one.
func Open(ctx context.Context, start Start) (_ *Pair, err error) {
	p := &Pair{waited: make(chan struct{})}
	if p.cores, err = sys.Affinity(); err != nil {
		return nil, fmt.Errorf("which cores may be used: %w", err)
	}
	file, err := sys.SharedMemory("exanet-floor", sharedSize)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if p.memory, err = sys.Map(file); err != nil {
		return nil, err
	}
	p.s = mem.Struct[shared](p.memory, 0)
	theirRead, out, err := pipe()
	if err != nil {
		_ = sys.Unmap(p.memory)
		return nil, err
	}
	defer theirRead.Close()
	in, theirWrite, err := pipe()
	if err != nil {
		out.Close()
		_ = sys.Unmap(p.memory)
		return nil, err
	}
	defer theirWrite.Close()
	p.in, p.out = in, out

	runtime.LockOSThread()
	p.cmd = start(ctx)
	p.cmd.ExtraFiles = []*os.File{file, theirRead, theirWrite}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = sys.WithParent(syscall.SysProcAttr{})
	if err := p.cmd.Start(); err != nil {
		close(p.waited)
		p.Close()
		return nil, fmt.Errorf("start the other process of the measurement: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended does not matter: nobody expects it to
		p.gone.Store(true)
		close(p.waited)
	}()
	// The child has told its buffer's address before it takes an order.
	if err = p.order(orderLook, -1); err == nil {
		err = p.finish()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// pipe returns the ends of a pipe whose reads and writes block in the kernel.
func pipe() (r, w *os.File, err error) {
	fd, err := sys.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fd[0]), "pipe"), os.NewFile(uintptr(fd[1]), "pipe"), nil
}

// Close ends the child and gives the thread its cores back.
func (p *Pair) Close() {
	if !p.gone.Load() && p.order(orderQuit, -1) == nil {
		select {
		case <-p.waited:
		case <-time.After(time.Second):
			_ = p.cmd.Process.Kill()
		}
	}
	<-p.waited
	p.in.Close()
	p.out.Close()
	_ = sys.SetAffinity(p.cores)
	_ = sys.Unmap(p.memory)
	runtime.UnlockOSThread()
}

// order tells the child what to do next, on which core (-1: on any).
func (p *Pair) order(what uint32, core int) error {
	if p.gone.Load() {
		return fmt.Errorf("%w has ended", ErrPeer)
	}
	p.s.what, p.s.core = what, int32(core)
	p.next++
	p.until = time.Now().Add(timeout)
	p.s.order.Store(p.next)
	sys.FutexWake(&p.s.order, 1)
	return nil
}

// finish waits until the child has carried out the newest order.
func (p *Pair) finish() error {
	for p.s.done.Load() != p.next {
		if err := p.alive(); err != nil {
			return err
		}
		time.Sleep(20 * time.Microsecond)
	}
	if e := p.s.failed.Load(); e != 0 {
		return fmt.Errorf("in the other process: %w", syscall.Errno(e))
	}
	return nil
}

func (p *Pair) alive() error {
	if p.gone.Load() {
		return fmt.Errorf("%w has ended", ErrPeer)
	}
	if time.Now().After(p.until) {
		return fmt.Errorf("%w does not answer", ErrPeer)
	}
	return nil
}

// spin waits until *w holds v. It looks every few thousand turns whether the
// child still lives, which costs nothing in between.
func (p *Pair) spin(w *uint64, v uint64) error {
	for i := 1; atomic.LoadUint64(w) != v; i++ {
		if i&0xfff == 0 {
			if err := p.alive(); err != nil {
				return err
			}
		}
	}
	return nil
}

// pin binds this thread to a core.
func pin(core int) error {
	if err := sys.SetAffinity([]int{core}); err != nil {
		return fmt.Errorf("pin to core %d: %w", core, err)
	}
	return nil
}

// begin pins this thread to a core and tells the child what to do on another,
// or on the same.
func (p *Pair) begin(what uint32, mine, theirs int) error {
	if err := pin(mine); err != nil {
		return err
	}
	return p.order(what, theirs)
}

// twoCores are the cores of the measurements between cores.
func (p *Pair) twoCores() (mine, theirs int, err error) {
	if len(p.cores) < 2 {
		return 0, 0, ErrOneCore
	}
	return p.cores[0], p.cores[1], nil
}
