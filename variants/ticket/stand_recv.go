package ticket

import (
	"slices"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// landing is the receiver's side of the buffers of a channel.
type landing struct {
	number  uint32
	c       *comm // nil: the communicator is closed, and what lands is dropped
	l       *inChannel
	partner *partner
	size    int
	bufs    [standSlots][]byte
	slots   [standSlots]int // of the device

	landed  uint32 // uses that have been shown
	freed   uint32 // uses that are over
	told    uint32 // of those, how many the sender knows of, or will
	revoked bool   // the sender has been asked not to use them
	ended   bool   // it does not, and the device has forgotten them
}

// early is a write that has been shown before another that comes first.
type early struct {
	g *landing
	n rdmaeng.Notification
	i int // which buffer
}

// stands reports whether the channel's receives need no RTR.
func (l *inChannel) stands() bool { return l.landing != nil && !l.landing.revoked }

// repeats takes note of a receive that is about to be posted: buffers are given if it repeats others, and revoked if
// it does not.
func (p *Protocol) repeats(c *comm, l *inChannel, r *variants.Request) {
	if p.stand.most == 0 || r.Len() <= p.Limit() {
		return
	}
	if r.Home == 0 || r.Home != l.home {
		l.home, l.times = r.Home, 0
		p.revoke(l.landing)
	} else {
		l.times++
	}
	if r.Home == 0 || l.times < p.stand.after || l.landing != nil || l.forgetting || l.world == p.Me || l.peer.Failed ||
		r.Len() > p.stand.most || p.stand.held+standSlots*r.Len() > standRoom {
		return
	}
	number := slices.Index(p.stand.given, nil)
	switch {
	case number >= 0:
	case len(p.stand.given) == standMost:
		return
	default:
		number = len(p.stand.given)
		p.stand.given = append(p.stand.given, nil)
	}
	p.give(c, l, uint32(number), r.Len())
}

// give tells the sender of a channel of two buffers.
func (p *Protocol) give(c *comm, l *inChannel, number uint32, size int) {
	g := &landing{number: number, c: c, l: l, partner: p.partner(l.peer), size: size}
	p.stand.held += standSlots * size
	p.stand.given[number], l.landing = g, g
	var words []uint64
	for i := range g.bufs {
		g.bufs[i] = make([]byte, size)
		slot, w := p.Dev.Expose(g.bufs[i])
		g.slots[i] = slot
		p.stand.slots[slot] = g
		words = append(words, w.Addr, w.Notify)
	}
	p.Out.Control(l.peer, c.Envelope(variants.Stand, l.tag, number), append(words, uint64(size))...)
}

// landed takes the notification of a write into a buffer that stands.
func (p *Protocol) landed(slot int, n rdmaeng.Notification) {
	g := p.stand.slots[slot]
	x := g.partner
	w := uint32(n[2])
	if told := w >> orderBits & (1<<numberBits - 1); told > 0 {
		if o := x.got[told-1]; o != nil {
			o.over(o.freed + uint32(int32((w>>(orderBits+numberBits)-o.freed)<<(32-usesBits))>>(32-usesBits)))
		}
	}
	x.early = append(x.early, early{g, n, slices.Index(g.slots[:], slot)})
	for next := 0; next >= 0; {
		next = slices.IndexFunc(x.early, func(y early) bool {
			return (uint32(y.n[2])^x.shown)&(1<<orderBits-1) == 0
		})
		if next >= 0 {
			y := x.early[next]
			x.early = slices.Delete(x.early, next, next+1)
			x.shown++
			p.stood(y)
		}
	}
}

// stood takes a message out of a buffer that stands. All that was sent before has arrived.
func (p *Protocol) stood(y early) {
	g := y.g
	g.landed++
	if g.c == nil {
		return
	}
	e := g.c.Envelope(variants.Landed, g.l.tag, uint32(y.n[1]))
	e.Src, e.Flags = g.l.src, uint8(y.i)
	p.arrive(g.c, e, y.n.Size(), nil)
}

// data is what an EnvD has brought, or what lies in a buffer that stands.
func (l *inChannel) data(e variants.Envelope, size int, payload []byte) []byte {
	if e.Kind == variants.Landed {
		return l.landing.bufs[e.Flags][:size]
	}
	return payload
}

// taken ends a use of a channel's buffers, whose message has been received.
func (p *Protocol) taken(l *inChannel, e variants.Envelope) {
	if e.Kind != variants.Landed {
		return
	}
	g := l.landing
	if g.freed == g.told && !g.revoked {
		g.partner.owing = append(g.partner.owing, g)
	}
	g.freed++
	if g.partner.oneWay && !g.revoked && g.freed-g.told == standSlots {
		p.tell(g)
	}
	p.retire(g)
}

// tell says how many uses of buffers are over.
func (p *Protocol) tell(g *landing) {
	g.partner.told(g)
	p.Out.Control(g.partner.peer, variants.Envelope{Kind: variants.Freed, Ticket: g.number}, uint64(g.freed))
}

// told notes that the sender of a channel knows what it is owed.
func (x *partner) told(g *landing) {
	g.told = g.freed
	x.owing = slices.DeleteFunc(x.owing, func(o *landing) bool { return o == g })
}

// hungers takes note of an RTS whose data would have fitted a buffer: its sender has had none.
func (p *Protocol) hungers(l *inChannel, size int) {
	if !l.stands() || size > l.landing.size {
		return
	}
	l.landing.partner.oneWay = true
	if l.landing.freed != l.landing.told {
		p.tell(l.landing)
	}
}

// revoke asks for buffers back, if there are any.
func (p *Protocol) revoke(g *landing) {
	if g == nil || g.revoked {
		return
	}
	g.partner.told(g)
	g.revoked = true
	p.Out.Control(g.partner.peer, g.c.Envelope(variants.Revoke, g.l.tag, g.number))
}

// onRevoked takes buffers back. What has been written to them has been shown.
func (p *Protocol) onRevoked(e variants.Envelope) {
	if g := p.stand.given[e.Ticket]; g != nil {
		p.withdraw(g)
	}
}

// withdraw makes the device forget buffers.
func (p *Protocol) withdraw(g *landing) {
	for _, slot := range g.slots {
		p.Dev.Withdraw(slot)
		delete(p.stand.slots, slot)
	}
	p.stand.given[g.number] = nil
	g.revoked, g.ended = true, true
	p.retire(g)
}

// retire lets go of buffers that the device has forgotten and that hold no message.
func (p *Protocol) retire(g *landing) {
	if !g.ended || g.c != nil && g.freed != g.landed {
		return
	}
	p.stand.held -= standSlots * g.size
	if g.c != nil {
		g.l.landing = nil
	}
}

// closeStands revokes the buffers of a communicator, whose messages have been dropped.
func (p *Protocol) closeStands(c *comm) {
	for _, l := range c.channels {
		if g := l.landing; g != nil {
			p.revoke(g)
			g.c, g.l = nil, nil
			p.retire(g)
		}
	}
	for _, l := range c.out {
		if l.remote != nil {
			delete(l.remote.partner.got, l.remote.number)
		}
	}
}

// failStands ends what a rank that has died had to do with.
func (p *Protocol) failStands(world int32) {
	x := p.stand.partners[world]
	if x == nil {
		return
	}
	x.early, x.owing = nil, nil
	clear(x.got)
	for _, g := range slices.Clone(p.stand.given) {
		if g != nil && g.partner == x {
			p.withdraw(g)
		}
	}
}
