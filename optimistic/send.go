package optimistic

import (
	"github.com/exanet-mpi/exanet/variants"
)

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comms.Of(ctx)
	m := p.remote(c, dst)
	l := m.lane(tag)
	if l.brokenSend {
		return false
	}
	if !p.Out.Eager(m.peer, c.envelope(variants.EnvD, tag, m.at(l, l.sent)), buf, false) {
		return false
	}
	l.sent++
	return true
}

// Crowded implements variants.Protocol.
func (p *Protocol) Crowded(ctx *variants.Context, dst, tag int32, n int) bool {
	m := p.remote(p.comms.Of(ctx), dst)
	return !m.lane(tag).brokenSend && p.Core.Crowded(m.peer, n)
}

// PostSend implements variants.Protocol.
func (p *Protocol) PostSend(r *variants.Request) {
	c := p.comms.Of(r.Ctx)
	m := p.remote(c, r.Peer)
	p.Begin(r)
	if m.peer.Failed {
		p.Complete(r, variants.ErrPeerDied)
		return
	}
	l := m.lane(r.Tag)
	r.Ticket = p.next()
	p.place(r, m.at(l, l.sent))
	l.sent++
	if l.brokenSend {
		p.Complete(r, errMismatch)
		return
	}
	if r.Len() <= p.Limit() {
		if r.Mode == variants.Synchronous {
			p.Out.Insist(m.peer, c.envelope(variants.EnvDS, r.Tag, placeOf(r)), r.Buf)
			r.Delivered = true
			m.synced.Push(r)
			return
		}
		p.Out.Insist(m.peer, c.envelope(variants.EnvD, r.Tag, placeOf(r)), r.Buf)
		p.Complete(r, nil)
		return
	}
	if a, ok := m.take(r.Tag); ok {
		p.Count.FastReceives++
		p.grant(c, m, r, a)
		return
	}
	if !m.loose && l.askedSend.about(r) {
		p.breakLane(c, m, r.Tag, true)
		p.Complete(r, errMismatch)
		return
	}
	m.posted.Push(r)
}

// take returns the oldest advertised receive that takes a tag.
func (m *remote) take(tag int32) (rtr, bool) {
	for i, a := range m.rtrs {
		if a.tag == tag || a.tag == variants.AnyTag {
			m.rtrs = append(m.rtrs[:i], m.rtrs[i+1:]...)
			return a, true
		}
	}
	return rtr{}, false
}

// onRTR takes the advertisement of a long receive: for the oldest long send
// that it takes, or for one to come.
func (p *Protocol) onRTR(c *comm, e variants.Envelope, payload []byte) {
	m := p.remote(c, e.Src)
	a := rtr{Room: variants.RoomOf(payload), number: uint32(variants.Word(payload, 4)), tag: e.Tag, position: positionOf(e)}
	for r := m.posted.Head(); r != nil; r = r.Next() {
		if a.tag == r.Tag || a.tag == variants.AnyTag {
			m.posted.Remove(r)
			p.grant(c, m, r, a)
			return
		}
	}
	m.rtrs = append(m.rtrs, a)
}

// grant writes a long send into the receive that it has matched.
func (p *Protocol) grant(c *comm, m *remote, r *variants.Request, a rtr) {
	if m.contradicts(a.position, placeOf(r)) {
		m.rtrs = append(m.rtrs, a) // its owner will ask for it
		p.breakLane(c, m, r.Tag, true)
		p.Complete(r, errMismatch)
		return
	}
	p.Write(m.peer, r, a.Room, false)
}

func (p *Protocol) onAck(c *comm, e variants.Envelope) {
	m := p.remote(c, e.Src)
	for r := m.synced.Head(); r != nil; r = r.Next() {
		if r.Tag == e.Tag && placeOf(r).n == e.Ticket {
			m.synced.Remove(r)
			p.Complete(r, nil)
			return
		}
	}
}
