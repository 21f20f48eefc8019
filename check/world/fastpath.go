package world

import (
	"encoding/binary"
	"slices"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/variants"
)

// Leases and direct receives.
//
// Where Config.Leased says so, each rank has a fast path, a model of that of the preload
// library. The protocol leases it channels as in mpi: at the end of each call those that
// the call has used, once nothing is under way on them; some are leased from the
// beginning. Then the next operation of a program can go on three ways, each of
// which is an action of its own:
//
//   - Step: the protocol executes it.
//   - Fast: the fast path does. A send goes into the queue. A short receive is pending
//     there, without the protocol's knowledge. A long one takes a message which
//     is in the queue already.
//   - Direct: a receive takes the next message past the protocol's queues, if
//     that is what would become of it (variants.Taker). A probe finds it in the
//     mailbox, and a matched one takes it out of there.
//
// A pending receive takes its message by Poll. Every call of the protocol posts what
// is pending first, in its order; Enter is a call that does nothing else.

// fastPath implements variants.FastPath.
type fastPath struct {
	r        *rank
	accounts []*variants.Account // by rank
	channels []*channel          // leased
	pending  []*Request          // receives, oldest first
	wanted   []wanted            // channels to be leased
}

// channel is one that has been leased.
type channel struct {
	variants.Channel // its Envelope.Ticket counts on
	lease            *variants.Lease
	pending          int // receives
}

type wanted struct {
	sends bool
	comm  int
	peer  int
	tag   int32
}

// initialTag is that of the channels which are leased from the beginning.
const initialTag = 1

func newFastPath(r *rank) *fastPath {
	f := &fastPath{r: r, accounts: make([]*variants.Account, r.w.cfg.Ranks)}
	for peer := range r.w.cfg.Ranks {
		if peer != r.id && !r.w.cfg.Unleased {
			f.want(true, 0, peer, initialTag)
			f.want(false, 0, peer, initialTag)
		}
	}
	return f
}

// Account implements variants.FastPath.
func (f *fastPath) Account(world int32) *variants.Account {
	if f.accounts[world] == nil {
		f.accounts[world] = &variants.Account{World: world}
	}
	return f.accounts[world]
}

// Grant implements variants.FastPath.
func (f *fastPath) Grant(l *variants.Lease, c variants.Channel) {
	f.channels = append(f.channels, &channel{Channel: c, lease: l})
	l.Granted = true
}

// Revoke implements variants.FastPath.
func (f *fastPath) Revoke(l *variants.Lease) {
	f.Number(l)
	l.Granted = false
	f.channels = slices.DeleteFunc(f.channels, func(c *channel) bool { return c.lease == l })
}

// Number implements variants.FastPath.
func (f *fastPath) Number(l *variants.Lease) {
	if c := f.leased(l); c != nil {
		l.Next = c.Envelope.Ticket
	}
}

// Renumber implements variants.FastPath.
func (f *fastPath) Renumber(l *variants.Lease) {
	if c := f.leased(l); c != nil {
		c.Envelope.Ticket = l.Next
	}
}

// leased returns the channel of a lease.
func (f *fastPath) leased(l *variants.Lease) *channel {
	for _, c := range f.channels {
		if c.lease == l {
			return c
		}
	}
	f.r.w.fail(f.r.id, "a lease is used that has not been granted")
	return nil
}

// RevokeAll implements variants.FastPath.
func (f *fastPath) RevokeAll(sends bool) {
	for _, c := range slices.Clone(f.channels) {
		if c.Sends == sends {
			f.Revoke(c.lease)
		}
	}
}

// want notes a channel to be leased as soon as the protocol does.
func (f *fastPath) want(sends bool, comm, peer int, tag int32) {
	x := wanted{sends, comm, peer, tag}
	if peer >= 0 && tag >= 0 && !slices.Contains(f.wanted, x) {
		f.wanted = append(f.wanted, x)
	}
}

// name is what the fast path knows a communicator by.
func name(comm int) uint64 { return uint64(comm) + 1 }

// find returns the leased channel of an operation, nil if there is none.
func (f *fastPath) find(o Op) *channel {
	for _, c := range f.channels {
		if c.Sends == (o.Kind == Send) && c.Name == name(o.Comm) && int(c.Peer) == o.Peer && c.Envelope.Tag == o.Tag {
			return c
		}
	}
	return nil
}

// enter posts what is pending on the fast path, before the protocol is called.
func (r *rank) enter() {
	if r.fast == nil {
		return
	}
	for _, c := range r.fast.channels {
		c.pending = 0
	}
	for len(r.fast.pending) > 0 {
		q := r.fast.pending[0]
		r.fast.pending = r.fast.pending[1:]
		r.proto.PostRecv(&q.r)
	}
}

