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
		m.loose = true
		p.place(r, position{})
	} else {
		l := m.lane(r.Tag)
		p.place(r, m.at(l, l.received))
		l.received++
		if l.brokenRecv {
			p.Complete(r, errMismatch)
			return
		}
	}
	if r.Len() > p.Limit() {
		p.advertise(c, m, r)
		return
	}
	if x := c.Arrived.Find(r.Peer, r.Tag); x != nil {
		c.Arrived.Drop(x)
		p.receive(c, m, r, x.Envelope, x.Data)
		p.Recycle(x)
		return
	}
	if m.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	if r.Tag != variants.AnyTag {
		if l := m.lane(r.Tag); !m.loose && l.askedRecv.about(r) {
			p.breakLane(c, m, r.Tag, false)
			p.Complete(r, errMismatch)
			return
		}
	}
	c.Posted.Push(r)
}

// advertise sends the RTR of a long receive.
func (p *Protocol) advertise(c *comm, m *remote, r *variants.Request) {
	switch {
	case m.peer.Failed:
		p.Complete(r, variants.ErrPeerDied)
		return
	case !m.loose && c.eagerAt(r):
		p.breakLane(c, m, r.Tag, false)
		p.Complete(r, errMismatch)
		return
	}
	w := p.Expose(r)
	r.Advertised = true
	r.Status.Source = r.Peer
	p.Out.Control(m.peer, c.envelope(variants.RTR, r.Tag, placeOf(r)),
		w.Addr, w.Notify, uint64(r.Len()), w.Layout, uint64(r.Ticket))
}

// deliverShort is the shortest way of the most frequent message: an EnvD from
// the rank that was looked up last, for the oldest posted receive. It does what
// arrive would, or reports false and does nothing.
func (p *Protocol) deliverShort(h packetizer.Header, payload []byte) bool {
	c := p.comms.Last()
	if c == nil || c.eager != variants.Head(h) {
		return false
	}
	m, r := c.last, c.Posted.Head()
	tag, at := int32(uint32(h[2])), h[2]>>32|knownBit
	if m == nil || r == nil || m.peer.World != int32(h[1]>>32) || r.Peer != m.rank || r.Tag != tag || r.Order != at ||
		len(payload) > len(r.Buf) {
		return false
	}
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
	if r := c.Match(e.Src, e.Tag); r != nil {
		p.receive(c, m, r, e, payload)
		return
	}
	if m.fitsNobody(e) {
		p.breakLane(c, m, e.Tag, false)
		p.Out.Consumed(m.peer, len(payload))
		return
	}
	c.Arrived.Keep(p.Unexpected(e, len(payload), payload))
}

// receive ends an eager receive with its message.
func (p *Protocol) receive(c *comm, m *remote, r *variants.Request, e variants.Envelope, payload []byte) {
	r.Status = variants.Status{Source: e.Src, Tag: e.Tag, Size: len(payload)}
	p.Out.Consumed(m.peer, len(payload))
	if m.contradicts(positionOf(e), placeOf(r)) {
		p.breakLane(c, m, e.Tag, false)
		p.Complete(r, errMismatch)
		return
	}
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
