package mpi

import (
	"time"

	"github.com/exanet-mpi/exanet/variants"
)

// Blocking point-to-point calls (thesis 3.2.3, 3.6.2, 3.10).

// Send sends buf to rank dest (MPI_Send). It returns when buf may be changed:
// at once for messages that fit one of the device's (16 KiB on a host), as
// long as dest has not left 8 MiB of earlier ones unreceived; else when the
// receive has been posted and the data written.
func Send[T Element](c *Comm, buf []T, dest, tag int) error {
	b, err := valid(c, "Send", buf, dest, tag, false)
	if err != nil || dest == ProcNull {
		return err
	}
	k := c.rank
	if k.check != nil {
		d := of(buf)
		return c.send("Send", variants.Standard, &d, dest, tag)
	}
	if s := k.stats; s != nil { // timed costs more than this
		defer s.record("Send", len(b), time.Now())
	}
	k.mu.Lock()
	if k.proto.TrySend(c.p2p, int32(dest), int32(tag), b) {
		k.mu.Unlock()
		return nil
	}
	return c.sendAndWait("Send", c.p2p, variants.Standard, raw(b), dest, tag)
}

// Ssend sends buf and returns when the matching receive has been posted
// (MPI_Ssend).
func Ssend[T Element](c *Comm, buf []T, dest, tag int) error {
	d := of(buf)
	return c.send("Ssend", variants.Synchronous, &d, dest, tag)
}

// Rsend sends buf to a receive that the caller knows to be posted (MPI_Rsend).
// It behaves as Send (thesis 3.10).
func Rsend[T Element](c *Comm, buf []T, dest, tag int) error {
	d := of(buf)
	return c.send("Rsend", variants.Standard, &d, dest, tag)
}

// Recv receives a message of at most len(buf) elements from rank source, or
// from AnySource, with the given tag or AnyTag (MPI_Recv). If the message is
// longer, buf is unchanged and the error wraps ErrTruncate.
func Recv[T Element](c *Comm, buf []T, source, tag int) (Status, error) {
	b, err := valid(c, "Recv", buf, source, tag, true)
	if err != nil {
		return Status{}, err
	}
	if source == ProcNull {
		return nullStatus, nil
	}
	if c.rank.check != nil {
		d := of(buf)
		return c.recv("Recv", &d, source, tag)
	}
	if s := c.rank.stats; s != nil { // timed costs more than this
		defer s.record("Recv", len(b), time.Now())
	}
	c.rank.mu.Lock()
	if st, ok := c.receiveNow(c.p2p, b, source, tag); ok {
		return st, nil
	}
	return c.recvAndWait("Recv", c.p2p, raw(b), source, tag)
}

// Sendrecv sends to dest and receives from source at the same time
// (MPI_Sendrecv).
func Sendrecv[T Element](c *Comm, send []T, dest, sendTag int, recv []T, source, recvTag int) (Status, error) {
	return c.sendrecv("Sendrecv", of(send), dest, sendTag, of(recv), source, recvTag)
}

// SendrecvReplace sends buf to dest and receives into the same buf from source
// (MPI_Sendrecv_replace). What is sent is copied first.
func SendrecvReplace[T Element](c *Comm, buf []T, dest, sendTag, source, recvTag int) (Status, error) {
	return c.sendrecvReplace("SendrecvReplace", of(buf), dest, sendTag, source, recvTag)
}

func (c *Comm) send(op string, mode variants.Mode, d *parcel, dest, tag int) error {
	if err := c.check(op, d, dest, tag, false); err != nil || dest == ProcNull {
		return err
	}
	k := c.rank
	defer k.timed(op, d.size()).end()
	k.mu.Lock()
	if mode == variants.Standard && !d.gaps() && k.proto.TrySend(c.p2p, int32(dest), int32(tag), d.buf) {
		c.leaseOut(dest, tag)
		k.mu.Unlock()
		return nil
	}
	return c.sendAndWait(op, c.p2p, mode, d.memory, dest, tag)
}

func (c *Comm) recv(op string, d *parcel, source, tag int) (Status, error) {
	if err := c.check(op, d, source, tag, true); err != nil {
		return Status{}, err
	}
	if source == ProcNull {
		return nullStatus, nil
	}
	defer c.rank.timed(op, d.size()).end()
	c.rank.mu.Lock()
	if !d.gaps() {
		if st, ok := c.receiveNow(c.p2p, d.buf, source, tag); ok {
			return st, nil
		}
	}
	return c.recvAndWait(op, c.p2p, d.memory, source, tag)
}

func (c *Comm) sendrecv(op string, send parcel, dest, sendTag int, recv parcel, source, recvTag int) (Status, error) {
	if err := c.checkPair(op, &send, dest, sendTag, &recv, source, recvTag); err != nil {
		return Status{}, err
	}
	defer c.rank.timed(op, send.size()+recv.size()).end()
	c.rank.mu.Lock()
	return c.exchange(op, c.p2p, send.memory, dest, sendTag, recv.memory, source, recvTag)
}