// leave ends a call of the protocol: channels are leased.
func (r *rank) leave() {
	if r.fast == nil {
		return
	}
	p := r.proto.(variants.Lessor)
	keep := r.fast.wanted[:0]
	for _, x := range r.fast.wanted {
		o := Op{Kind: Recv, Comm: x.comm, Peer: x.peer, Tag: x.tag}
		if x.sends {
			o.Kind = Send
			p.LeaseOut(r.ctx[x.comm], int32(x.peer), x.tag, name(x.comm))
		} else {
			p.LeaseIn(r.ctx[x.comm], int32(x.peer), x.tag, name(x.comm))
		}
		if r.fast.find(o) == nil {
			keep = append(keep, x)
		}
	}
	r.fast.wanted = keep
}

// used notes that a request of the protocol has been posted or has completed.
func (r *rank) used(q *Request) {
	if r.fast == nil {
		return
	}
	peer, tag := q.Op.Peer, q.Op.Tag
	if q.r.Done && q.Op.Kind == Recv && !q.r.Status.Cancelled && q.r.Status.Source >= 0 {
		peer, tag = int(q.r.Status.Source), q.r.Status.Tag
	}
	r.fast.want(q.Op.Kind == Send, q.Op.Comm, peer, tag)
}

// alternatives appends the other ways of an operation, which is choice n.
func (r *rank) alternatives(acts []Action, o Op, n int) []Action {
	if r.fast == nil {
		return acts
	}
	if r.fast.can(o) {
		acts = append(acts, Action{Kind: Fast, From: uint8(r.id), N: uint8(n)})
	}
	if (o.Kind == Recv || o.Kind == Probe || o.Kind == Extract) && r.mail(o) >= 0 {
		acts = append(acts, Action{Kind: Direct, From: uint8(r.id), N: uint8(n)})
	}
	return acts
}

// can reports whether the fast path can execute an operation.
func (f *fastPath) can(o Op) bool {
	if o.Kind != Send && o.Kind != Recv || o.Sync {
		return false
	}
	c, w := f.find(o), f.r.w
	switch {
	case c == nil:
		return false
	case o.Kind == Send:
		a := f.accounts[c.World]
		room := a.Unmatched+cost(o.Size) <= w.window() && w.room(f.r.id, o.Peer)
		return o.Size <= w.cfg.Limit && a.Shut == 0 && room
	case o.Size <= w.cfg.Limit:
		return true
	}
	return c.pending == 0 && f.there(c, o.Size)
}

// cost of an eager message against the credit.
func cost(size int) int64 { return int64(packetizer.HeaderSize + size) }

// window is the credit of each pair.
func (w *World) window() int64 {
	if w.cfg.Window > 0 {
		return w.cfg.Window
	}
	return variants.CreditWindow
}

// there reports whether the next message of a channel is the next of its queue, and can be
// taken into so many bytes.
func (f *fastPath) there(c *channel, size int) bool {
	q := f.r.w.queue(int(c.World), f.r.id)
	if len(q.msgs) == 0 {
		return false
	}
	m, a := &q.msgs[0], f.accounts[c.World]
	tells := a.Consumed+cost(m.n) >= f.r.w.window()/4
	return m.header == c.Envelope.Pack() && m.n <= size && (!tells || a.Shut == 0 && f.r.w.room(f.r.id, int(c.World)))
}

// take gives the next message of a channel to a receive.
func (f *fastPath) take(c *channel, q *Request) {
	m := f.r.next(int(c.World), 0)
	copy(q.r.Buf, m.payload[:m.n])
	q.r.Status = variants.Status{Source: c.Peer, Tag: c.Envelope.Tag, Size: m.n}
	q.r.Done, q.fast = true, true
	c.Envelope.Ticket++
	a := f.accounts[c.World]
	a.Consumed += cost(m.n)
	if a.Consumed >= f.r.w.window()/4 {
		e := variants.Envelope{Kind: variants.Credit, Src: int32(f.r.id)}
		f.r.dev.TrySend(int(c.World), e.Pack(), binary.LittleEndian.AppendUint64(nil, uint64(a.Consumed)))
		a.Consumed = 0
	}
}

// execute carries out an operation that the fast path can.
func (f *fastPath) execute(o Op) *Request {
	c := f.find(o)
	if o.Kind == Send {
		q := f.r.newSend(o)
		f.r.posted(q)
		f.r.dev.TrySend(int(c.World), c.Envelope.Pack(), q.r.Buf)
		f.accounts[c.World].Unmatched += cost(o.Size)
		c.Envelope.Ticket++
		q.r.Done = true
		return q
	}
	q := f.r.request(o)
	f.r.posted(q)
	if o.Size <= f.r.w.cfg.Limit {
		f.pending = append(f.pending, q)
		c.pending++
	} else {
		f.r.w.looks() // at a queue
		f.take(c, q)
	}
	return q
}

// oldest returns the pending receive that the next message from a rank is for, and its channel;
// -1 if there is none, or it is too short.
func (f *fastPath) oldest(from int) (*channel, int) {
	seen := make(map[*channel]bool)
	for i, q := range f.pending {
		c := f.find(q.Op)
		if q.Op.Peer == from && !seen[c] && f.there(c, q.Op.Size) {
			return c, i
		}
		seen[c] = true
	}
	return nil, -1
}

