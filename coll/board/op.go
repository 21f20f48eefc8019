package board

import (
	"fmt"
	"math"

	"github.com/exanet-mpi/exanet/coll"
)

// Op is one rank's part in a collective. Begin makes it, and Step carries it on.
// Its memory can be used for the next one.
type Op struct {
	*coll.Call
	Combine func(in, inout []byte) // inout = in op inout, where in is of lower ranks
	Own     bool                   // Combine is the program's, which gets to see no memory of others
	Direct  bool                   // in the direct form, see direct.go
	Late    []int                  // ranks whose blocks for this one are messages, being longer than Most
	Missed  []int                  // ranks whose data this one could not read, so that they are messages
	Owed    []int                  // ranks that could not read this one's

	b       *Board
	what    uint64
	size    int // of the vector or of a block, the largest of Allgatherv, in bytes; 0 if each rank has its own
	step    int // of which a turn has so many
	lo, hi  int // the part of the vector that this rank gets of a scattering reduction
	form    form
	lent    bool   // this rank's long blocks of an Alltoallv are lent
	first   uint64 // turn
	total   int    // turns
	put     int    // turns that this rank has posted its part of
	got     int    // turns that it has taken its part of
	seen    int    // cells of the turn to be taken that have been seen
	asked   int    // ranks that have been asked whether they have read, see freed
	stray   int    // 1 + a rank that makes another call, by messages, see Strayed
	scratch []byte
	awaits  Words
	err     error
}

// Mismatch says that another rank has made another call than this one, or with
// another size.
type Mismatch struct {
	Rank       int
	Op         coll.Collective
	Root, Size int
	Mine       int // the size that this rank has passed
	Lost       bool
	Stray      bool // that rank makes its call by messages
	Heard      bool // that rank has found out that another one has
}

func (m *Mismatch) Error() string {
	switch {
	case m.Lost:
		return "this call, or one next to it, does not match on all ranks"
	case m.Stray:
		return "that rank has made another call, or passed a size for which ranks exchange messages, not as this one"
	case m.Heard:
		return "that rank could not go on, since calls did not match"
	}
	return fmt.Sprintf("that rank called %v with %d bytes, root %d", m.Op, m.Size, m.Root)
}

// call is the word in a cell that says what is called.
func call(c *coll.Call, size int) uint64 {
	return uint64(c.Op) | uint64(c.Root)<<8 | uint64(size)<<24
}

// spoilt, instead of it, says that there is no result.
const spoilt = ^uint64(0)

func uncall(w uint64) (op coll.Collective, root, size int) {
	return coll.Collective(w), int(w >> 8 & 0xffff), int(w &^ directly >> 24)
}

// Serves reports whether a board can do a call at all: not if what one rank posts
// in a turn does not fit in a place. direct asks for the direct form.
func (b *Board) Serves(c *coll.Call, direct bool) bool {
	if direct {
		return b.servesDirect(c)
	}
	switch c.Op {
	case coll.Barrier, coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Allgather, coll.Allgatherv:
		return true
	case coll.Alltoallv, coll.Alltoallw:
		return b.Most(c.Op) > 0
	case coll.Reduce, coll.Allreduce, coll.Scan, coll.Exscan, coll.ReduceScatter, coll.ReduceScatterBlock:
		return c.Elem <= b.piece
	case coll.Alltoall:
		return c.Bytes()*c.Ranks <= b.piece || leastStep*c.Ranks <= b.piece
	}
	return false
}

// form is how the work of a call is divided.
type form uint8

const (
	plain   form = iota // one turn a piece: everybody takes what he wants
	split               // every rank combines a share, and posts it in a second turn
	central             // rank 0 takes all, and posts the result in a second turn
	direct              // one turn: everybody reads what he wants in the memory of the others
)

