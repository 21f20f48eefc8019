package mpi

import (
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

// found makes the communicator of a group, in which this process is rank me,
// with an ID that a team has agreed upon. The whole team calls it, with nil
// if this process is not in the group. At the root, whose ID it is, it returns
// when all have opened the communicator.
func (t *team) found(d commid.ID, members *group.Group, me int) (*Comm, error) {
	var n *Comm
	if members != nil {
		n = t.c.derive(d, members, me)
	}
	if _, err := t.Gather(nil, nil); err != nil {
		n.abandon()
		return nil, err
	}
	return n, nil
}

// derive makes and opens a communicator that inherits from c.
func (c *Comm) derive(d commid.ID, members *group.Group, me int) *Comm {
	n := c.heir(d, members, me)
	n.area = c.rank.openArea(d, members, me)
	return n
}

// heir is derive without an area.
func (c *Comm) heir(d commid.ID, members *group.Group, me int) *Comm {
	n := &Comm{rank: c.rank, id: d, members: members, size: members.Size(), handler: c.Errhandler(),
		algorithms: c.algorithms, hosts: c.rank.hostsOf(members)}
	n.p2p, n.coll = c.rank.open(d, members, me)
	return n
}

// abandon closes a communicator that not all members have opened. Others may
// open it still, so its slot is never used again.
func (c *Comm) abandon() {
	if c == nil {
		return
	}
	c.spoiled = true
	c.freed.Store(true)
	c.rank.closeArea(c)
	c.rank.shut(c)
}

// agree lets the root of a team choose an ID for what the team makes. bad is
// what this member has to say instead; the root's keeps all from it.
func (t *team) agree(bad error) (commid.ID, error) {
	var d commid.ID
	err := bad
	word := make([]int64, 1)
	if t.Me == 0 && err == nil {
		d, err = t.c.propose(t.op)
		word[0] = d.Word()
	}
	if e := t.Cast(word, err); e != nil {
		return commid.ID{}, e
	}
	return commid.FromWord(word[0]), nil
}

// Dup makes a communicator of the same ranks, with the topology, the error
// handler, and those attributes that let themselves be copied (MPI_Comm_dup).
// All ranks of c call it. If an attribute of one of them refuses to be copied no
// rank gets a communicator.
func (c *Comm) Dup() (*Comm, error) {
	const op = "Dup"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if c.local != nil {
		return c.duplicate(op, c.dupInter)
	}
	return c.duplicate(op, c.dupIntra)
}

// duplicate makes a communicator by dup, and gives it what a duplicate has of c.
func (c *Comm) duplicate(op string, dup func(op string, bad error) (*Comm, error)) (*Comm, error) {
	defer c.rank.timed(op, 0).end()
	copied, bad := c.copyAttrs(op)
	d, err := dup(op, bad)
	if err != nil {
		for _, a := range copied {
			if a.key.remove != nil {
				_ = a.key.remove(c, a.value)
			}
		}
		return nil, err
	}
	d.topology, d.attrs = c.topology, copied
	return d, nil
}

func (c *Comm) dupIntra(op string, bad error) (*Comm, error) { return c.everybody(op, 0).dup(bad) }

// dup duplicates the communicator of a team that is all of it, unless one of the
// members has something to say against it.
func (t *team) dup(bad error) (*Comm, error) {
	_, bad = t.Gather(nil, bad)
	d, err := t.agree(bad)
	if err != nil {
		return nil, err
	}
	return t.found(d, t.c.members, t.c.Rank())
}

// Free gives the communicator up (MPI_Comm_free). All its ranks call it; it does
// not wait for them. What is pending on it completes as if nothing had happened;
// calls that follow return ErrComm. No other goroutine may be in a call on it. The
// world and Self can not be freed.
func (c *Comm) Free() error {
	if err := c.usable("Free"); err != nil {
		return err
	}
	if c.predefined() {
		return c.fail("Free", noValue, noValue, noValue, ErrComm, "the world and Self end with Finalize")
	}
	if err := c.deleteAttrs("Free"); err != nil {
		return err
	}
	if c.freed.Swap(true) {
		return c.usable("Free")
	}
	c.reserves.end()
	c.rank.closeArea(c)
	c.rank.shut(c)
	if c.local != nil {
		return c.local.Free()
	}
	return nil
}

// predefined reports whether c is the world or Self.
func (c *Comm) predefined() bool { return c.id.Predefined() }
