package mpi

import (
	"fmt"
)

// Buffered sends (thesis 3.10). What cannot leave at once is copied, and goes
// as a standard message that no call waits for.

// BsendOverhead is what a buffered message takes of an attached buffer besides
// its data, in bytes (MPI_BSEND_OVERHEAD).
const BsendOverhead = 64

// fewLeavings is so few that looking at them costs less than memory.
const fewLeavings = 16

// detached is a send that no call waits for: a buffered one, or one whose
// request was freed.
type detached struct {
	m    *pooled
	room int // taken of the attached buffer, in bytes
}

// leavings are the detached sends of a rank, and the buffer that bounds them.
type leavings struct {
	sends    []detached
	sweepAt  int // look for completed ones when there are so many
	attached bool
	rule     BufferRule
	size     int // 0 if none is attached
	more     int // room besides, see moreBuffer
	used     int
}

// BufferRule says what buffered sends need an attached buffer for.
type BufferRule int

const (
	BufferBounds BufferRule = iota // they are bounded by one that is attached
	BufferHolds                    // what cannot leave at once needs room in one
	BufferNeeded                   // every message needs room in one
)

// WithBufferRule sets the rule for buffered sends; the default is BufferBounds.
func WithBufferRule(r BufferRule) Option {
	return func(s *settings) error {
		s.buffers = r
		return nil
	}
}

// AttachBuffer bounds the memory that buffered sends of the caller's rank may
// occupy, in all its communicators, to size bytes (MPI_Buffer_attach). Each
// message that cannot leave at once takes its size and BsendOverhead; one that
// does not fit is an ErrBuffer, nothing of it is sent. Without an attached
// buffer, buffered sends are not bounded. The memory is Go's: none need be
// provided.
func (c *Comm) AttachBuffer(size int) error {
	if err := c.usable("AttachBuffer"); err != nil {
		return err
	}
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	l := &k.leavings
	switch {
	case size < 0:
		return c.fail("AttachBuffer", noValue, noValue, size, ErrBuffer, "its size cannot be negative")
	case l.attached:
		return c.fail("AttachBuffer", noValue, noValue, size, ErrBuffer, "there is one already: detach it first")
	}
	l.attached, l.size, l.used = true, size, 0
	return nil
}

// DetachBuffer waits until all messages have left the attached buffer, ends the
// bound and returns the size (MPI_Buffer_detach).
func (c *Comm) DetachBuffer() (size int, err error) {
	if err := c.usable("DetachBuffer"); err != nil {
		return 0, err
	}
	k := c.rank
	defer k.timed("DetachBuffer", 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	l := &k.leavings
	if !l.attached {
		return 0, c.fail("DetachBuffer", noValue, noValue, noValue, ErrBuffer, "there is none: attach one first")
	}
	k.Until(func() bool {
		k.sweep()
		return l.used == 0
	})
	size, l.size, l.attached = l.size, 0, false
	return size, nil
}

// moreBuffer is inside.Functions.MoreBuffer.
func (c *Comm) moreBuffer(size int) {
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leavings.more += size
}

// Bsend sends buf and returns without waiting for the receiver: what cannot be
// delivered at once is copied (MPI_Bsend). The copies are bounded by
// AttachBuffer, if that was called. Finalize waits for their delivery.
func Bsend[T Element](c *Comm, buf []T, dest, tag int) error {
	return c.bsend("Bsend", of(buf), dest, tag)
}

// Ibsend begins a buffered send (MPI_Ibsend), which is complete at once.
func Ibsend[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	return c.ibsend("Ibsend", of(buf), dest, tag)
}

func (c *Comm) ibsend(op string, d parcel, dest, tag int) (*Request, error) {
	if err := c.bsend(op, d, dest, tag); err != nil {
		return nil, err
	}
	return c.immediate(op), nil
}

func (c *Comm) bsend(op string, d parcel, dest, tag int) error {
	if err := c.check(op, &d, dest, tag, false); err != nil || dest == ProcNull {
		return err
	}
	k := c.rank
	defer k.timed(op, d.size()).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.buffer(c, op, d.memory, int32(dest), int32(tag))
}

// buffer sends d, or a copy of it later, with the lock held.
func (k *rank) buffer(c *Comm, op string, d memory, dest, tag int32) error {
	if k.leavings.rule == BufferNeeded {
		if err := k.admit(c, op, d, dest, tag); err != nil {
			return err
		}
	}
	m := k.take()
	m.Buf = d.buf
	if d.gaps() {
		k.copy(m, d)
	}
	if k.proto.TrySend(c.p2p, dest, tag, m.Buf) {
		k.put(m)
		return nil
	}
	if err := k.admit(c, op, d, dest, tag); err != nil {
		k.put(m)
		return err
	}
	m.Ctx, m.Peer, m.Tag = c.p2p, dest, tag
	if !d.gaps() {
		k.copy(m, d)
	}
	k.proto.PostSend(&m.Request)
	k.Leave()
	err := c.outcome(op, &m.Request)
	k.detach(m, k.leavings.room(d))
	return err
}

// room is what data take of the buffer.
func (l *leavings) room(d memory) int {
	if !l.attached {
		return 0
	}
	return d.payload() + BsendOverhead
}

// admit refuses data for which there is no room.
func (k *rank) admit(c *Comm, op string, d memory, dest, tag int32) error {
	l := &k.leavings
	room := d.payload() + BsendOverhead
	if !l.attached && l.rule == BufferBounds || l.used+room <= l.size+l.more {
		return nil
	}
	k.Poll()
	k.sweep()
	if l.used+room <= l.size+l.more {
		return nil
	}
	why := fmt.Errorf("%w: it takes %d bytes, %d of %d are in use", ErrBuffer, room, l.used, l.size+l.more)
	return c.fail(op, int(dest), int(tag), d.payload(), why,
		"attach a larger buffer, or wait until the receivers have caught up")
}

// copy gives a request a copy of the data.
func (k *rank) copy(m *pooled, d memory) {
	if n := len(k.leavings.sends); len(k.scratch) == 0 && n > 0 && n <= fewLeavings {
		k.sweep() // the copies of some may be free
	}
	m.copied = k.takeScratch(d.size())
	m.Buf = m.copied[:d.size()]
	d.pack(m.Buf, 0)
}

// detach keeps a send that no call waits for until it has completed.
func (k *rank) detach(m *pooled, room int) {
	if m.Done {
		k.put(m)
		return
	}
	l := &k.leavings
	l.used += room
	l.sends = append(l.sends, detached{m, room})
	if len(l.sends) >= l.sweepAt {
		k.sweep()
		l.sweepAt = 2*len(l.sends) + 64 // so that a sweep costs each send but little
	}
}

// sweep forgets the detached sends that have completed.
func (k *rank) sweep() {
	l := &k.leavings
	keep := l.sends[:0]
	for _, d := range l.sends {
		if d.m.Done {
			l.used -= d.room
			k.put(d.m)
		} else {
			keep = append(keep, d)
		}
	}
	clear(l.sends[len(keep):])
	l.sends = keep
}

// drained reports whether all detached sends have completed.
func (k *rank) drained() bool {
	k.sweep()
	return len(k.leavings.sends) == 0
}
