package explore

import (
	"iter"

	"github.com/exanet-mpi/exanet/check/world"
)

// Programs returns all programs of at most n operations a rank, for two ranks,
// that cfg allows and in which something can match or is cancelled: of those
// that differ only by the names of the ranks or of the tags, one.
func (a Alphabet) Programs(cfg world.Config, n int) iter.Seq[Family] {
	heads := [2][]head{a.heads(0, n), a.heads(1, n)}
	names := a.renamings(heads)
	return func(yield func(Family) bool) {
		for _, h0 := range heads[0] {
			for _, h1 := range heads[1] {
				keep := func(k, l int, p world.Program) bool {
					return names.first(h0.first+k, h1.first+l) && talks(p) && (!cfg.SizesMatch || sizesMatch(p))
				}
				f := family(world.Program{h0.ops, h1.ops}, [][]world.Op{h0.last, h1.last}, keep)
				if f.Size > 0 && !yield(f) {
					return
				}
			}
		}
	}
}

// head is a list of operations of a rank without the last, and what may follow
// it. A list is the head followed by choice 0, which is none, or 1, 2, ... of
// last; first is the number of the first of them among all lists of the rank.
type head struct {
	ops, last []world.Op
	first     int
}

// heads returns the lists of a rank of at most n operations that make sense.
func (a Alphabet) heads(rank, n int) (all []head) {
	lists := 0
	longest := [][]world.Op{nil}
	for length := range n {
		var longer [][]world.Op
		for _, ops := range longest {
			h := head{ops: ops, first: lists}
			lists++
			for _, o := range a.Ranks[rank] {
				if !follows(o, ops) {
					continue
				}
				if o.Kind == world.Cancel {
					o.Req = requests(ops) - 1
				}
				if length < n-1 {
					longer = append(longer, append(ops[:len(ops):len(ops)], o))
				} else {
					h.last = append(h.last, o)
					lists++
				}
			}
			all = append(all, h)
		}
		longest = longer
	}
	return all
}

// follows reports whether it makes sense that an operation comes after others: a
// Cancel comes after the request that it is for, a Take after its Extract.
func follows(o world.Op, ops []world.Op) bool {
	switch o.Kind {
	case world.Cancel:
		return len(ops) > 0 && ops[len(ops)-1].Kind <= world.Recv
	case world.Take:
		extracted := 0
		for _, p := range ops {
			switch p.Kind {
			case world.Extract:
				extracted++
			case world.Take:
				extracted--
			}
		}
		return extracted > 0
	}
	return true
}

// requests is the number of requests that operations post.
func requests(ops []world.Op) (n int) {
	for _, o := range ops {
		if o.Kind == world.Send || o.Kind == world.Recv {
			n++
		}
	}
	return n
}

// renamings tells which lists are the same under other names.
type renamings struct {
	// By rank and number of a list: the number of the list with the ranks
	// exchanged, among those of the other rank; with tags 1 and 2 exchanged; and
	// with both. -1 where the alphabet has no such list.
	swapped, tagged, both [2][]int
}

func (a Alphabet) renamings(heads [2][]head) *renamings {
	var number [2]map[string]int
	for r := range number {
		number[r] = make(map[string]int)
		each(heads[r], func(n int, ops []world.Op) { number[r][spell(ops, false, false)] = n })
	}
	find := func(r int, s string) int {
		if n, ok := number[r][s]; ok {
			return n
		}
		return -1
	}
	x := new(renamings)
	for r := range number {
		each(heads[r], func(_ int, ops []world.Op) {
			x.swapped[r] = append(x.swapped[r], find(1-r, spell(ops, true, false)))
			x.tagged[r] = append(x.tagged[r], find(r, spell(ops, false, true)))
			x.both[r] = append(x.both[r], find(1-r, spell(ops, true, true)))
		})
	}
	return x
}

// first reports whether a program, given by the numbers of its lists, comes
// before all that are the same under other names.
func (x *renamings) first(p, q int) bool {
	before := func(p2, q2 int) bool {
		return p2 >= 0 && q2 >= 0 && (p2 < p || p2 == p && q2 < q)
	}
	return !before(x.swapped[1][q], x.swapped[0][p]) && !before(x.tagged[0][p], x.tagged[1][q]) &&
		!before(x.both[1][q], x.both[0][p])
}

// each calls f for all lists that begin with heads.
func each(heads []head, f func(n int, ops []world.Op)) {
	for _, h := range heads {
		for i := range len(h.last) + 1 {
			f(h.first+i, with(h.ops, h.last, i))
		}
	}
}

// spell is a list of operations as a key of a map, under other names of the
// ranks or tags.
func spell(ops []world.Op, ranks, tags bool) string {
	var b []byte
	for _, o := range ops {
		if ranks && o.Peer >= 0 && o.Kind != world.Cancel && o.Kind != world.Free && o.Kind != world.Take {
			o.Peer = 1 - o.Peer
		}
		if tags && o.Tag > 0 {
			o.Tag = 3 - o.Tag
		}
		b = append(b, byte(o.Kind), byte(o.Peer), byte(o.Tag), byte(o.Size), byte(o.Req), byte(o.Comm)<<1)
		if o.Sync {
			b[len(b)-1]++
		}
	}
	return string(b)
}
