package mpi

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/exanet-mpi/exanet/coll"
)

// DupWithCollectives is Dup, but the collectives on the communicator, and on those made
// from it, are performed by other algorithms: list is as WithCollectives has it, "" the
// built-in table. All ranks of c pass lists that say the same, and none gets a
// communicator otherwise: the error wraps ErrArg.
func (c *Comm) DupWithCollectives(list string) (*Comm, error) {
	const op = "DupWithCollectives"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	s, err := coll.NewSelection(list)
	if err != nil {
		err = c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: %w", ErrArg, err), "see exanet info --collectives")
	}
	d, err := c.duplicate(op, func(op string, bad error) (*Comm, error) {
		if err != nil {
			bad = err
		}
		return c.everybody(op, 0).dupWith(s, bad)
	})
	if err != nil {
		return nil, err
	}
	d.algorithms = s
	return d, nil
}

// dupWith is dup if all members have the same algorithms, and no member has anything
// against it.
func (t *team) dupWith(s *coll.Selection, bad error) (*Comm, error) {
	h := fnv.New64a()
	fmt.Fprint(h, s)
	mine := []int64{int64(h.Sum64())}
	all, bad := t.Gather(mine, bad)
	if bad == nil && len(slices.Compact(all)) > 1 {
		bad = t.c.fail(t.op, noValue, noValue, noValue, fmt.Errorf("%w: the ranks name different algorithms", ErrArg),
			"give all the same")
	}
	return t.dup(bad)
}
