package commid

import (
	"errors"
	"math/bits"

	"github.com/exanet-mpi/exanet/variants"
)

// Outcome is what some ranks find about a call, the worst that any of them finds.
type Outcome int64

const (
	Fine      Outcome = iota
	Died              // a member
	Misused           // a member has passed what the call does not take
	Exhausted         // a leader has no number left
)

// OutcomeOf is what to tell the others of an error of this rank's.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Fine
	case errors.Is(err, ErrTooMany):
		return Exhausted
	case errors.Is(err, variants.ErrPeerDied):
		return Died
	}
	return Misused
}

// Tree is some ranks that agree on something along a binomial tree, of which member 0 is
// the root. Every message has a size that both sides know, and begins with an outcome: a
// member that cannot go on says so to those who wait for it, so that nobody waits for the
// word of a dead member's child.
type Tree struct {
	Size, Me int
	// Send sends words to a member. If that has died it wants nothing any more, and
	// whoever waits for its word sees it. Recv fails if the member has died.
	Send func(words []int64, to int)
	Recv func(words []int64, from int) error
	// Fail makes the error of an outcome other than Fine that another member has given.
	Fail func(v Outcome) error
}

// Err is the error for an outcome that another member has given.
func (t *Tree) Err(v Outcome) error {
	if v == Fine {
		return nil
	}
	return t.Fail(v)
}

// subtree is the number of members at and below a member of a tree of size n.
func subtree(i, n int) int {
	if i == 0 {
		return n
	}
	return min(i&-i, n-i)
}

// Gather brings an entry of each member, all of the same length, to the root, in
// the order of the members. err is what this member has to say against it.
func (t *Tree) Gather(mine []int64, err error) ([]int64, error) {
	w := len(mine)
	buf := make([]int64, 1+subtree(t.Me, t.Size)*w)
	copy(buf[1:], mine)
	worst := OutcomeOf(err)
	for bit := 1; t.Me&bit == 0 && t.Me+bit < t.Size; bit <<= 1 {
		in := make([]int64, 1+subtree(t.Me+bit, t.Size)*w)
		if e := t.Recv(in, t.Me+bit); e != nil {
			in[0] = int64(OutcomeOf(e))
		}
		worst = max(worst, Outcome(in[0]))
		copy(buf[1+bit*w:], in[1:])
	}
	if t.Me > 0 {
		buf[0] = int64(worst)
		t.Send(buf, t.Me&(t.Me-1))
		return nil, err
	}
	if err == nil {
		err = t.Err(worst)
	}
	return buf[1:], err
}

// Cast brings words from the root to every member, which know how many there
// are. err is what the root has to say instead; what another member has to say
// stays with it.
func (t *Tree) Cast(words []int64, err error) error {
	buf := make([]int64, 1+len(words))
	if t.Me == 0 {
		buf[0] = int64(OutcomeOf(err))
		copy(buf[1:], words)
	} else {
		if e := t.Recv(buf, t.Me&(t.Me-1)); e != nil {
			buf[0] = int64(OutcomeOf(e))
			err = e
		}
		copy(words, buf[1:])
	}
	for bit := t.firstChild(); bit > 0; bit >>= 1 {
		if t.Me+bit < t.Size {
			t.Send(buf, t.Me+bit)
		}
	}
	if err == nil {
		err = t.Err(Outcome(buf[0]))
	}
	return err
}

// Everyone brings the entries of all members, of the same length, to all.
func (t *Tree) Everyone(mine []int64, err error) ([]int64, error) {
	all, e := t.Gather(mine, err)
	if t.Me > 0 {
		all = make([]int64, t.Size*len(mine))
	}
	if e := t.Cast(all, e); err == nil {
		err = e
	}
	return all, err
}

// firstChild is the distance to the child with the largest subtree.
func (t *Tree) firstChild() int {
	if t.Me == 0 {
		return 1 << bits.Len(uint(t.Size-1)) >> 1
	}
	return t.Me & -t.Me >> 1
}
