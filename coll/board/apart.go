package board

// Ranks whose calls do not match may go different ways: some call on the board, where they wait
// for the others' cells, and others by messages, which nobody sends. So each counts in its line
// the calls that it has made by messages, and tells there while it waits in one. A rank of which
// the board has not seen more turns than who waits on it, and that waits by messages after as
// many calls by messages as that one has made, waits in another call than all made alike could
// be: before both, the same calls have been made.
//
// A rank that ends MPI makes no call any more, so nobody gets further than it has come. It waits for the others by
// messages too, so those that wait so look for it as well.

// apart is a line's word: twice the number of calls that have been made by messages, and 1
// while its rank waits in the next; beside that, whether it has ended MPI.
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

// Depart tells that this rank waits in a call by messages, and rings at those that sleep, who
// may wait for it on the board. Passed takes that back.
func (b *Board) Depart() { b.depart(isApart) }

// Last is Depart for who ends MPI.
func (b *Board) Last() {
	b.head.ended.Store(1)
	b.depart(isApart | isLast)
}

func (b *Board) depart(how uint64) {
	was := b.own.apart.Load()
	if was&isApart != 0 {
		return // who has begun to sleep since has seen that
	}
	b.own.apart.Store(was | how)
	b.head.apart.Add(1) // a fence: who is about to sleep sees this, or is seen
	if b.head.sleepers.Load() == 0 {
		return
	}
	for i := range b.Ranks {
		if i != b.Me && b.line(i).waiting.Load() != 0 {
			b.Ring(i)
		}
	}
}

// strayed returns a rank that waits by messages in a call before that of this rank, or beside it, or has ended
// MPI before it, -1 if there is none.
func (b *Board) strayed(first uint64) int {
	if b.head.apart.Load() == 0 {
		return -1
	}
	apart := b.own.apart.Load() | isApart
	for i := range b.Ranks {
		// In this order: who is ahead has told of his turns first.
		l := b.line(i)
		if its := l.apart.Load(); i != b.Me && (its == apart || its&isLast != 0) && l.turns.Load() <= first {
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

// Deserted reports whether another rank has ended MPI before the call by messages in which this one waits, which
// will not end; then it breaks the board.
func (b *Board) Deserted() bool {
	if b.head.ended.Load() == 0 {
		return false
	}
	own := b.own.apart.Load()
	for i := range b.Ranks {
		if its := b.line(i).apart.Load(); its&isLast != 0 && its&^isLast <= own {
			b.breaks()
			return true
		}
	}
	return false
}
