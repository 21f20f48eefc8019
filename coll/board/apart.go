package board

// Ranks whose calls do not match may go different ways: some call on the board, where they wait
// for the others' cells, and others by messages, which nobody sends. So each counts in its line
// the calls that it has made by messages, and tells there while it waits in one. A rank of which
// the board has not seen more turns than who waits on it, and that waits by messages after as
// many calls by messages as that one has made, waits in another call than all made alike could
// be: before both, the same calls have been made.

// A rank that ends MPI waits by messages too, and is in no call at all: so those that wait by messages look for it.

// apart is a line's word: twice the number of calls that have been made by messages, and 1
// while its rank waits in the next; beside that, whether it has made its last.
const (
	isApart = 1
	isLast  = 1 << 63
)

// Passed counts a call by messages that has ended.
func (b *Board) Passed() {
	was := b.own.apart.Load()
	if b.own.apart.Store(was&^isApart + 2); was&isApart != 0 {
		b.head.apart.Add(-1)
	}
}

// Last is Depart for who ends MPI.
func (b *Board) Last() {
	b.own.apart.Store(b.own.apart.Load() | isLast)
	b.Depart()
}

// Deserted reports whether another rank has ended MPI instead of the call by messages in which this one waits, which
// will not end; then it breaks the board.
func (b *Board) Deserted() bool {
	turns := b.own.turns.Load()
	for i := range b.Ranks {
		if l := b.line(i); i != b.Me && l.apart.Load() == b.own.apart.Load()|isLast && l.turns.Load() <= turns {
			b.breaks()
			return true
		}
	}
	return false
}

// Depart tells that this rank waits in a call by messages, and rings at those that sleep, who
// may wait for it on the board. Passed takes that back.
func (b *Board) Depart() {
	if was := b.own.apart.Load(); was&isApart == 0 {
		b.own.apart.Store(was | isApart)
		b.head.apart.Add(1)
	}
	if b.head.sleepers.Add(0) == 0 { // a fence: who is about to sleep sees this, or is seen
		return
	}
	for i := range b.Ranks {
		if i != b.Me && b.line(i).waiting.Load() != 0 {
			b.Ring(i)
		}
	}
}

// strayed returns a rank that waits by messages in a call before that of this rank, or beside it, -1 if
// there is none.
func (b *Board) strayed(first uint64) int {
	if b.head.apart.Load() == 0 {
		return -1
	}
	apart := b.own.apart.Load() | isApart
	for i := range b.Ranks {
		// In this order: who is ahead has told of his turns first.
		if l := b.line(i); i != b.Me && l.apart.Load()&^isLast == apart && l.turns.Load() <= first {
			return i
		}
	}
	return -1
}

// Strayed reports whether another rank waits in a call that does not match this one, so that
// neither would end; then it breaks the board.
func (o *Op) Strayed() bool {
	rank := o.b.strayed(o.first)
	if rank < 0 {
		return false
	}
	o.stray = 1 + rank
	o.b.breaks()
	return true
}
