package variants

import (
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The steps of a message that are the same in every protocol.

// Room is what a CTS and an RTR carry: where to write, and how much fits.
type Room struct {
	Window   rdmaeng.Window
	Capacity int    // bytes, or noRoom
	Last     uint64 // of an RTR: see Core.watch
}

// noRoom is the capacity of a receive that the device has no room to expose. Whatever was sent to it is not written:
// the send completes, and the receive ends with the device's error.
const noRoom = -1

// RoomOf reads the payload of a CTS or RTR.
func RoomOf(payload []byte) Room {
	w := rdmaeng.Window{Addr: Word(payload, 0), Notify: Word(payload, 1)}
	return Room{Window: w, Capacity: int(Word(payload, 2))}
}

// Advertised reads the payload of an RTR of Advertise.
func Advertised(payload []byte) Room {
	to := RoomOf(payload)
	if len(payload) > 3*8 {
		to.Last = Word(payload, 3)
	}
	return to
}

// Advertise sends the RTR of a posted receive. Only a long one is exposed: an
// eager receive has no need of a write, but in package rtr the sender must know
// of it. If there is no room for a long one, the RTR says so, and so does r.NoRoom: it ends when its message is known.
func (c *Core) Advertise(p *Peer, e Envelope, r *Request) {
	room := Room{Capacity: r.Len()}
	if r.Len() > c.limit {
		room, r.NoRoom = c.MakeRoom(r)
	}
	r.Advertised, r.Window = true, room.Window
	c.recount(r)
	w := room.Window
	if last := c.watch(r); last != 0 {
		c.Out.Control(p, e, w.Addr, w.Notify, uint64(r.Len()), last)
		return
	}
	c.Out.Control(p, e, w.Addr, w.Notify, uint64(room.Capacity))
}

// MakeRoom exposes a receive if there is room.
func (c *Core) MakeRoom(r *Request) (Room, error) {
	if err := c.Room(r); err != nil {
		return Room{Capacity: noRoom}, err
	}
	return Room{Window: c.Expose(r), Capacity: r.Len()}, nil
}

// Clear sends the CTS for a receive that an RTS of size bytes has matched. A
// message that is too long, or that there is no room for, is not written: its
// sender learns the capacity, and the receive ends here (the thesis is silent).
func (c *Core) Clear(p *Peer, e Envelope, r *Request, size int) {
	if p.Failed {
		c.Complete(r, ErrPeerDied)
		return
	}
	room, err := Room{Capacity: r.Len()}, ErrTruncate
	if size <= r.Len() {
		room, err = c.MakeRoom(r)
	}
	c.Out.Control(p, e, room.Window.Addr, room.Window.Notify, uint64(room.Capacity))
	if err != nil {
		c.Complete(r, err)
	}
}

// Cleared carries on a send whose RTS has been answered, by a CTS or by an RTR
// that crossed it.
func (c *Core) Cleared(p *Peer, r *Request, to Room) {
	if r.Len() > to.Capacity {
		c.Complete(r, nil) // the receiver knows from the RTS that it is too long, or has no room
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
	if to.Capacity == noRoom {
		c.Complete(r, nil) // the receiver knows
		return
	}
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
	if c.elides(r, to) {
		t.Silent = true
		c.Count.Elided++
	}
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
