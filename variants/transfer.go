package variants

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The steps of a message that are the same in every protocol.

// Room is what a CTS and an RTR carry: where to write, and how much fits.
type Room struct {
	Window   rdmaeng.Window
	Capacity int // bytes
}

// RoomOf reads the payload of a CTS or RTR.
func RoomOf(payload []byte) Room {
	return Room{rdmaeng.Window{Addr: Word(payload, 0), Notify: Word(payload, 1)}, int(Word(payload, 2))}
}

// Advertise sends the RTR of a posted receive. Only a long one is exposed: an
// eager receive has no need of a write, but in package rtr the sender must know
// of it.
func (c *Core) Advertise(p *Peer, e Envelope, r *Request) {
	var w rdmaeng.Window
	if r.Len() > c.limit {
		w = c.Expose(r)
	}
	r.Advertised, r.Window = true, w
	c.recount(r)
	c.Out.Control(p, e, w.Addr, w.Notify, uint64(r.Len()))
}

// Clear sends the CTS for a receive that an RTS of size bytes has matched. A
// message that is too long is not written: its sender learns the capacity, and
// the receive ends here (the thesis is silent).
func (c *Core) Clear(p *Peer, e Envelope, r *Request, size int) {
	if p.Failed {
		c.Complete(r, ErrPeerDied)
		return
	}
	var w rdmaeng.Window
	if size <= r.Len() {
		w = c.Expose(r)
	}
	c.Out.Control(p, e, w.Addr, w.Notify, uint64(r.Len()))
	if size > r.Len() {
		c.Complete(r, ErrTruncate)
	}
}

// Cleared carries on a send whose RTS has been answered, by a CTS or by an RTR
// that crossed it.
func (c *Core) Cleared(p *Peer, r *Request, to Room) {
	if r.Len() > to.Capacity {
		c.Complete(r, nil) // the receiver knows from the RTS that it is too long
		return
	}
	c.Write(p, r, to, true)
}

// Fill ends a receive with the data of an eager message.
func (c *Core) Fill(r *Request, payload []byte) {
	if len(payload) > r.Len() {
		c.Complete(r, ErrTruncate)
		return
	}
	if r.View.Type == nil {
		mem.Across(r.Buf, payload)
	} else {
		r.View.Unpack(payload, 0)
	}
	c.Complete(r, nil)
}

// Written ends a receive whose write has completed.
func (c *Core) Written(r *Request, n rdmaeng.Notification) {
	r.Status.Tag, r.Status.Size = n[1], n.Size()
	if r.Status.Size > r.Len() {
		c.Complete(r, ErrTruncate)
		return
	}
	c.Complete(r, nil)
}

// Write starts the RDMA write of a send to its receive. A message that is too
// long is not written: the notification alone tells its size.
func (c *Core) Write(p *Peer, r *Request, to Room, rtsSent bool) {
	c.write(p, r, to, Notice(r.Len(), r.Tag, rtsSent))
}

func (c *Core) write(p *Peer, r *Request, to Room, n rdmaeng.Notification) {
	t := &r.Transfer
	if to.Capacity < r.Len() {
		c.reclaim(r)
		*t = rdmaeng.Transfer{To: int(p.World)}
	} else if r.lent {
		r.lent = false
	} else {
		*t = rdmaeng.Transfer{To: int(p.World), Src: r.Buf, View: r.View}
	}
	t.Dst, t.Notify = to.Window, n
	c.Count.Writes++
	r.Writing = true
	c.recount(r)
	c.Dev.Start(t)
	if !t.Shared {
		if done, err := c.Dev.Test(t); done {
			c.Complete(r, peerError(err))
			return
		}
	}
	c.active = append(c.active, r)
	if !t.Unhurried {
		c.alone++
	}
}

// WriteAlone is Write for a receive that any later message could match: none
// leaves for that peer until the notification has been delivered.
func (c *Core) WriteAlone(p *Peer, r *Request, to Room) {
	c.WriteBefore(p, r, to, Notice(r.Len(), r.Tag, false))
}

// WriteBefore is WriteAlone with another notification.
func (c *Core) WriteBefore(p *Peer, r *Request, to Room, n rdmaeng.Notification) {
	p.Writing++
	p.Shut = 1
	r.alone = p
	c.write(p, r, to, n)
}

// Look takes the notifications that are there already, before a message is
// looked at that may have left after they did.
func (c *Core) Look(notified func(slot int, n rdmaeng.Notification)) {
	for {
		slot, n, ok := c.Dev.Notified()
		if !ok {
			return
		}
		notified(slot, n)
	}
}

// Full implements Protocol: there is credit for what TrySend has refused.
func (c *Core) Full(ctx *Context, dst int32, n int) bool {
	p := c.Out.Peer(ctx.World(dst))
	return n <= c.limit && !p.Failed && !c.Out.OutOfCredit(p, n)
}
