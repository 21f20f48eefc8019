package mpi

import (
	"sync"

	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

// Communicators that another MPI makes of the ranks of one of ours, each of them in a call which all ranks
// make in the same order: Comm_dup, Comm_split and their like. Most need nothing of ours but a number, and that
// only when they are used. So rank 0 of the parent takes some numbers at once and tells them in a broadcast that
// nobody waits for, and each call reserves the next one, for all communicators that come of it: they have no
// member in common. All ranks of the parent use it up, whether they are members or not. When all have, it is
// free again: they are counted in shared memory, or where not all ranks share it by rank 0, whom the others tell.

// reserves are the numbers that have been told to the ranks of a communicator.
type reserves struct {
	mu      sync.Mutex
	block   *numbers
	next    int         // of the block, the first that is not reserved
	dropped []*reserved // but not given up yet
	ended   bool        // the communicator has been freed
}

// mostReserved is how many numbers are told at once. A communicator of which few are made takes fewer.
const mostReserved = 32

// numbers are those that are told together.
type numbers struct {
	c     *Comm
	mu    sync.Mutex
	told  *Request // nil: it has ended
	words []int64  // an outcome, and the numbers
	err   error
	each  []reserved
}

// reserved is inside.Reserved.
type reserved struct {
	b *numbers
	i int
}

// reserve is inside.Functions.Reserve.
func (c *Comm) reserve() (inside.Reserved[Comm], error) {
	r := &c.reserves
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.block == nil || r.next == len(r.block.each) {
		r.giveUp(false)
		n := 1
		if r.block != nil {
			n = min(2*r.next, mostReserved)
		}
		b := &numbers{c: c, words: make([]int64, 1+n), each: make([]reserved, n)}
		if err := b.tell(); err != nil {
			return nil, err
		}
		r.block, r.next = b, 0
	}
	d := &r.block.each[r.next]
	*d = reserved{r.block, r.next}
	r.next++
	return d, nil
}

// tell begins to tell the ranks of a communicator numbers.
func (b *numbers) tell() error {
	const op = "Comm_dup"
	c := b.c
	k := c.rank
	x, err := bcast(c, op, b.words, 0)
	if err != nil {
		x.refuse()
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.AllShare() {
		k.Poll() // others may have told that they have left some
	}
	for i := range b.words[1:] {
		if c.Rank() > 0 {
			break
		}
		d, err := k.idents.Take(commid.WithoutArea)
		if err != nil {
			b.words[0] = int64(commid.OutcomeOf(err))
			b.giveBack(1, 1+i)
			break
		}
		b.words[1+i] = d.Word()
		k.expect(d, c.size)
	}
	tag, line := c.turns.tag()
	x.prepare(tag)
	x.line = line
	b.told = k.unseen(c, op)
	b.told.s = x
	k.run(b.told)
	return nil
}

// giveBack gives numbers back which nobody has reserved, with the lock held.
func (b *numbers) giveBack(from, to int) {
	k := b.c.rank
	for _, w := range b.words[from:to] {
		k.expect(commid.FromWord(w), 0)
		k.idents.Return(commid.FromWord(w))
	}
}

// known reports whether the ranks have been told of the numbers, and waits until they have if that is wanted.
func (b *numbers) known(wait bool) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told != nil {
		if done, _, err := b.told.Test(); done || err != nil {
			b.err = err
		} else if !wait {
			return false, nil
		} else {
			_, b.err = b.told.Wait()
		}
		b.told = nil
		if b.err == nil {
			b.err = b.c.everybody("Comm_dup", 0).Err(commid.Outcome(b.words[0]))
		}
	}
	return true, b.err
}

func (d *reserved) number() commid.ID { return commid.FromWord(d.b.words[1+d.i]) }

// Make implements inside.Reserved.
func (d *reserved) Make(worlds []int32) (*Comm, error) {
	if _, err := d.b.known(true); err != nil {
		return nil, err
	}
	c, id := d.b.c, d.number()
	members := c.members
	if worlds != nil {
		members = group.Of(worlds)
	}
	n := c.heir(id, members, int(members.Rank(int32(c.rank.fab.Rank()))))
	n.late = n.size > 1 && c.rank.share(members)
	n.counted = true
	return n, nil
}

// Drop implements inside.Reserved.
func (d *reserved) Drop() {
	r := &d.b.c.reserves
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped = append(r.dropped, d); r.ended || len(r.dropped) > mostReserved {
		r.giveUp(r.ended)
	}
}

// giveUp ends this rank's use of the numbers that have been dropped, and which it knows. If a rank has died
// it may never know them.
func (r *reserves) giveUp(wait bool) {
	left := r.dropped[:0]
	for _, d := range r.dropped {
		if known, err := d.b.known(wait); !known {
			left = append(left, d)
		} else if err == nil {
			k, id := d.b.c.rank, d.number()
			k.mu.Lock()
			k.proto.Skip(id.Number, id.Gen)
			k.proto.Skip(id.Number|1, id.Gen)
			k.leave(id)
			k.mu.Unlock()
		}
	}
	r.dropped = left
}

// expect has a number in use until so many ranks have left it. It is called by its leader, with the lock held, as all
// of these are.
func (k *rank) expect(d commid.ID, ranks int) {
	switch {
	case k.AllShare():
		k.users(d).Store(uint32(ranks))
	case ranks == 0:
		delete(k.counts, d.Slot())
	default:
		k.counts[d.Slot()] = ranks
	}
}

// depart tells that this rank uses a number no more.
func (k *rank) depart(d commid.ID) {
	switch {
	case k.AllShare():
		k.users(d).Add(^uint32(0))
	case d.Leader() == k.fab.Rank():
		k.departed(d.Number, d.Gen)
	default:
		k.proto.Leave(d.Leader(), d.Number, d.Gen)
	}
}

// departed counts a rank that uses a number of this rank's no more.
func (k *rank) departed(number, gen uint32) {
	slot := commid.ID{Number: number, Gen: gen}.Slot()
	if k.counts[slot]--; k.counts[slot] == 0 {
		delete(k.counts, slot)
	}
}

// leave ends this rank's use of a number that is counted.
func (k *rank) leave(d commid.ID) {
	k.depart(d)
	k.released(d)
}

// released gives the number back if it is this rank's.
func (k *rank) released(d commid.ID) {
	if d.Leader() == k.fab.Rank() {
		k.idents.Release(d)
	}
}

// end gives back what is left when a communicator is freed.
func (r *reserves) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.giveUp(true)
	r.ended = true
	if b := r.block; b != nil && b.c.Rank() == 0 && commid.Outcome(b.words[0]) == commid.Fine {
		b.c.rank.mu.Lock()
		defer b.c.rank.mu.Unlock()
		b.giveBack(1+r.next, len(b.words))
	}
}