// Begin begins the call that is in the Op.
func (o *Op) Begin(b *Board) {
	if b.Fills {
		b.fillBelts()
	}
	o.b = b
	o.size = o.Bytes()
	o.what = call(o.Call, o.size)
	o.step = b.piece
	o.form = plain
	switch o.Op {
	case coll.Barrier:
		if b.central(o.Op) {
			o.form = central
		} else if b.Follows && b.own.gave != 0 {
			o.form = central
			o.what |= 1 << 8 // who has another call behind it finds out
		}
	case coll.Reduce, coll.Scan, coll.Exscan:
		o.step -= o.step % o.Elem
	case coll.ReduceScatter, coll.ReduceScatterBlock:
		o.step -= o.step % o.Elem
		o.lo, o.hi = o.RecvBlocks.Span(o.Rank)
		if o.deals() {
			o.what = call(o.Call, o.RecvBlocks.Size(1-o.Rank))
			o.size = max(o.RecvBlocks.Size(0), o.RecvBlocks.Size(1))
		}
	case coll.Allgatherv:
		o.what = o.due(o.Rank)
		o.size = 0
		for i := range o.Ranks {
			o.size = max(o.size, o.RecvBlocks.Size(i))
		}
	case coll.Allreduce:
		o.step -= o.step % o.Elem
		o.form = b.formOf(o.size)
	case coll.Alltoall:
		if o.step /= o.Ranks; o.step > leastStep {
			o.step &^= leastStep - 1
		}
	}
	o.lent = o.Lends() && !o.InPlace
	if o.Direct {
		o.form = direct
		o.what |= directly
	}
	past := int(b.own.past)
	o.first = b.own.turns.Load() - b.own.past
	o.put, o.got, o.seen, o.asked, o.stray, o.err, o.Late, o.Missed, o.Owed = past, past, 0, 0, 0, nil, o.Late[:0], o.Missed[:0], o.Owed[:0]
	switch {
	case b.own.left != 0 && b.own.left == o.first:
		o.first-- // the twin has taken this rank's part
		o.put, o.got = 1, 1
	case b.own.posted == o.first+uint64(past)+1:
		o.put = past + 1 // others may rely on the core that the line tells already
	case o.form == central:
		b.own.core.Store(0) // ranks wait for 0 in the turn where it sleeps for them
	case b.Core != nil:
		b.own.core.Store(uint64(b.Core()))
	}
	b.own.posted, b.own.left, b.own.past = 0, 0, 0
	o.measure(o.size)
}

// SplitFrom is what Board.Split should be. Where ranks share cores the second turn costs
// each a switch, as long as the processor needs to combine tens of KiB.
func SplitFrom(ranks int, crowded bool) int {
	const least = 16 << 10
	switch {
	case crowded:
		return max(least, 128<<10/ranks)
	case ranks == 2:
		return math.MaxInt // the twin makes it, if it is plain
	}
	return least
}

// formOf is the form of an Allreduce.
func (b *Board) formOf(size int) form {
	switch {
	case size >= b.Split:
		return split
	case b.central(coll.Allreduce):
		return central
	}
	return plain
}

// central reports whether a collective goes through rank 0.
func (b *Board) central(op coll.Collective) bool { return b.centrals()>>op&1 != 0 }

// centrals are bits of those that do: none of two ranks, where all data are measured.
func (b *Board) centrals() uint32 {
	if b.Ranks == measuring {
		return 0
	}
	return b.Central
}

// measure sets the number of turns for a size.
func (o *Op) measure(size int) {
	switch o.total = max(1, (size+o.step-1)/o.step); o.form {
	case direct:
		o.total = 1
	case split, central:
		o.total *= 2
	}
}

// Err is what was wrong with the call.
func (o *Op) Err() error { return o.err }

// Awaits is what the Op waits for, if Step has said that it can not go on.
func (o *Op) Awaits() *Words {
	o.awaits.first = o.first
	return &o.awaits
}

// Broken reports whether the ranks of the board have lost count of each other, so
// that nothing may be waited for.
func (b *Board) Broken() bool { return b.head.broken.Load() != 0 }

// breaks tells all ranks so.
func (b *Board) breaks() {
	b.head.broken.Store(1)
	for i := range b.Ranks {
		if i != b.Me {
			b.Ring(i)
		}
	}
}

// Lost ends an Op on a board that is broken.
func (o *Op) Lost() error {
	if o.stray > 0 {
		return &Mismatch{Rank: o.stray - 1, Mine: o.size, Stray: true}
	}
	return &Mismatch{Rank: o.awaits.Rank(), Mine: o.size, Lost: true}
}

// Step carries the call on as far as it goes without waiting, and reports whether
// it has ended.
//
// A rank that can take nothing waits for all cells that are missing; if it has
// nothing to take since it may not post yet, for the rank that holds it up. The rank
// that is behind all others may always post, so it is never held up, and what it
// waits for comes.
func (o *Op) Step() bool {
	b := o.b
	for o.got < o.total {
		for o.put < o.total && o.mayPost() {
			if o.posts(o.put) {
				if !b.free(o.first+uint64(o.put), &o.awaits) {
					break
				}
				o.post(o.put)
			}
			o.put++
		}
		if o.got == o.put {
			return false // awaits the rank that holds it up
		}
		if o.takes(o.got) {
			if !o.complete() {
				return false
			}
			o.take(o.got)
			o.seen = 0
		}
		o.got++
		b.leave(o.first + uint64(o.got) - 1)
		if o.got == o.total {
			b.own.gave = uint64(flag(fromRoot(o.Op) && o.Root == 0))
		}
	}
	return o.freed()
}

