package optimistic

import (
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// PostRecv implements variants.Protocol.
func (p *Protocol) PostRecv(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	p.Begin(r)
	if r.Peer == variants.AnySource {
		p.Complete(r, ErrAssumption)
		return
	}
	m := p.remote(c, r.Peer)
	r.Ticket = p.next()
	if r.Tag == variants.AnyTag {
		p.loosen(c, m)
		p.place(r, position{})
	} else {
		l := m.channel(r.Tag)
		p.place(r, m.at(l, l.received))
		l.received++
	}
	if r.Len() > p.Limit() {
		p.advertise(c, m, r)
		return
	}
	if x := c.messageFor(&p.Done, m, r); x != nil {
		c.Arrived.Drop(x)
		p.receive(c, m, r, x.Envelope, x.Data)
		p.Recycle(x)
		return
	}
	if m.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	m.news = true
	c.Posted.Push(r)
	if m.asked || c.Arrived.Find(&p.Done, r.Peer, r.Tag) != nil { // a message that is at another position
		p.ask(c, m, r, shortRecv)
	}
}

// advertise sends the RTR of a long receive.
func (p *Protocol) advertise(c *comm, m *remote, r *variants.Request) {
	if x := c.eagerAt(m, r); x != nil {
		p.drop(c, m, x)
		p.Complete(r, errMismatch)
		return
	}
	if m.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	room, err := p.MakeRoom(r)
	m.news = true
	r.Advertised = true
	r.Status.Source = r.Peer
	p.Out.Control(m.peer, c.envelope(variants.RTR, r.Tag, placeOf(r)),
		room.Window.Addr, room.Window.Notify, uint64(room.Capacity), uint64(r.Ticket))
	if err != nil { // the send that it is for completes
		p.Complete(r, err)
	}
	if m.asked {
		p.pair(c, m)
	}
}

// deliverShort is the shortest way of the most frequent message: an EnvD from
// the rank that was looked up last, for the oldest posted receive. It does what
// arrive would, or reports false and does nothing.
func (p *Protocol) deliverShort(h packetizer.Header, payload []byte) bool {
	c := p.comms.Last()
	if c == nil || c.eager != variants.Head(&h) {
		return false
	}
	m, r := c.last, c.Posted.Head()
	tag, at := int32(uint32(h[2])), h[2]>>32|knownBit
	if m == nil || r == nil || m.peer.World != int32(h[1]>>32) || r.Peer != m.rank || r.Tag != tag || r.Order != at ||
		len(payload) > len(r.Buf) {
		return false
	}
	m.got++
	m.news = true
	c.Posted.Remove(r)
	r.Status = variants.Status{Source: m.rank, Tag: tag, Size: len(payload)}
	p.Out.Consumed(m.peer, len(payload))
	copy(r.Buf, payload)
	p.Complete(r, nil)
	return true
}

// arrive matches an eager message, or keeps it.
func (p *Protocol) arrive(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	m.got++
	if r := c.receiveFor(&p.Done, m, e); r != nil {
		c.Posted.Remove(r)
		p.receive(c, m, r, e, payload)
		return
	}
	x := p.Unexpected(e, len(payload), payload)
	c.Arrived.Keep(x)
	p.misplaced(c, m, x)
}

// receive ends an eager receive with its message.
func (p *Protocol) receive(c *comm, m *remote, r *variants.Request, e variants.Envelope, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: len(payload)}
	p.Out.Consumed(m.peer, len(payload))
	if e.Kind == variants.EnvDS {
		p.Out.Control(m.peer, c.envelope(variants.Ack, e.Tag, position{n: e.Ticket}))
	}
	p.Fill(r, payload)
}

// Notified implements variants.Protocol.
func (p *Protocol) Notified(slot int, n rdmaeng.Notification) {
	r := p.Exposed(slot)
	if r == nil {
		return
	}
	p.remote(p.comms.Of(r.Ctx), r.Peer).news = true
	p.Written(r, n)
}

// Probe implements variants.Protocol: nothing can be said of long messages,
// which do not announce themselves.
func (p *Protocol) Probe(*variants.Context, int32, int32) (variants.Status, bool, error) {
	return variants.Status{}, false, ErrAssumption
}

// Extract implements variants.Protocol: as Probe.
func (p *Protocol) Extract(*variants.Context, int32, int32) (*variants.Message, bool, error) {
	return nil, false, ErrAssumption
}

// PostMatched implements variants.Protocol. There is nothing that Extract could
// have returned.
func (p *Protocol) PostMatched(r *variants.Request, _ *variants.Message) {
	p.Begin(r)
	p.Complete(r, ErrAssumption)
}