func (c *Comm) sendrecvReplace(op string, d parcel, dest, sendTag, source, recvTag int) (Status, error) {
	send := d
	if err := c.checkPair(op, &send, dest, sendTag, &d, source, recvTag); err != nil {
		return Status{}, err
	}
	defer c.rank.timed(op, 2*d.size()).end()
	out := borrow[byte](c, send.size())
	defer giveBack(c, out)
	send.pack(out, 0)
	c.rank.mu.Lock()
	return c.exchange(op, c.p2p, raw(out), dest, sendTag, d.memory, source, recvTag)
}

func (c *Comm) checkPair(op string, send *parcel, dest, sendTag int, recv *parcel, source, recvTag int) error {
	if err := c.check(op, send, dest, sendTag, false); err != nil {
		return err
	}
	return c.check(op, recv, source, recvTag, true)
}

// eagerTries bounds how often a send tries again to get a short message past a
// full device before it leaves a copy behind.
const eagerTries = 256

// trySend sends a message that needs no request, or reports false. It may
// release the lock in between.
func (k *rank) trySend(ctx *variants.Context, dest, tag int32, b []byte) bool {
	return k.proto.TrySend(ctx, dest, tag, b) || k.squeeze(ctx, dest, tag, b)
}

// squeeze tries for a while to send a short message that a full device has
// refused. It may release the lock in between.
func (k *rank) squeeze(ctx *variants.Context, dest, tag int32, b []byte) bool {
	for range eagerTries {
		if !k.proto.Full(ctx, dest, len(b)) {
			return false
		}
		k.Relax()
		if k.proto.TrySend(ctx, dest, tag, b) {
			return true
		}
	}
	return false
}

// sendAndWait sends d. If it has no gaps TrySend has refused it. It is called with the lock held and releases it.
func (c *Comm) sendAndWait(op string, ctx *variants.Context, mode variants.Mode, d memory, dest, tag int) error {
	k := c.rank
	if mode == variants.Standard && !d.gaps() && k.squeeze(ctx, int32(dest), int32(tag), d.buf) {
		k.mu.Unlock()
		return nil
	}
	if d.size() > k.limit {
		k.Poll() // its receive may have been advertised meanwhile, which saves an RTS
	}
	r := k.take()
	r.Ctx, r.Mode, r.Peer, r.Tag = ctx, mode, int32(dest), int32(tag)
	k.load(r, d)
	if k.sentPacked(r, d) {
		k.put(r)
		k.mu.Unlock()
		return nil
	}
	k.proto.PostSend(&r.Request)
	if !r.Done && mode == variants.Standard && d.small(k) {
		k.detach(r, 0)
		k.mu.Unlock()
		return nil
	}
	k.until(func() bool { return r.Done }, c, op, &r.Request)
	r.settle()
	err := c.outcome(op, &r.Request)
	k.put(r)
	if ctx == c.p2p && c.leasable(d.size()) {
		c.leaseOut(dest, tag)
	}
	k.mu.Unlock()
	return err
}

// lookFirst takes what has arrived before a long message is posted, if the protocol goes by who comes first.
func (k *rank) lookFirst(size int) {
	if k.looksFirst && size > k.limit {
		k.TakeIn()
	}
}

// recvAndWait receives into d. It is called with the lock held, behind receiveNow if d has no gaps, and releases it.
func (c *Comm) recvAndWait(op string, ctx *variants.Context, d memory, source, tag int) (Status, error) {
	k := c.rank
	r := k.take()
	r.Recv, r.Ctx, r.Peer, r.Tag = true, ctx, int32(source), int32(tag)
	k.load(r, d)
	k.proto.PostRecv(&r.Request)
	k.until(func() bool { return r.Done }, c, op, &r.Request)
	r.settle()
	st, err := fromProtocol(r.Status), c.outcome(op, &r.Request)
	if ctx == c.p2p && c.leasable(d.size()) {
		c.leaseIn(&r.Request)
	}
	k.put(r)
	k.mu.Unlock()
	return st, err
}

// exchange sends and receives at once. It is called with the lock held and
// releases it.
func (c *Comm) exchange(op string, ctx *variants.Context, out memory, dest, sendTag int, in memory, source,
	recvTag int) (Status, error) {
	k := c.rank
	r, s := k.take(), k.take()
	r.Done, s.Done = source == ProcNull, dest == ProcNull
	st := nullStatus
	if !r.Done {
		r.Recv, r.Ctx, r.Peer, r.Tag = true, ctx, int32(source), int32(recvTag)
		k.load(r, in)
		k.proto.PostRecv(&r.Request)
	}
	if !s.Done {
		s.Ctx, s.Peer, s.Tag = ctx, int32(dest), int32(sendTag)
		k.load(s, out)
		k.proto.PostSend(&s.Request)
	}
	k.until(func() bool { return r.Done && s.Done }, c, op, &r.Request, &s.Request)
	r.settle()
	s.settle()
	if source != ProcNull {
		st = fromProtocol(r.Status)
	}
	err := c.outcome(op, &s.Request)
	if err == nil {
		err = c.outcome(op, &r.Request)
	}
	if ctx == c.p2p && c.leasable(max(out.size(), in.size())) {
		c.leaseOut(dest, sendTag)
		if source != ProcNull {
			c.leaseIn(&r.Request)
		}
	}
	k.put(r)
	k.put(s)
	k.mu.Unlock()
	return st, err
}
