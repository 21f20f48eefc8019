package mpi

import (
	"errors"
	"math"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/express"
)

// Express is a rank's end of the express lane (package express): the table that it
// shares with code outside of Go, and what has become of the receives noted there.
// The code knows communicators by handles, which Lend tells.
type Express struct {
	rank  *rank
	world *Comm
	table *express.Table
	proto lessor
	fab   *host.Fabric
	comms map[uint64]*Comm
	posts [express.Slots]*Request // of slots that have been posted
}

// lessor is a protocol that leases channels: package ticket.
type lessor interface {
	variants.Lessor
	Passed(ctx *variants.Context, src, tag int32)
	Extracted(ctx *variants.Context, src, tag int32, payload []byte) *variants.Message
	Strays() int
}

// ErrNoExpress is the error of OpenExpress where there is no express lane.
var ErrNoExpress = errors.New("no express lane")

// OpenExpress opens the express lane of c's rank for table, which must not move,
// nor go, as long as the process lives. From then on whoever has the rank's lock has
// the table's gate as well. outside is the address of the count of WithOutside.
// It is to be called before any other goroutine makes calls. The error wraps
// ErrNoExpress if the protocol or the device has no express lane, or if calls are
// counted (EXANET_STATS), which those of the express lane would not be.
func (c *Comm) OpenExpress(table *express.Table) (*Express, error) {
	if err := c.usable("OpenExpress"); err != nil {
		return nil, err
	}
	k := c.rank
	proto, leases := any(k.proto).(lessor)
	fab, wired := any(k.fab).(*host.Fabric)
	if !leases || !wired || k.stats != nil {
		return nil, c.fail("OpenExpress", noValue, noValue, noValue, ErrNoExpress, "")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	x := &Express{rank: k, world: c, table: table, proto: proto, fab: fab, comms: make(map[uint64]*Comm)}
	table.Limit, table.Window = uint32(k.limit), variants.CreditWindow
	table.Cells, table.Shift, table.Bulk, table.Cell = fab.Geometry()
	table.Berths, table.Step = fab.Berths()
	table.Own = table.Berths + uint64(fab.Rank())*uint64(table.Step)
	switch {
	case k.level == ThreadMultiple:
	case !fab.Crowded():
		table.Spins = expressSpins
	case fab.Yielding():
		table.Spins, table.Crowd = 1, express.Yielding
	case fab.Fenced():
		table.Spins, table.Crowd = 1, express.Napping
	}
	if fab.Fenced() {
		table.Fenced = 1
	}
	table.Direct, table.Most = math.MaxUint32, table.Limit
	if table.Spins > 0 && table.Crowd == express.Roomy {
		table.Direct, table.Most = directLeast, max(table.Limit, directMost)
		if fab.Dear() {
			table.Direct = table.Limit + 1
		}
	}
	if k.Outside.Busy != nil {
		table.Outside = mem.Ref(k.Outside.Busy)
	}
	proto.LeaseTo(express.NewLeases(fab.Rank(), table, func(p *express.Port) {
		p.Out, p.In, p.Bell = fab.Wires(int(p.World))
		if table.Direct < math.MaxUint32 {
			p.Pid = fab.Attached(int(p.World))
		}
	}))
	table.Ranks, table.PerCore = uint32(c.Size()), uint32(fab.PerCore())
	table.Open(k.level == ThreadMultiple) // the lock, which we have, now includes it
	k.express, k.mu.Gate = x, x
	return x, nil
}

// expressSpins is how often the express lane looks for a message, some microseconds,
// before it hands the core over, or sleeps. Where ranks share cores it looks once.
const expressSpins = 4000

// Messages of so many bytes have a rendezvous on the express lane, or where attach is dear those that the ring does not
// take: shorter ones are sooner through the ring if the ranks work on their data, and with longer ones the way into
// Go does not matter.
const (
	directLeast = 16 << 10
	directMost  = 1 << 20
)

// Enter, TryEnter and Leave are the gate of the rank's lock. Who has it posts the receives
// that have been noted meanwhile.
func (x *Express) Enter() {
	x.table.Enter()
	x.entered()
}

// TryEnter implements progress.Gate.
func (x *Express) TryEnter() bool {
	if !x.table.TryEnter() {
		return false
	}
	x.entered()
	return true
}

func (x *Express) entered() {
	if x.table.First|x.table.Sends != 0 {
		x.post()
	}
}

// Leave implements progress.Gate.
func (x *Express) Leave() {
	x.table.Armed, x.table.Strays = 0, uint32(x.proto.Strays())
	if x.rank.Listens() {
		x.table.Armed = 1
	}
	x.table.Leave()
}

// post posts the noted receives, in their order, but for those whose messages are there, and the
// sends that have gone on, but for those whose messages have been passed.
func (x *Express) post() {
	k := x.rank
	for {
		p, ok := x.table.PopSend(x.write)
		if !ok {
			break
		}
		if !p.Passed {
			k.proto.PostSend(&x.begin(p.Slot).m.Request)
		}
	}
	var missed *express.Port
	for {
		p, ok := x.table.Pop(x.read)
		if !ok {
			break
		}
		if p.Missed != nil {
			missed = p.Missed
		}
		if p.Passed {
			s := &x.table.Slots[p.Slot]
			x.proto.Passed(x.comms[s.Comm].p2p, s.Source, s.Tag)
			continue
		}
		k.proto.PostRecv(&x.begin(p.Slot).m.Request)
	}
	if missed != nil {
		missed.Miss()
	}
}

// begin makes a slot's request the protocol's.
func (x *Express) begin(slot int) *Request {
	k, s := x.rank, &x.table.Slots[slot]
	c, op := x.comms[s.Comm], "Irecv"
	if s.Sends() {
		op = "Isend"
	}
	q := k.request(c, op)
	q.m, q.state = k.take(), pending
	q.m.Recv, q.m.Ctx, q.m.Peer, q.m.Tag = !s.Sends(), c.p2p, s.Source, s.Tag
	q.m.Buf = mem.At(s.Buf, int(s.Room))
	x.posts[slot] = q
	return q
}

// read and write copy between a rank, which must be alive, and this one.
func (x *Express) read(p *express.Port, addr uint64, b []byte) bool {
	return x.fab.Reaches(int(p.World)) && x.fab.Read(int(p.World), addr, b)
}

func (x *Express) write(p *express.Port, addr uint64, b []byte) bool {
	return x.fab.Reaches(int(p.World)) && x.fab.Write(int(p.World), addr, b)
}

// Extracted makes a Message of one that has been taken out of the ring of a lane, that of a
// communicator's handle, where Mprobe would have found it. If the communicator has been freed
// since, that of all ranks stands for it.
func (x *Express) Extracted(handle uint64, source, tag int32, payload []byte) *Message {
	k := x.rank
	k.mu.Lock()
	c := x.comms[handle]
	if c == nil {
		c = x.world
	}
	m := x.proto.Extracted(c.p2p, source, tag, payload)
	k.mu.Unlock()
	return c.message(m, Status{Source: int(source), Tag: int(tag), bytes: len(payload)})
}

// Address is that of the table.
func (x *Express) Address() uint64 { return mem.Ref(x.table) }

// Lend makes the lanes of c known by a handle, not 0, from now until c is freed.
func (x *Express) Lend(c *Comm, handle uint64) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.local == nil { // of an intercommunicator no message is short enough
		c.handle, x.comms[handle] = handle, c
	}
}

