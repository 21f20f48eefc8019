// Package pairtest is two ranks of a protocol over the rings of this process, which a
// test polls: nothing arrives at a rank before its Poll.
package pairtest

import (
	"slices"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/variants"
)

// Pair is the two ranks and the communicator of both.
type Pair[P variants.Protocol] struct {
	Fabric [2]*host.Fabric
	Rank   [2]P
	World  [2]*variants.Context
}

// New makes a pair whose eager messages have at most limit bytes.
func New[P variants.Protocol](limit int, protocol func(me int, f *host.Fabric) P) (*Pair[P], error) {
	return join(limit, host.NewLocalJob(2).JoinLocal, protocol)
}

// NewShared is New over the rings of a job of two processes, which are both this one; it keeps their memory.
func NewShared[P variants.Protocol](limit int, protocol func(me int, f *host.Fabric) P) (*Pair[P], error) {
	job, err := host.NewJob(2)
	if err != nil {
		return nil, err
	}
	return join(limit, func(rank int) (*host.Member, error) { return host.Join(job.File(), rank, "") }, protocol)
}

func join[P variants.Protocol](limit int, member func(rank int) (*host.Member, error),
	protocol func(me int, f *host.Fabric) P) (*Pair[P], error) {
	p := new(Pair[P])
	for i := range 2 {
		m, err := member(i)
		if err != nil {
			return nil, err
		}
		p.Fabric[i] = host.NewFabric(m, limit)
		p.Rank[i] = protocol(i, p.Fabric[i])
		p.Open(i, 0)
	}
	return p, nil
}

// Open makes a rank open generation gen of the communicator.
func (p *Pair[P]) Open(i int, gen uint32) {
	p.World[i] = &variants.Context{Gen: gen, Rank: int32(i)}
	p.Rank[i].Open(p.World[i])
}

// Close makes a rank close it.
func (p *Pair[P]) Close(i int) { p.Rank[i].Close(p.World[i]) }

// Poll gives a rank what has arrived.
func (p *Pair[P]) Poll(i int) {
	for {
		h, payload, ok := p.Fabric[i].Next()
		if !ok {
			break
		}
		p.Rank[i].Deliver(h, payload)
		p.Fabric[i].Release()
	}
	p.Fabric[i].Carry()
	for {
		slot, n, ok := p.Fabric[i].Notified()
		if !ok {
			break
		}
		p.Rank[i].Notified(slot, n)
	}
	p.Rank[i].Progress()
}

// Settle polls both until the requests are done, and reports whether they are.
func (p *Pair[P]) Settle(reqs ...*variants.Request) bool {
	for range 20 {
		p.Poll(0)
		p.Poll(1)
		if !slices.ContainsFunc(reqs, func(r *variants.Request) bool { return !r.Done }) {
			return true
		}
	}
	return false
}

// Send posts a standard send of rank i to the other.
func (p *Pair[P]) Send(i int, tag int32, buf []byte) *variants.Request {
	return p.SendMode(i, tag, buf, variants.Standard)
}

// SendMode posts a send.
func (p *Pair[P]) SendMode(i int, tag int32, buf []byte, mode variants.Mode) *variants.Request {
	r := p.request(i, tag, buf)
	r.Mode = mode
	p.Rank[i].PostSend(r)
	return r
}

// Recv posts a receive of rank i from the other.
func (p *Pair[P]) Recv(i int, tag int32, buf []byte) *variants.Request {
	r := p.request(i, tag, buf)
	r.Recv = true
	p.Rank[i].PostRecv(r)
	return r
}

func (p *Pair[P]) request(i int, tag int32, buf []byte) *variants.Request {
	r := new(variants.Request)
	r.Reset()
	r.Ctx, r.Peer, r.Tag, r.Buf = p.World[i], int32(1-i), tag, buf
	return r
}

// Take posts a receive for an extracted message.
func (p *Pair[P]) Take(i int, m *variants.Message, buf []byte) *variants.Request {
	r := p.request(i, 0, buf)
	p.Rank[i].PostMatched(r, m)
	return r
}