// credits reports whether the next message from a rank tells of credit.
func (f *fastPath) credits(from int) bool {
	q := f.r.w.queue(from, f.r.id)
	return len(q.msgs) > 0 && variants.Unpack(q.msgs[0].header).Kind == variants.Credit
}

// polls reports whether the fast path can take the next message from a rank.
func (f *fastPath) polls(from int) bool {
	if f.accounts[from] == nil {
		return false
	}
	_, i := f.oldest(from)
	return i >= 0 || f.credits(from)
}

// poll takes the next message from a rank.
func (f *fastPath) poll(from int) {
	if f.credits(from) {
		m := f.r.next(from, 0)
		f.accounts[from].Unmatched -= int64(variants.Word(m.payload[:m.n], 0))
		return
	}
	c, i := f.oldest(from)
	q := f.pending[i]
	f.pending = slices.Delete(f.pending, i, i+1)
	c.pending--
	f.take(c, q)
}

// next takes a message from a rank out of its queue.
func (r *rank) next(from, at int) message {
	w := r.w
	q := w.queue(from, r.id)
	m := q.msgs[at]
	if at == 0 {
		q.msgs = q.msgs[1:]
	} else {
		q.msgs = slices.Delete(slices.Clone(q.msgs), at, at+1)
	}
	q.delivered++
	r.taking = from + 1
	if w.Log != nil {
		w.logMessage(Delivered, from, r.id, &m)
	}
	r.give(m.sum)
	return m
}

// mail returns the rank at whose next message an operation looks first, -1 if there is none.
func (r *rank) mail(o Op) int {
	for from := range r.w.cfg.Ranks {
		if (o.Peer == from || o.Peer < 0) && r.w.mail(from, r.id) {
			return from
		}
	}
	return -1
}

// direct executes a receive or a matched probe as mpi does, which looks at the mailbox first. It returns nil if the
// probe finds nothing.
func (r *rank) direct(o Op) *Request {
	p, ctx := r.proto.(variants.Taker), r.ctx[o.Comm]
	promised := p.TakesNext(ctx, int32(o.Peer), o.Tag)
	m := r.next(r.mail(o), 0)
	payload := m.payload[:m.n]
	if o.Kind == Extract {
		x := p.TakeOut(ctx, int32(o.Peer), o.Tag, &m.header, payload)
		if x == nil {
			r.proto.Deliver(m.header, payload)
			return r.extract(o)
		}
		return r.extracted(o, x)
	}
	q := r.request(o)
	r.posted(q)
	if st, ok := p.Take(ctx, int32(o.Peer), o.Tag, q.r.Buf, &m.header, payload); ok {
		q.r.Status, q.r.Done = st, true
		return q
	}
	before := r.receives()
	r.proto.Deliver(m.header, payload)
	if r.receives() > before {
		promised = promised && o.Peer >= 0 && o.Tag >= 0 // one that names both may come before one with a wildcard
	}
	r.proto.PostRecv(&q.r)
	e := variants.Unpack(m.header)
	wanted := variants.Takes(int32(o.Peer), o.Tag, e.Src, e.Tag)
	if promised && !q.r.Done && e.Kind == variants.EnvD && wanted && e.Ctx == ctx.ID && e.Gen == ctx.Gen {
		r.w.fail(r.id, "%s does not get the next message, which the protocol has said that it would", r.w.Name(q))
	}
	return q
}

// receives is the number of receives that have completed.
func (r *rank) receives() (n int) {
	for _, q := range r.reqs {
		if q.Op.Kind == Recv && q.r.Done {
			n++
		}
	}
	return n
}

// peek is probe for a message that is still in the mailbox.
func (r *rank) peek(o Op) bool {
	m := &r.w.queue(r.mail(o), r.id).msgs[0]
	r.give(m.sum)
	st, found := r.proto.(variants.Taker).Peek(r.ctx[o.Comm], int32(o.Peer), o.Tag, &m.header, m.n)
	if !found {
		return r.probe(o)
	}
	r.found(o, st)
	return true
}

// digest is what a fast path holds.
func (f *fastPath) digest() (h uint64) {
	for i, q := range f.pending {
		h += mix(uint64(q.ID)<<8 | uint64(i) | 1<<40)
	}
	for _, c := range f.channels {
		h += mix(mix(c.Name<<32^uint64(uint32(c.Envelope.Tag))) ^ uint64(c.Envelope.Gen)<<48 ^
			uint64(uint32(c.Peer))<<33 ^ bit(c.Sends)<<32 ^ uint64(c.Envelope.Ticket))
	}
	for _, x := range f.wanted {
		h += mix(uint64(x.comm)<<48 | uint64(x.peer)<<40 | uint64(uint32(x.tag))<<1 | bit(x.sends) | 1<<60)
	}
	return h
}
