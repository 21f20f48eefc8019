package mpi

import (
	"github.com/exanet-mpi/exanet/variants"
)

// Persistent requests (thesis 3.11): made once, started as often as wanted.
// Neither Start nor Wait allocates.

// persistent is what a request needs to be started again.
type persistent struct {
	m          *pooled // nil: it is no message, or goes to ProcNull
	data       memory
	peer, tag  int
	mode       variants.Mode
	recv, copy bool // a receive; a buffered send
}

// fix makes a request persistent, with the lock held.
func (k *rank) fix(q *Request, p persistent) {
	f := k.fixed.take()
	*f = p
	q.fixed = f
	q.become(inert)
}

// unfix takes back what a persistent request has needed that can not be started
// again; it may be nil.
func (k *rank) unfix(f *persistent) {
	if f != nil {
		*f = persistent{}
		k.fixed.put(f)
	}
}

// SendInit makes a persistent send, which is not yet active (MPI_Send_init).
// Free it when it is no longer needed.
func SendInit[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	return c.fix("SendInit", of(buf), persistent{peer: dest, tag: tag})
}

// SsendInit is SendInit for synchronous sends (MPI_Ssend_init).
func SsendInit[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	return c.fix("SsendInit", of(buf), persistent{peer: dest, tag: tag, mode: variants.Synchronous})
}

// RsendInit is SendInit for ready sends (MPI_Rsend_init), which behave as
// standard ones.
func RsendInit[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	return c.fix("RsendInit", of(buf), persistent{peer: dest, tag: tag})
}

// BsendInit is SendInit for buffered sends (MPI_Bsend_init): Start copies what
// cannot be delivered at once.
func BsendInit[T Element](c *Comm, buf []T, dest, tag int) (*Request, error) {
	return c.fix("BsendInit", of(buf), persistent{peer: dest, tag: tag, copy: true})
}

// RecvInit makes a persistent receive, which is not yet active
// (MPI_Recv_init).
func RecvInit[T Element](c *Comm, buf []T, source, tag int) (*Request, error) {
	return c.fix("RecvInit", of(buf), persistent{peer: source, tag: tag, recv: true})
}

func (c *Comm) fix(op string, d parcel, p persistent) (*Request, error) {
	if err := c.validParcel(op, &d, p.peer, p.tag, p.recv); err != nil {
		return nil, err
	}
	k := c.rank
	if k.check != nil && p.peer != ProcNull {
		k.check.wrap(c, op, &d, p.recv)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p.data = d.memory
	if p.peer != ProcNull {
		p.m = k.take()
	}
	q := k.request(c, op)
	q.null = p.m == nil && p.recv
	k.fix(q, p)
	return q, nil
}

// Start makes a persistent request active (MPI_Start). Its buffer belongs to
// the request until it has been waited for.
func (q *Request) Start() error { return startAll("Start", q) }

// StartAll makes persistent requests active, in the order of the arguments
// (MPI_Startall). If one of them cannot be started none is.
func StartAll(reqs ...*Request) error { return startAll("StartAll", reqs...) }

func startAll(op string, reqs ...*Request) error {
	if len(reqs) == 0 {
		return nil
	}
	for _, q := range reqs {
		switch {
		case q == nil || q.c == nil:
			return q.misuse(op, notPersistent)
		case q.c.rank != reqs[0].c.rank:
			return q.misuse(op, "the requests belong to different ranks")
		}
		if err := q.c.usable(op); err != nil {
			return err
		}
	}
	k := reqs[0].c.rank
	defer k.timed(op, 0).end()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, q := range reqs {
		switch {
		case q.fixed == nil:
			return q.misuse(op, notPersistent)
		case q.phase() != inert:
			return q.misuse(op, "it is active: wait for it first")
		}
	}
	for i, q := range reqs {
		if q.fixed == nil || q.phase() != inert {
			return q.misuse(op, "argument "+itoa(i)+
				" is the same request as an earlier one, or another goroutine has started or freed it")
		}
		if err := q.start(op); err != nil {
			return err
		}
	}
	k.Leave()
	return nil
}

const notPersistent = "it is not persistent, or was freed"

// start begins a persistent request, with the lock held, which it may release in
// between.
func (q *Request) start(op string) error {
	p, k := q.fixed, q.c.rank
	if q.s != nil {
		k.run(q)
		return nil
	}
	q.become(starting)
	if p.data.note != nil {
		p.data.note.lay()
		if !p.copy {
			k.check.uses(q, p.data.note)
		}
	}
	ctx, peer, tag := q.c.p2p, int32(p.peer), int32(p.tag)
	if p.copy && p.m != nil {
		if err := k.buffer(q.c, op, p.data, peer, tag); err != nil {
			q.become(inert)
			return err
		}
	}
	sent := p.m != nil && !p.copy && !p.recv && p.mode == variants.Standard && !p.data.gaps() &&
		k.trySend(ctx, peer, tag, p.data.buf)
	if sent {
		q.c.leaseOut(p.peer, p.tag)
	}
	if p.m == nil || p.copy || sent {
		q.become(immediate)
		return nil
	}
	m := p.m
	m.Reset()
	m.Recv, m.Mode, m.Ctx, m.Peer, m.Tag = p.recv, p.mode, ctx, peer, tag
	k.load(m, p.data)
	if k.sentPacked(m, p.data) {
		q.become(immediate)
		return nil
	}
	q.m = m
	q.become(pending)
	if p.recv {
		k.proto.PostRecv(&m.Request)
	} else {
		k.proto.PostSend(&m.Request)
		k.began(m)
	}
	return nil
}
