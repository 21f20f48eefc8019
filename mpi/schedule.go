package mpi

import (
	"slices"
	"time"
)

// schedule is the work of a request that is more than one message. The calls
// come with the rank's lock held.
type schedule interface {
	// begin posts what needs nothing to have happened before, for a persistent
	// request at every Start; advance carries on after something has arrived
	// and reports whether all is done. Neither waits.
	begin()
	advance() (done bool)
	outcome() (Status, error)
}

// run begins the schedule of a request, with the lock held.
func (k *rank) run(q *Request) {
	q.active, q.over = true, false
	q.s.begin()
	if q.s.advance() {
		q.over = true
	} else {
		k.schedules = append(k.schedules, q)
	}
	k.leave()
}

// advance carries on the schedules that are under way.
func (k *rank) advance() (moved bool) {
	keep := k.schedules[:0]
	for _, q := range k.schedules {
		if q.over = q.s.advance(); q.over {
			moved = true
		} else {
			keep = append(keep, q)
		}
	}
	clear(k.schedules[len(keep):])
	k.schedules = keep
	return moved
}

// pair is the schedule of Isendrecv.
type pair struct {
	c          *Comm
	op         string
	out, in    []byte
	dest, from int
	sendTag    int
	recvTag    int
	send, recv *pooled
}

// Isendrecv begins to send to dest and to receive from source
// (MPI_Isendrecv of MPI 4). The Status of the request is that of the receive.
func Isendrecv[T Element](c *Comm, send []T, dest, sendTag int, recv []T, source, recvTag int) (*Request, error) {
	out, err := valid(c, "Isendrecv", send, dest, sendTag, false)
	if err != nil {
		return nil, err
	}
	in, err := valid(c, "Isendrecv", recv, source, recvTag, true)
	if err != nil {
		return nil, err
	}
	return c.postPair(&pair{c: c, op: "Isendrecv", out: out, in: in, dest: dest, from: source, sendTag: sendTag, recvTag: recvTag}), nil
}

// IsendrecvReplace begins to send buf to dest and to receive into the same buf
// from source (MPI_Isendrecv_replace of MPI 4).
func IsendrecvReplace[T Element](c *Comm, buf []T, dest, sendTag, source, recvTag int) (*Request, error) {
	in, err := validReplace(c, "IsendrecvReplace", buf, dest, sendTag, source, recvTag)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	return c.postPair(&pair{c: c, op: "IsendrecvReplace", out: out, in: in, dest: dest, from: source, sendTag: sendTag, recvTag: recvTag}), nil
}

func (c *Comm) postPair(p *pair) *Request {
	k := c.rank
	if s := k.stats; s != nil {
		defer s.record(p.op, len(p.out)+len(p.in), time.Now())
	}
	q := &Request{c: c, op: p.op, s: p}
	k.mu.Lock()
	k.run(q)
	k.mu.Unlock()
	return q
}

func (p *pair) begin() {
	k := p.c.rank
	p.recv, p.send = k.take(), k.take()
	p.recv.Done, p.send.Done = p.from == ProcNull, p.dest == ProcNull
	if !p.recv.Done {
		p.recv.Recv, p.recv.Ctx, p.recv.Peer, p.recv.Tag, p.recv.Buf = true, p.c.p2p, int32(p.from), int32(p.recvTag), p.in
		k.proto.PostRecv(&p.recv.Request)
	}
	if !p.send.Done {
		p.send.Ctx, p.send.Peer, p.send.Tag, p.send.Buf = p.c.p2p, int32(p.dest), int32(p.sendTag), p.out
		k.proto.PostSend(&p.send.Request)
	}
}

func (p *pair) advance() bool { return p.recv.Done && p.send.Done }

func (p *pair) outcome() (Status, error) {
	st := nullStatus
	if p.from != ProcNull {
		st = fromProtocol(p.recv.Status)
	}
	err := p.c.outcome(p.op, &p.send.Request)
	if err == nil {
		err = p.c.outcome(p.op, &p.recv.Request)
	}
	p.c.rank.put(p.recv)
	p.c.rank.put(p.send)
	p.recv, p.send = nil, nil
	return st, err
}
