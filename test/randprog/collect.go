package randprog

import "slices"

// due is what a rank has sent to a thread with one tag, or with any tag where
// the thread has posted a receive of that.
type due struct {
	from, tag int
	sizes     []int // of the messages that no receive was posted for; loose: of all
	posted    int   // receives
	loose     bool  // which messages have receives cannot be told by counting
	last      *pending
}

// collector returns a function that posts receives of what the thread is owed,
// for programs that may not probe. Where the nth message belongs to the nth
// receive it posts those that are missing, bit by bit. Elsewhere it posts one
// that comes after all others, and another once that is complete; the last one
// is cancelled with whatever is left.
func (t *thread) collector(gone map[int]bool) (post func()) {
	var list []*due
	channel := func(from, tag int) *due {
		for _, d := range list {
			if d.from == from && (d.tag == tag || d.tag == AnyTag) {
				return d
			}
		}
		list = append(list, &due{from: from, tag: tag})
		return list[len(list)-1]
	}
	for _, r := range t.receives {
		if r.Tag == AnyTag {
			channel(r.From, AnyTag).loose = true
		}
	}
	for _, r := range t.receives {
		d := channel(r.From, r.Tag)
		d.posted++
		d.loose = d.loose || r.CancelAt != 0
	}
	for _, o := range t.p.sentTo(t.id, t.phase) {
		if !gone[o.ID] {
			d := channel(t.p.Threads[o.Thread].Rank, o.Tag)
			d.sizes = append(d.sizes, o.Size)
		}
	}
	for _, d := range list {
		if !d.loose {
			d.sizes = d.sizes[min(d.posted, len(d.sizes)):]
		}
	}
	list = slices.DeleteFunc(list, func(d *due) bool { return len(d.sizes) == 0 })
	return func() {
		if len(list) == 0 {
			return
		}
		d := list[t.rng.IntN(len(list))]
		if d.loose {
			if d.last == nil || d.last.done {
				d.last = t.irecv(-1, d.from, d.tag, t.roomFor(d.sizes[t.rng.IntN(len(d.sizes))]))
			}
			return
		}
		for range min(1+t.rng.IntN(16), len(d.sizes)) {
			t.irecv(-1, d.from, d.tag, t.roomFor(d.sizes[0]))
			d.sizes = d.sizes[1:]
		}
	}
}

// roomFor returns the size of a buffer for a message of size bytes, or, at
// times, a smaller or larger one of the same kind.
func (t *thread) roomFor(size int) int {
	least, most := 0, t.p.Rules.Eager
	if t.p.Rules.long(size) {
		least, most = t.p.Rules.Eager+1, maxMessage
	}
	switch t.rng.IntN(8) {
	case 0:
		return least + t.rng.IntN(size-least+1)
	case 1:
		return min(size+t.rng.IntN(5000), most)
	}
	return size
}