// retract ends Lend, with the lock held.
func (x *Express) retract(c *Comm) {
	if x != nil && c.handle != 0 {
		x.proto.RevokeAll()
		for i := range x.table.Kept {
			if k := &x.table.Kept[i]; k.Comm == c.handle {
				k.Comm = 0
			}
		}
		delete(x.comms, c.handle)
		c.handle = 0
	}
}

// lends reports whether there may be another message of n bytes on the express lane.
func (c *Comm) lends(n int) bool { return c.handle != 0 && n <= int(c.rank.express.table.Most) }

// lendOut lends the lane on which a call has sent a message, with the lock held.
func (c *Comm) lendOut(dest, tag int) {
	if c.handle != 0 && dest >= 0 {
		c.rank.express.proto.LeaseOut(c.p2p, int32(dest), int32(tag), c.handle)
	}
}

// lendIn lends the lane on which a call has received a message, with the lock held: that of the
// message, if the receive was for any.
func (c *Comm) lendIn(r *variants.Request) {
	source, tag := r.Peer, r.Tag
	if source == variants.AnySource || tag == variants.AnyTag {
		source, tag = r.Status.Source, r.Status.Tag
	}
	c.lendInFrom(source, tag)
}

func (c *Comm) lendInFrom(source, tag int32) {
	if c.handle != 0 && source >= 0 && tag >= 0 {
		c.rank.express.proto.LeaseIn(c.p2p, source, tag, c.handle)
	}
}

// lendPair lends the lane of a collective of two ranks that has been one message, of n bytes,
// with the lock held.
func (x *collective) lendPair(n int) {
	c := x.c
	if x.Ranks != 2 || x.err != nil || !c.lends(n) {
		return
	}
	proto, handle, other := c.rank.express.proto, c.handle^express.Collective, int32(1-x.Rank)
	sends := false
	switch x.Op {
	case coll.Bcast, coll.Scatter, coll.Scatterv:
		sends = x.Rank == x.Root
	case coll.Gather, coll.Gatherv, coll.Reduce:
		sends = x.Rank != x.Root
	case coll.Exscan:
		sends = x.Rank == 0
	default:
		return
	}
	if sends {
		proto.LeaseOut(c.coll, other, x.tag, handle)
	} else {
		proto.LeaseIn(c.coll, other, x.tag, handle)
	}
}

// Request returns the request of a slot that is in use, and the handle of its
// communicator. The slot stays in use until Release.
func (x *Express) Request(slot int) (q *Request, handle uint64) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &x.table.Slots[slot]
	if s.State == express.Done {
		c := x.comms[s.Comm]
		if c == nil {
			c = x.world // it has been freed meanwhile
		}
		if s.Sends() {
			q = k.request(c, "Isend")
		} else {
			q = k.request(c, "Irecv")
			q.m, q.state = k.take(), pending
			q.m.Recv, q.m.Ctx, q.m.Peer, q.m.Tag = true, c.p2p, s.Source, s.Tag
			q.m.Done, q.m.Status = true, variants.Status{Source: s.Source, Tag: s.Tag, Size: int(s.Size)}
		}
		x.posts[slot], s.State = q, express.Posted
	}
	if s.State != express.Posted {
		return nil, 0
	}
	return x.posts[slot], s.Comm
}

// Release gives a slot back whose request has ended.
func (x *Express) Release(slot int) {
	k := x.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	x.posts[slot] = nil
	x.table.Release(slot)
}

// Refill tells a rank that it has room again in its ring to this one, for want of which
// it had to wait. It takes no lock.
func (x *Express) Refill(rank int) { x.fab.Refill(rank) }

// Sent returns a request as Isend makes it for a message that has left.
func (x *Express) Sent() *Request { return x.world.immediate("Isend") }
