package world

import "github.com/exanet-mpi/exanet/variants"

// Run lets everything happen that is in flight, in a fixed order, until nothing
// is.
func (w *World) Run() {
	var acts []Action
	for w.failure == nil {
		acts = w.inFlight(acts[:0])
		if len(acts) == 0 {
			return
		}
		w.Do(acts[0])
	}
}

// Close is called in a settled state. It posts what the pending requests lack,
// and then, for each pair of ranks and each tag that were used, a long message
// whose send is posted first and one whose receive is. All this must match as
// MPI says and leave nothing behind. A protocol whose two ends number
// differently, or that has kept an advertisement which it should have dropped,
// fails here at the latest.
func (w *World) Close() {
	if w.cfg.Broken || !w.together() {
		return
	}
	for _, r := range w.living() {
		for _, q := range r.reqs {
			if q.held != nil {
				r.take(q)
				r.settle()
				w.Run()
			}
		}
	}
	for _, r := range w.living() {
		for _, m := range w.untaken(r.id) {
			w.then(r.id, Op{Kind: Recv, Comm: m.Op.Comm, Peer: m.Rank, Tag: m.Op.Tag, Size: max(m.Op.Size, 1)})
		}
	}
	long := w.cfg.Limit + 4
	for _, r := range w.living() {
		for i := 0; i < len(r.reqs); i++ {
			tries := 0
			for q := r.reqs[i]; !q.r.Done && q.Op.Kind == Recv && w.failure == nil; {
				from, tag := q.Op.Peer, q.Op.Tag
				if from == int(variants.AnySource) {
					from = (r.id + 1) % w.cfg.Ranks
				}
				if tag == variants.AnyTag {
					tag = 1
				}
				// An earlier receive that is pending as well may take it; but not
				// more often than there are receives.
				if tries++; tries > len(r.reqs) {
					w.fail(r.id, "%s does not get any of the messages sent to it", w.Name(q))
				}
				w.then(from, Op{Kind: Send, Comm: q.Op.Comm, Peer: r.id, Tag: tag, Size: min(q.Op.Size, long)})
			}
		}
	}
	w.exchange(long)
	if w.failure == nil {
		w.Settled()
	}
	if w.failure == nil {
		w.counted()
	}
	for _, r := range w.living() {
		r.refused()
	}
}

// refused checks that the protocol refuses what it does not have.
func (r *rank) refused() {
	if !r.w.cfg.NoAnySource {
		return
	}
	ctx, any := r.ctx[0], variants.AnySource
	_, _, noProbe := r.proto.Probe(ctx, any, variants.AnyTag)
	_, _, noExtract := r.proto.Extract(ctx, any, variants.AnyTag)
	q := r.request(Op{Kind: Recv, Peer: int(any), Tag: variants.AnyTag, Size: 1})
	r.proto.PostRecv(&q.r)
	m := r.request(Op{Kind: Recv, Size: 1})
	r.proto.PostMatched(&m.r, nil)
	if noProbe == nil || noExtract == nil || q.r.Err == nil || m.r.Err == nil {
		r.w.fail(r.id, "the protocol does not refuse a probe or a receive from any source")
	}
}

// together reports whether all ranks have the same generations of the
// communicators open. Where they have not, some request of a freed one may wait
// for ever.
func (w *World) together() bool {
	for _, r := range w.living() {
		for i := range r.ctx {
			if r.ctx[i].Gen != w.living()[0].ctx[i].Gen {
				return false
			}
		}
	}
	return true
}

// exchange sends the two last messages of every pair and tag in use.
func (w *World) exchange(size int) {
	type channel struct {
		comm, from, to int
		tag            int32
	}
	var channels []channel
	used := make(map[channel]bool)
	for _, r := range w.living() {
		for _, q := range r.reqs {
			l := channel{q.Op.Comm, r.id, q.Op.Peer, q.Op.Tag}
			if q.Op.Kind == Recv {
				l.from, l.to = l.to, l.from
			}
			if q.Op.Peer >= 0 && !w.ranks[q.Op.Peer].dead && l.tag != variants.AnyTag && !used[l] {
				used[l] = true
				channels = append(channels, l)
			}
		}
	}
	for _, l := range channels {
		s, r := Op{Kind: Send, Comm: l.comm, Peer: l.to, Tag: l.tag, Size: size}, Op{Kind: Recv, Comm: l.comm,
			Peer: l.from, Tag: l.tag, Size: size}
		w.then(l.from, s)
		w.then(l.to, r)
		r.Size++
		w.then(l.to, r)
		w.then(l.from, s)
	}
	for _, r := range w.living() {
		for _, q := range r.reqs {
			if !q.r.Done {
				w.fail(r.id, "%s is still incomplete although everything has a counterpart", w.Name(q))
			}
		}
	}
}

// then posts an operation and lets everything happen that follows.
func (w *World) then(rank int, o Op) {
	if w.failure != nil {
		return
	}
	if w.Log != nil {
		w.log(Event{Kind: Began, Closing: true, Rank: rank, Op: o})
	}
	w.Post(rank, o)
	w.Run()
}

// counted checks that no credit is lost or made up, when all messages have been received.
func (w *World) counted() {
	account := func(of, with *rank) *variants.Account {
		if p, ok := of.proto.(interface {
			Account(world int32) *variants.Account
		}); ok {
			return p.Account(int32(with.id))
		}
		return new(variants.Account)
	}
	for _, r := range w.living() {
		for _, p := range w.living() {
			if is, was := account(r, p).Unmatched, account(p, r).Consumed; is != was {
				w.fail(r.id, "%d bytes count as unmatched by rank %d, which has consumed all but %d", is, p.id, was)
			}
		}
	}
}
