package mpi

import (
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// schedule is the work of a request that is more than one message. The calls
// come with the rank's lock held.
type schedule interface {
	// begin posts what needs nothing to have happened before, for a persistent
	// request at every Start; advance carries on and reports whether all is
	// done. Neither waits: a schedule that is not done has made its batch come
	// to the rank's ready ones when there is more to do.
	begin()
	advance() (done bool)
	outcome() (Status, error)
	requests() *variants.Batch
}

// run begins the schedule of a request, with the lock held.
func (k *rank) run(q *Request) {
	q.over = false
	q.become(pending)
	q.s.requests().Owner = q
	q.s.begin()
	k.UnderWay++
	k.advance(q)
	k.Leave()
}

// advance carries on the schedule of a request.
func (k *rank) advance(q *Request) {
	if q.s.advance() {
		q.over = true
		k.UnderWay--
		if q.w != nil {
			k.watched.completed(q.w)
		}
	}
}

// pair is the schedule of Isendrecv.
type pair struct {
	c          *Comm
	op         string
	out, in    memory
	dest, from int
	sendTag    int
	recvTag    int
	send, recv *pooled
	batch      variants.Batch
	image      []byte // what is sent while its memory is received into, kept for reuse
}

// imageKept bounds the memory that a spare pair holds on to, in bytes.
const imageKept = 64 << 10

// newPair takes a pair whose memory is still to be told.
func (c *Comm) newPair(op string, dest, sendTag, source, recvTag int) *pair {
	k := c.rank
	k.mu.Lock()
	p := k.pairs.take()
	k.mu.Unlock()
	*p = pair{c: c, op: op, dest: dest, from: source, sendTag: sendTag, recvTag: recvTag, image: p.image}
	return p
}

// replace makes a pair send what is in the memory that it receives into, which is both send and recv.
func (p *pair) replace(send, recv memory) {
	n := send.size()
	p.image = slices.Grow(p.image[:0], n)[:n]
	send.pack(p.image, 0)
	p.out, p.in = raw(p.image), recv
}

// putPair takes a pair back that has ended.
func (k *rank) putPair(p *pair) {
	if cap(p.image) > imageKept {
		p.image = nil
	}
	*p = pair{image: p.image}
	k.pairs.put(p)
}

// Isendrecv begins to send to dest and to receive from source
// (MPI_Isendrecv of MPI 4). The Status of the request is that of the receive.
func Isendrecv[T Element](c *Comm, send []T, dest, sendTag int, recv []T, source, recvTag int) (*Request, error) {
	return c.isendrecv("Isendrecv", of(send), dest, sendTag, of(recv), source, recvTag)
}

func (c *Comm) isendrecv(op string, send parcel, dest, sendTag int, recv parcel, source,
	recvTag int) (*Request, error) {
	if err := c.checkPair(op, &send, dest, sendTag, &recv, source, recvTag); err != nil {
		return nil, err
	}
	p := c.newPair(op, dest, sendTag, source, recvTag)
	p.out, p.in = send.memory, recv.memory
	return p.post(), nil
}

// IsendrecvReplace begins to send buf to dest and to receive into the same buf
// from source (MPI_Isendrecv_replace of MPI 4).
func IsendrecvReplace[T Element](c *Comm, buf []T, dest, sendTag, source, recvTag int) (*Request, error) {
	return c.isendrecvReplace("IsendrecvReplace", of(buf), dest, sendTag, source, recvTag)
}

func (c *Comm) isendrecvReplace(op string, d parcel, dest, sendTag, source, recvTag int) (*Request, error) {
	send := d
	if err := c.checkPair(op, &send, dest, sendTag, &d, source, recvTag); err != nil {
		return nil, err
	}
	p := c.newPair(op, dest, sendTag, source, recvTag)
	p.replace(send.memory, d.memory)
	return p.post(), nil
}

func (p *pair) post() *Request {
	k := p.c.rank
	defer k.timed(p.op, p.out.size()+p.in.size()).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.request(p.c, p.op)
	q.s = p
	k.run(q)
	return q
}

func (p *pair) begin() {
	k := p.c.rank
	p.recv, p.send = k.take(), k.take()
	p.recv.Done, p.send.Done = p.from == ProcNull, p.dest == ProcNull
	p.recv.Batch, p.send.Batch = &p.batch, &p.batch
	if !p.recv.Done {
		p.batch.Open++
		p.recv.Recv, p.recv.Ctx, p.recv.Peer, p.recv.Tag = true, p.c.p2p, int32(p.from), int32(p.recvTag)
		k.load(p.recv, p.in)
		k.proto.PostRecv(&p.recv.Request)
	}
	if !p.send.Done {
		p.batch.Open++
		p.send.Ctx, p.send.Peer, p.send.Tag = p.c.p2p, int32(p.dest), int32(p.sendTag)
		k.load(p.send, p.out)
		k.proto.PostSend(&p.send.Request)
	}
}

func (p *pair) advance() bool {
	if p.batch.Open > 0 {
		p.batch.Await(&p.c.rank.Ready)
		return false
	}
	return true
}

func (p *pair) requests() *variants.Batch { return &p.batch }

func (p *pair) status() Status {
	if p.from == ProcNull {
		return nullStatus
	}
	p.recv.settle()
	return fromProtocol(p.recv.Status)
}

func (p *pair) outcome() (Status, error) {
	st := p.status()
	p.send.settle()
	err := p.c.outcome(p.op, &p.send.Request)
	if err == nil {
		err = p.c.outcome(p.op, &p.recv.Request)
	}
	k := p.c.rank
	k.put(p.recv)
	k.put(p.send)
	k.putPair(p)
	return st, err
}
