package optimistic

import (
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/variants"
)

// TrySend implements variants.Protocol.
func (p *Protocol) TrySend(ctx *variants.Context, dst, tag int32, buf []byte) bool {
	if len(buf) > p.Limit() {
		return false
	}
	c := p.comms.Of(ctx)
	m := p.remote(c, dst)
	l := m.channel(tag)
	if !p.Out.Eager(m.peer, c.envelope(variants.EnvD, tag, m.at(l, l.sent)), buf, false) {
		return false
	}
	l.sent++
	m.sent++
	return true
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
	l := m.channel(r.Tag)
	r.Ticket = p.next()
	p.place(r, m.at(l, l.sent))
	l.sent++
	if r.Len() <= p.Limit() {
		m.sent++
		if r.Mode == variants.Synchronous {
			p.Out.Insist(m.peer, c.envelope(variants.EnvDS, r.Tag, placeOf(r)), r.Buf)
			r.Delivered = true
			m.news = true
			m.synced.Push(r)
			p.Await(m.peer)
			return
		}
		p.Out.Insist(m.peer, c.envelope(variants.EnvD, r.Tag, placeOf(r)), r.Buf)
		p.Complete(r, nil)
		return
	}
	if a, ok := m.take(&p.Done, r); ok {
		p.Count.FastReceives++
		p.Write(m.peer, r, a.Room, false)
		return
	}
	m.news = true
	m.posted.Push(r)
	if m.asked {
		p.ask(c, m, r, longSend)
	}
}

// takes reports whether an advertised receive takes a send.
func (m *remote) takes(a rtr, r *variants.Request) bool {
	return (a.tag == r.Tag || a.tag == variants.AnyTag) && !m.contradicts(a.position, placeOf(r))
}

// take returns the oldest advertised receive that takes a send.
func (m *remote) take(w *workcount.Count, r *variants.Request) (rtr, bool) {
	for i, a := range m.rtrs {
		w.Searched++
		if m.takes(a, r) {
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
	a := rtr{Room: variants.RoomOf(payload), number: uint32(variants.Word(payload, 3)), tag: e.Tag,
		position: positionOf(e)}
	for r := range m.posted.All() {
		p.Done.Searched++
		if m.takes(a, r) {
			m.posted.Remove(r)
			p.Write(m.peer, r, a.Room, false)
			return
		}
	}
	m.rtrs = append(m.rtrs, a)
	p.Done.Objects++
}

func (p *Protocol) onAck(c *comm, e variants.Envelope) {
	p.acknowledged(p.remote(c, e.Src), e.Tag, e.Ticket, nil)
}

// acknowledged ends the synchronous eager send at a position, if there is one.
func (p *Protocol) acknowledged(m *remote, tag int32, n uint32, err error) {
	for r := range m.synced.All() {
		if r.Tag == tag && placeOf(r).n == n {
			m.synced.Remove(r)
			p.Complete(r, err)
			return
		}
	}
}