// posts and takes report whether this rank posts or takes something in a turn.
func (o *Op) posts(turn int) bool {
	root := o.Rank == o.Root
	switch {
	case o.form == central:
		return o.isResult(turn) == (o.Rank == 0)
	case fromRoot(o.Op):
		return root
	case o.Op == coll.Gather || o.Op == coll.Gatherv:
		return !root
	case o.Op == coll.Reduce:
		return !root || o.InPlace
	}
	return true
}

func (o *Op) takes(turn int) bool {
	root := o.Rank == o.Root
	switch {
	case o.form == central:
		return o.isResult(turn) != (o.Rank == 0)
	case fromRoot(o.Op):
		return !root
	case o.Op == coll.Gather || o.Op == coll.Gatherv || o.Op == coll.Reduce:
		return root
	}
	return true
}

// fromRoot reports whether the root of a collective gives to all others, and gets nothing.
func fromRoot(op coll.Collective) bool {
	return op == coll.Bcast || op == coll.Scatter || op == coll.Scatterv
}

// mayPost reports whether the next turn may be posted before more has been taken.
func (o *Op) mayPost() bool {
	if o.isResult(o.put) && o.got <= o.contribution(o.put) {
		return false
	}
	return o.put-o.got < ahead
}

// complete looks whether what this rank takes in the turn has been posted.
func (o *Op) complete() bool {
	b, turn := o.b, o.first+uint64(o.got)
	switch {
	case o.Op == coll.Bcast:
		return o.look(b, turn, o.Root, o.Root)
	case o.Op == coll.Scatter || o.Op == coll.Scatterv:
		return o.look(b, turn, o.Rank, o.Root)
	case o.form == central && o.Rank != 0:
		if !o.look(b, turn, 0, 0) {
			return false
		}
	case o.Op == coll.Scan || o.Op == coll.Exscan:
		for ; o.seen < o.Rank; o.seen++ {
			if !o.look(b, turn, o.seen, o.seen) {
				return false
			}
		}
		return true
	default:
		for ; o.seen < o.Ranks; o.seen++ {
			if o.seen != o.Rank && !o.look(b, turn, o.seen, o.seen) {
				o.awaits = b.others(turn, o.seen, o.Rank)
				return false
			}
		}
	}
	// All ranks have posted this turn, or the one before it.
	if turn > ahead {
		b.learn(turn - ahead)
	}
	return true
}

// look looks for the cell of a rank that another may have written.
func (o *Op) look(b *Board, turn uint64, rank, writer int) bool {
	w := b.posted(turn, rank)
	if !w.There() {
		w.rank = writer
		o.awaits = w
		return false
	}
	switch c := b.cell(turn, rank); {
	case c.call == o.due(rank), Vector(o.Op) && alike(c.call, o.what):
	case c.call == spoilt:
		if o.err == nil {
			o.err = &Mismatch{Rank: writer, Mine: o.size, Heard: true}
		}
	default:
		o.differs(c.call, writer)
	}
	return true
}

// due is what must stand in the cell of a rank: the same at all but of Allgatherv, whose
// ranks tell the sizes of their own blocks, and of two that deal, which tell that of the other.
func (o *Op) due(rank int) uint64 {
	switch {
	case o.Op == coll.Allgatherv:
		return call(o.Call, o.RecvBlocks.Size(rank)) | o.what&directly
	case o.deals() && rank != o.Rank:
		return call(o.Call, o.RecvBlocks.Size(o.Rank))
	}
	return o.what
}

// differs notes that another rank has made another call. Those that see all cells
// go on for as many turns as the largest of them needs, and those that see the
// root's for as many as that, so all stay in step. Where that can not be the board
// is broken.
func (o *Op) differs(what uint64, rank int) {
	op, root, size := uncall(what)
	_, _, mine := uncall(o.due(rank))
	if o.err == nil {
		o.err = &Mismatch{Rank: rank, Op: op, Root: root, Size: size, Mine: mine}
	}
	before := o.total
	switch {
	case op != o.Op || root != o.Root || (what^o.what)&directly != 0:
	case o.form == direct:
		return
	case o.Op == coll.Bcast || o.Op == coll.Scatter:
		o.measure(size)
		return
	case o.Op == coll.Allgatherv || o.deals(): // what another one has for the largest block is not known
		if o.measure(max(size, o.size)); o.total == 1 {
			return
		}
	case o.Op == coll.Reduce || o.Op == coll.Gather || o.Op == coll.Scan || o.Op == coll.Exscan:
		if o.measure(size); o.total == before {
			return
		}
	case o.form == central: // rank 0 passes it on
		if o.measure(size); o.total == before {
			return
		}
	case o.Op != coll.Allreduce || o.form == o.b.formOf(size):
		if o.measure(size); o.total < before {
			o.total = before
		}
		return
	}
	o.total = before
	o.b.breaks()
}
