package variants

import (
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Core is what every protocol does in the same way: exposing receive buffers,
// writing, ending requests, and telling its owner what is left to do.
type Core struct {
	Me    int32 // rank in the job
	Dev   Device
	Out   *Outbox
	Count *Counters
	Done  workcount.Count // what the processor does

	lender  rdmaeng.Lender // Dev, if it is one
	reader  rdmaeng.Reader // likewise
	limited rdmaeng.Limited
	watcher rdmaeng.Watcher // see Elide
	limit   int
	slots   []*Request // by slot of the exposed buffer
	active  []*Request // sends whose write is under way
	fetches []fetch    // that agents have not been told of
	failed  map[int32]bool
	hurried []int32 // ranks that must look at their mailbox, see Hurry
	awaited []*Peer // see Await
	open    int     // requests that need this rank's attention, see NeedsArrivals
	alone   int     // of active, those that nobody but this rank carries on

	left func(id, gen uint32) // see OnLeft

	copies copies

	spare  List[Message] // for reuse
	spares int           // bytes
}

// NewCore makes the core of rank me of the job.
func NewCore(me int, dev Device) *Core {
	c := &Core{Me: int32(me), Dev: dev, Count: new(Counters), limit: dev.Limit(), failed: make(map[int32]bool)}
	c.lender, _ = any(dev).(rdmaeng.Lender)
	c.reader, _ = any(dev).(rdmaeng.Reader)
	c.limited, _ = any(dev).(rdmaeng.Limited)
	c.Out = NewOutbox(c.Me, dev, c.Count)
	return c
}

// Limit is the size in bytes up to which messages are eager.
func (c *Core) Limit() int { return c.limit }

// LimitCredit sets the credit of each pair of ranks to another number of bytes than
// CreditWindow, the same at both, for those who want to see how it runs out.
func (c *Core) LimitCredit(bytes int64) { c.Out.window = bytes }

// Account is the credit between this rank and another of the job.
func (c *Core) Account(world int32) *Account { return c.Out.Peer(world).Account }

// Work is where the rank's work is counted.
func (c *Core) Work() *workcount.Count { return &c.Done }

// Counters returns what the protocol has counted so far.
func (c *Core) Counters() *Counters { return c.Count }

// needsUs reports whether a request may need this rank to act when a message
// arrives: to write, or to grant. Eager receives do not: their messages can wait in
// the mailbox. Nor does a receive that its sender can write to, or that takes part in
// the copy itself, or a send that its receiver can read.
func (c *Core) needsUs(r *Request) bool {
	switch {
	case r.Done:
		return false
	case r.Cancelling:
		return true
	case r.Recv:
		return r.Len() > c.limit && !r.Advertised && !r.Borrows
	case r.Copy && r.Slot >= 0: // its receiver has the agent read it
		return false
	}
	return !r.Writing && !(r.lent && r.Transfer.Unhurried)
}

// recount is called when what needsUs depends on has changed.
func (c *Core) recount(r *Request) {
	if needed := c.needsUs(r); needed != r.counted {
		r.counted = needed
		if needed {
			c.open++
		} else {
			c.open--
		}
	}
}

// Begin notes a request that has been posted.
func (c *Core) Begin(r *Request) {
	r.Ctx.Active++
	c.Done.Objects++
	c.recount(r)
}

// BeginMatched notes a receive that has been posted for an extracted message.
func (c *Core) BeginMatched(r *Request, m *Message) {
	r.Recv, r.Peer, r.Tag = true, m.Src, m.Tag
	c.Begin(r)
	r.Ctx.Active-- // the message's
}

// Complete ends a request.
func (c *Core) Complete(r *Request, err error) {
	if r.Slot >= 0 {
		c.Dev.Withdraw(r.Slot)
		c.slots[r.Slot] = nil
		r.Slot = -1
	}
	c.reclaim(r)
	if r.alone != nil {
		r.alone.Writing--
		r.alone.reopen()
		r.alone = nil
	}
	if r.Cancelling {
		c.answered(r)
		c.Count.CancelsRefused++
	}
	if r.Recv && !r.Status.Cancelled {
		c.Count.Receives++
	}
	if err == ErrTruncate {
		c.Count.Truncations++
	}
	r.Ctx.Active--
	r.Err = err
	r.Done = true
	c.recount(r)
	if r.Copy {
		c.copies.end(r)
	}
	if b := r.Batch; b != nil {
		b.ended()
	}
}

// Room returns an error if the device has no room to expose or to offer what a request has.
func (c *Core) Room(r *Request) error {
	if c.limited == nil {
		return nil
	}
	return c.limited.Room(r.Len())
}

// Expose makes the buffer of a receive writable for its sender. There is Room.
func (c *Core) Expose(r *Request) rdmaeng.Window {
	var slot int
	var w rdmaeng.Window
	if r.View.Type == nil {
		slot, w = c.Dev.Expose(r.Buf)
	} else {
		slot, w = c.Dev.ExposeView(r.View)
	}
	c.Hold(r, slot)
	return w
}

// Hold notes that a slot of the device belongs to a request, until it
// completes.
func (c *Core) Hold(r *Request, slot int) {
	r.Slot = slot
	for len(c.slots) <= slot {
		c.slots = append(c.slots, nil)
	}
	c.slots[slot] = r
}

// Each calls f for every request that holds a slot of the device.
func (c *Core) Each(f func(*Request)) {
	for _, r := range c.slots {
		if r != nil {
			f(r)
		}
	}
}

// Exposed returns the receive of a slot, nil if there is none.
func (c *Core) Exposed(slot int) *Request {
	if slot >= len(c.slots) {
		return nil
	}
	return c.slots[slot]
}

// progressMost is how many bytes to write before other things are looked at.
const progressMost = 1 << 20

// Progress carries on what NeedsProgress tells of, without waiting, and reports whether
// it got anywhere.
func (c *Core) Progress() (moved bool) {
	if c.Out.Backlogged() {
		moved = c.Out.Flush() > 0
	}
	if len(c.fetches) > 0 {
		moved = c.askAgain() > 0 || moved
	}
	keep, written := c.active[:0], 0
	for i, r := range c.active {
		t := &r.Transfer
		was, unhurried := t.Done, t.Unhurried
		done, err := c.Dev.Test(t)
		switch {
		case !unhurried && (done || t.Unhurried):
			c.alone--
		case unhurried && !done && !t.Unhurried:
			c.alone++
		}
		written += max(0, t.Done-was)
		moved = moved || done || t.Done != was
		if done {
			c.Complete(r, peerError(err))
		} else {
			keep = append(keep, r)
		}
		if written >= progressMost {
			keep = append(keep, c.active[i+1:]...)
			break
		}
	}
	clear(c.active[len(keep):])
	c.active = keep
	return moved
}
