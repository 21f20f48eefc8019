package mpi

import (
	"fmt"
	"slices"

	"github.com/exanet-mpi/exanet/variants"
)

// Calls that wait. Each of these functions is Until, and in the checking mode tells meanwhile what it waits
// for. Without the mode they allocate nothing.

// waitingCall is a call that waits.
type waitingCall struct {
	site string
	why  func() (text string, needs [][]int)
}

// until waits for messages.
func (k *rank) until(done func() bool, c *Comm, op string, rs ...*variants.Request) {
	if k.check == nil {
		k.Until(done)
		return
	}
	list := slices.Clone(rs) // which the caller has on its stack
	k.check.await(done, func() (text string, all [][]int) {
		text = k.check.call(op) + " on " + c.title()
		for _, r := range list {
			if !idle(r) && r.Ctx != c.coll {
				text = k.check.call(op) + " " + between(r)
			}
		}
		return text, k.needs(list...)
	})
}

// untilRequests waits for all requests, or for any.
func (k *rank) untilRequests(done func() bool, op string, any bool, reqs ...*Request) {
	if k.check == nil {
		k.Until(done)
		return
	}
	list := slices.Clone(reqs)
	k.check.await(done, func() (text string, all [][]int) {
		for _, q := range list {
			if q.idle() || q.done() {
				continue
			}
			what, needs := k.check.call(q.op), k.needsOf(q)
			if q.m != nil {
				what += " " + between(&q.m.Request)
			}
			if any && len(needs) == 0 {
				return "", nil
			}
			if all = append(all, needs...); text == "" {
				text = k.check.call(op) + " for " + what
			}
		}
		if any {
			all = [][]int{slices.Concat(all...)}
		}
		return text, all
	})
}

// untilFound waits for a message that a probe is to find.
func (k *rank) untilFound(done func() bool, c *Comm, op string, p *probe) {
	if k.check == nil {
		k.Until(done)
		return
	}
	k.check.await(done, func() (string, [][]int) {
		return k.check.call(op) + " " + p.from(), [][]int{k.peers(c.p2p, int32(p.source))}
	})
}

// untilPerformed waits for messages of a collective.
func (k *rank) untilPerformed(done func() bool, x *collective) {
	if k.check == nil {
		k.Until(done)
		return
	}
	k.check.await(done, func() (string, [][]int) {
		return k.check.call(x.name) + " on " + x.c.title(), k.needs(x.messages()...)
	})
}

// await waits, and has others know why if that takes long.
func (x *checker) await(done func() bool, why func() (text string, needs [][]int)) {
	w := &waitingCall{x.here(), why}
	x.waits.begin(w)
	defer x.waits.end(w)
	x.k.Until(done)
}

// between says which message is waited for.
func between(r *variants.Request) string {
	if r.Recv {
		return (&probe{source: int(r.Peer), tag: int(r.Tag)}).from()
	}
	return fmt.Sprintf("to rank %d, tag %d", r.Peer, r.Tag)
}

// idle reports whether there is nothing to wait for: the message has ended, or is nobody's.
func idle(r *variants.Request) bool { return r.Done || r.Ctx == nil }

// needs are what messages need to end: each, a peer. One that has found its other side ends by itself.
func (k *rank) needs(rs ...*variants.Request) (all [][]int) {
	for _, r := range rs {
		if !idle(r) && r.Queued {
			all = append(all, k.peers(r.Ctx, r.Peer))
		}
	}
	return all
}

// needsOf is what a request needs.
func (k *rank) needsOf(q *Request) [][]int {
	if q.m != nil {
		return k.needs(&q.m.Request)
	}
	switch s := q.s.(type) {
	case *collective:
		return k.needs(s.messages()...)
	case *pair:
		return k.needs(&s.recv.Request, &s.send.Request)
	}
	return [][]int{k.peers(q.c.coll, variants.AnySource)}
}

// messages are those that a collective waits for.
func (s *collective) messages() (rs []*variants.Request) {
	for _, m := range s.wait {
		rs = append(rs, &m.Request)
	}
	return rs
}

// peers are the ranks of the job that can send, or receive, a message: any of a context but this one, unless
// there is no other. Within a collective others may have to act before the peer can.
func (k *rank) peers(ctx *variants.Context, peer int32) (list []int) {
	if peer != variants.AnySource && ctx.Tags == nil {
		return []int{int(ctx.World(peer))}
	}
	me := k.fab.Rank()
	for i := range k.fab.Size() {
		if i != me && ctx.Has(int32(i)) {
			list = append(list, i)
		}
	}
	if list == nil {
		list = []int{me}
	}
	return list
}
