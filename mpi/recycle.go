package mpi

import (
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// What calls need for a while is used again, so that a message leaves the
// collector nothing to do. A rank keeps lists of spare ones, under its lock:
//
//	pooled      requests of the protocol; the call that ends a Request gives its
//	            own back
//	pair, persistent, probe, watch, collective   likewise
//	Request, Message   what the program holds. They come back only if the program
//	            says that it does not use them any more: with Recycle, or once for
//	            all with WithRecycling. Else they are the collector's.
//
// What comes back has ended: neither the protocol nor the progress engine knows
// of it any more, so no message that is still under way can meet its next use.

// spares are what is kept for reuse.
type spares[T any] struct{ list []*T }

func (s *spares[T]) take() *T {
	last := len(s.list) - 1
	if last < 0 {
		return new(T)
	}
	x := s.list[last]
	s.list = s.list[:last]
	return x
}

func (s *spares[T]) put(x *T) { s.list = append(s.list, x) }

// pooled is a request of the protocol, kept for reuse.
type pooled struct {
	variants.Request
	packed []byte // of an eager send with gaps
	copied []byte // scratch memory of a buffered send
	note   *note  // of the checking mode
}

func (k *rank) take() *pooled {
	m := k.spare.take()
	m.Request.Reset()
	return m
}

func (k *rank) put(m *pooled) {
	m.Buf, m.note = nil, nil
	m.Transfer.Src, m.Transfer.Done = nil, 0
	if m.View.Type != nil {
		m.View, m.Transfer = datatype.View{}, rdmaeng.Transfer{}
	}
	if m.copied != nil {
		k.putScratch(m.copied)
		m.copied = nil
	}
	k.spare.put(m)
}

// slabSize is how many Requests are allocated at a time: alone, each would cost
// as much as the rest of a short message's way through this package. The
// collector keeps all of them while the program has one.
const slabSize = 32

// request returns a new request for the program, which is immediate until it is made pending.
func (k *rank) request(c *Comm, op string) *Request {
	q := k.unseen(c, op)
	if k.check != nil {
		k.check.opened(q, op)
	}
	return q
}

// unseen is request for what the program does not get.
func (k *rank) unseen(c *Comm, op string) *Request {
	var q *Request
	if len(k.recycled.list) > 0 {
		q = k.recycled.take()
	} else {
		if len(k.slab) == 0 {
			k.slab = make([]Request, slabSize)
		}
		q = &k.slab[0]
		k.slab = k.slab[1:]
	}
	*q = Request{c: c, op: op, state: immediate}
	return q
}

// immediate is request for what has completed already, without the lock held.
func (c *Comm) immediate(op string) *Request {
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.request(c, op)
}

// Recycle gives back requests that have been waited for. Later calls return them again, so that a
// program with very many of them leaves the collector nothing to do. The caller must not use them
// again. Nil ones are passed over, and requests that are active or persistent are left alone.
func Recycle(reqs ...*Request) {
	k := anyRank(reqs)
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, q := range reqs {
		if q != nil && q.c != nil && q.c.rank == k {
			k.recycle(q)
		}
	}
}

// WithRecycling says that the program ends each Request by one call and does not use it afterwards,
// nor a Message that it has received: this is MPI's own rule, which makes handles null then. The rank
// recycles them by itself. Persistent requests end with Free.
func WithRecycling() Option {
	return func(s *settings) error {
		s.recycling = true
		return nil
	}
}

// recycle takes a request back, if it has ended.
func (k *rank) recycle(q *Request) {
	if q.phase() == inert && q.fixed == nil && q.s == nil {
		q.become(recycled)
		k.recycled.put(q)
	}
}

// reclaim takes back a request that a call has ended, if the program will not use it
// any more.
func (k *rank) reclaim(q *Request) {
	if k.recycling {
		k.recycle(q)
	}
}
