package variants

import "github.com/exanet-mpi/exanet/rdmaeng"

// A send that waits for its receive can be lent (rdmaeng.Lender): its RTS says where
// the data are, and the receiving side may copy them without a word of the sender,
// which may be computing.

// Announce sends the RTS of a send.
func (c *Core) Announce(p *Peer, e Envelope, r *Request) {
	if c.lender != nil {
		t := &r.Transfer
		*t = rdmaeng.Transfer{To: int(p.World), Src: r.Buf, View: r.View}
		if w, ok := c.lender.Lend(t); ok {
			r.lent = true
			c.recount(r)
			c.Out.Control(p, e, uint64(r.Len()), w.Addr, w.Notify)
			return
		}
	}
	c.Out.Control(p, e, uint64(r.Len()))
}

// Lent is the part of an RTS that says where the data are.
func Lent(payload []byte) []byte { return payload[min(8, len(payload)):] }

// Borrow makes the engine copy to an exposed receive what its sender has lent, if it
// has. If it cannot, the sender is told to look at its mailbox.
func (c *Core) Borrow(p *Peer, r *Request, lent []byte) {
	if len(lent) == 0 || r.Slot < 0 || r.Status.Size > r.Len() {
		return
	}
	src := rdmaeng.Window{Addr: Word(lent, 0), Notify: Word(lent, 1)}
	size := r.Status.Size
	r.Borrows = c.lender.Borrow(r.Slot, int(p.World), src, size, Notice(size, r.Status.Tag, true))
	c.recount(r)
	if !r.Borrows {
		c.Hurry(p)
	}
}

// reclaim ends what Announce has lent and no write has begun to use.
func (c *Core) reclaim(r *Request) {
	if r.lent {
		r.lent = false
		c.lender.Reclaim(&r.Transfer)
	}
}
