package fastpath

import (
	"math/bits"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// Leases are the channels of a table that a protocol has leased: a variants.FastPath. A
// channel has one place. If another one is there its lease ends.
type Leases struct {
	table   *Table
	wire    func(*Port) // fills in the addresses of a port
	ports   map[int32]*Port
	in, out side
}

// side is the leases of one direction.
type side struct {
	channels *[Channels]Channel
	leases   [Channels]*variants.Lease
	places   [Channels / 64]uint64 // in use
}

// NewLeases makes the leases of a table, which the fast path of rank me of the job
// has. wire fills in the addresses of a port.
func NewLeases(me int, t *Table, wire func(*Port)) *Leases {
	h := variants.Envelope{Kind: variants.Credit, Src: int32(me)}.Pack()
	copy(t.Credit[:], h[:])
	return &Leases{table: t, wire: wire, ports: make(map[int32]*Port), in: side{channels: &t.In},
		out: side{channels: &t.Out}}
}

// Account implements variants.FastPath: the counts are where the fast path reads them.
func (s *Leases) Account(world int32) *variants.Account {
	p := new(Port)
	p.World = world
	s.ports[world] = p
	return &p.Account
}

// Grant implements variants.FastPath.
func (s *Leases) Grant(l *variants.Lease, c variants.Channel) {
	port := s.ports[c.World]
	if port.Out == 0 {
		s.wire(port)
	}
	d := s.side(c.Sends)
	at := Place(c.Name, c.Peer, c.Envelope.Tag)
	if other := d.leases[at]; other != nil {
		d.end(other)
	}
	d.channels[at] = Channel{Comm: c.Name, Peer: c.Peer, Tag: c.Envelope.Tag, Header: c.Envelope.Pack(),
		Port: mem.Ref(port), Leased: 1}
	d.leases[at] = l
	d.places[at/64] |= 1 << (at % 64)
	l.Granted, l.Place = true, at
}

// Revoke implements variants.FastPath.
func (s *Leases) Revoke(l *variants.Lease) { s.side(s.out.leases[l.Place] == l).end(l) }

// Number implements variants.FastPath.
func (s *Leases) Number(l *variants.Lease) { l.Next = uint32(s.header(l)[2] >> 32) }

// Renumber implements variants.FastPath.
func (s *Leases) Renumber(l *variants.Lease) { variants.Number(s.header(l), l.Next) }

// header is that of the next message of a channel.
func (s *Leases) header(l *variants.Lease) *packetizer.Header {
	d := s.side(s.out.leases[l.Place] == l)
	return (*packetizer.Header)(&d.channels[l.Place].Header)
}

// RevokeAll implements variants.FastPath.
func (s *Leases) RevokeAll(sends bool) {
	d := s.side(sends)
	for i := range d.places {
		for d.places[i] != 0 {
			d.end(d.leases[64*i+bits.TrailingZeros64(d.places[i])])
		}
	}
}

func (s *Leases) side(sends bool) *side {
	if sends {
		return &s.out
	}
	return &s.in
}

func (d *side) end(l *variants.Lease) {
	at := l.Place
	x := &d.channels[at]
	l.Next, l.Granted = variants.Unpack(x.Header).Ticket, false
	x.Leased = 0
	d.leases[at] = nil
	d.places[at/64] &^= 1 << (at % 64)
}
