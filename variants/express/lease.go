package express

import (
	"math/bits"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Leases are the channels of a table that a protocol has leased: a variants.FastPath. A
// channel has one place. If another one is there its lease ends.
type Leases struct {
	table   *Table
	wire    func(*Port) // fills in the addresses of a port
	ports   map[int32]*Port
	in, out side
	listed  [Lanes]uint16 // by place: where it is in the table's Listed
}

// side is the leases of one direction.
type side struct {
	lanes  *[Lanes]Lane
	leases [Lanes]*variants.Lease
	places [Lanes / 64]uint64 // in use
}

// NewLeases makes the leases of a table, which the fast path of rank me of the job
// has. wire fills in the addresses of a port.
func NewLeases(me int, t *Table, wire func(*Port)) *Leases {
	h := variants.Envelope{Kind: variants.Credit, Src: int32(me)}.Pack()
	copy(t.Credit[:], h[:])
	return &Leases{table: t, wire: wire, ports: make(map[int32]*Port), in: side{lanes: &t.In}, out: side{lanes: &t.Out}}
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
		s.end(d, other)
	}
	h := c.Envelope.Pack()
	d.lanes[at] = Lane{Comm: c.Name, Peer: c.Peer, Tag: c.Envelope.Tag, Head: h[0], Word: h[1], Port: mem.Ref(port), Next: l.Next, Lent: 1}
	d.leases[at] = l
	d.places[at/64] |= 1 << (at % 64)
	l.Granted, l.Place = true, at
	if !c.Sends {
		s.list(at)
	}
}

// Revoke implements variants.FastPath.
func (s *Leases) Revoke(l *variants.Lease) { s.end(s.side(s.out.leases[l.Place] == l), l) }

// RevokeAll implements variants.FastPath.
func (s *Leases) RevokeAll(sends bool) {
	d := s.side(sends)
	for i := range d.places {
		for d.places[i] != 0 {
			s.end(d, d.leases[64*i+bits.TrailingZeros64(d.places[i])])
		}
	}
}

func (s *Leases) side(sends bool) *side {
	if sends {
		return &s.out
	}
	return &s.in
}

func (s *Leases) end(d *side, l *variants.Lease) {
	at := l.Place
	x := &d.lanes[at]
	l.Next, l.Granted = x.Next, false
	x.Lent = 0
	d.leases[at] = nil
	d.places[at/64] &^= 1 << (at % 64)
	if d == &s.in {
		s.unlist(at)
	}
}

// list and unlist keep the places of the channels to receive on.
func (s *Leases) list(at uint32) {
	t := s.table
	s.listed[at], t.Listed[t.Ins] = uint16(t.Ins), uint16(at)
	t.Ins++
}

func (s *Leases) unlist(at uint32) {
	t := s.table
	t.Ins--
	last, hole := t.Listed[t.Ins], s.listed[at]
	t.Listed[hole], s.listed[last] = last, hole
}
