package channels

import "github.com/exanet-mpi/exanet/variants"

// A channel is leased when a call on it ends and nothing is under way there. The lease is
// revoked when something gets under way on the channel, or concerns all channels of a
// communicator: a posted wildcard, its end, the death of a peer. A message that is sent or
// received at once leaves the lease, and has a number of it.

// LeaseTo implements variants.Lessor.
func (t *Table) LeaseTo(f variants.FastPath) {
	t.lessee = f
	t.Out.MoveAccounts(f.Account)
}

// LeaseOut implements variants.Lessor.
func (t *Table) LeaseOut(ctx *variants.Context, dst, tag int32, name uint64) {
	c := t.comms.Of(ctx)
	l := t.lookOut(c, dst, tag)
	if l.Granted || !l.idle() || l.Peer.Failed {
		return
	}
	e := c.Envelope(variants.EnvD, tag, l.Next)
	e.Src = t.Me
	t.lessee.Grant(&l.Lease, variants.Channel{Sends: true, Name: name, Peer: dst, World: l.Peer.World, Envelope: e})
}

// LeaseIn implements variants.Lessor.
func (t *Table) LeaseIn(ctx *variants.Context, src, tag int32, name uint64) {
	c := t.comms.Of(ctx)
	if c.wild.Head() != nil {
		return
	}
	l := t.lookIn(c, src, tag)
	if l.Granted || !l.idle() || l.Peer.Failed {
		return
	}
	e := c.Envelope(variants.EnvD, tag, l.Next)
	e.Src = l.World
	t.lessee.Grant(&l.Lease, variants.Channel{Name: name, Peer: src, World: l.World, Envelope: e})
}

// RevokeAll implements variants.Lessor.
func (t *Table) RevokeAll() {
	t.revokeIn()
	if t.lessee != nil {
		t.lessee.RevokeAll(true)
	}
}

// revokeIn takes all channels to receive on back.
func (t *Table) revokeIn() {
	if t.lessee != nil {
		t.lessee.RevokeAll(false)
	}
}
