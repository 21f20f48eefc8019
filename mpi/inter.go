package mpi

import (
	"fmt"

	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

// An intercommunicator joins two groups: what a rank sends to rank r goes to
// rank r of the other group. Its contexts hold the remote group; Comm.local is a
// communicator of the own group, in which its ranks agree before their leaders
// speak with each other.

// InterCreate makes an intercommunicator of the ranks of c, which is that of
// one group, and those of the other group, which call it with theirs
// (MPI_Intercomm_create). leader is a rank of c; that rank is in bridge, where
// the leader of the other group is rank remote; elsewhere bridge and remote mean
// nothing. Calls that run at the same time on one bridge need different tags.
func (c *Comm) InterCreate(leader int, bridge *Comm, remote, tag int) (*Comm, error) {
	const op = "InterCreate"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	defer c.rank.timed(op, 0).end()
	if leader < 0 || leader >= c.size {
		return nil, c.fail(op, leader, tag, noValue, ErrRank, "ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	t := c.everybody(op, leader)
	local, err := t.dup(nil) // if this fails the leader has to tell the other group
	head := make([]int64, headWords)
	var theirs []int64
	if t.Me == 0 {
		theirs, err = c.greet(op, bridge, remote, tag, head, err)
	}
	if err = t.Cast(head, err); err == nil {
		if t.Me > 0 {
			theirs = make([]int64, head[headSize])
		}
		err = t.Cast(theirs, nil)
	}
	if err != nil {
		if local != nil {
			_ = local.Free()
		}
		return nil, err
	}
	worlds := make([]int32, len(theirs))
	for i, w := range theirs {
		worlds[i] = int32(w)
	}
	return local.face(t, commid.FromWord(head[headIdent]), group.Of(worlds), int(head[headLeader]))
}

// What a leader tells the other group of its own.
const (
	headSize    = iota // number of ranks
	headLeader         // the leader's rank in its group
	headWorld          // and in the job
	headIdent          // proposed; of the two, that of the lower rank in the job is taken
	headOutcome        // whether the group can go on
	headWords
)

// greet exchanges heads and groups with the leader of the other group. bad is
// what this group has to say instead.
func (c *Comm) greet(op string, bridge *Comm, remote, tag int, head []int64, bad error) (theirs []int64, err error) {
	if err := bridge.usableWithin(op); err != nil {
		return nil, err
	}
	if bridge.rank != c.rank {
		return nil, c.fail(op, noValue, noValue, noValue, ErrComm,
			"the bridge must be a communicator of the calling rank")
	}
	if remote == bridge.Rank() {
		return nil, bridge.fail(op, remote, tag, noValue, ErrRank,
			"that is the caller itself: give the rank of the other group's leader")
	}
	if remote < 0 || remote >= bridge.size {
		return nil, bridge.fail(op, remote, tag, noValue, ErrRank,
			"it is the rank of the other group's leader, from 0 to "+itoa(bridge.size-1))
	}
	if tag < 0 || tag > MaxTag {
		return nil, bridge.fail(op, remote, tag, noValue, ErrTag, "tags are 0 to "+itoa(MaxTag))
	}
	p := c.offer(op, bad)
	out := []int64{int64(c.size), int64(c.Rank()), int64(c.rank.fab.Rank()), p.id.Word(),
		int64(commid.OutcomeOf(p.bad))}
	err = bridge.swap(op, bridge.coll, remote, tagOf(tag), out, head)
	taken := head[headWorld] > out[headWorld]
	if err = p.decide(c, op, err, commid.Outcome(head[headOutcome]), taken); err != nil {
		return nil, err
	}
	if taken {
		head[headIdent] = out[headIdent]
	}
	ours := make([]int64, 0, c.size)
	for w := range c.members.All() {
		ours = append(ours, int64(w))
	}
	theirs = make([]int64, head[headSize])
	if err := bridge.swap(op, bridge.coll, remote, tagOf(tag), ours, theirs); err != nil {
		return nil, err
	}
	for _, w := range theirs {
		if c.members.Has(int32(w)) {
			return nil, c.fail(op, noValue, noValue, noValue,
				fmt.Errorf("%w: rank %d of the job is in both", ErrGroup, w),
				"give groups that have no member in common")
		}
	}
	return theirs, nil
}

// face makes the intercommunicator of c, the communicator of one group, which it
// takes over, and the ranks of the other. The teams of both groups call it.
func (c *Comm) face(t *team, d commid.ID, remote *group.Group, remoteLeader int) (*Comm, error) {
	n := &Comm{rank: c.rank, id: d, members: c.members, local: c, size: remote.Size(), handler: c.Errhandler(),
		algorithms: c.algorithms}
	n.p2p, n.coll = c.rank.open(d, remote, c.Rank())
	if err := n.concur(t, d, remoteLeader); err != nil {
		n.abandon()
		_ = c.Free()
		return nil, err
	}
	return n, nil
}

// dupInter duplicates an intercommunicator. Its ranks 0 lead.
func (c *Comm) dupInter(op string, bad error) (*Comm, error) {
	t := c.local.everybody(op, 0)
	local, err := t.dup(bad)
	d, _, err := c.settle(t, false, err)
	if err != nil {
		if local != nil {
			_ = local.Free()
		}
		return nil, err
	}
	return local.face(t, d, c.p2p.Group, 0)
}

// Merge makes a communicator of both groups of an intercommunicator
// (MPI_Intercomm_merge). All ranks of both call it, those of a group with the same
// high: the ranks of the group that is not high come first.
func (c *Comm) Merge(high bool) (*Comm, error) {
	const op = "Merge"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	defer c.rank.timed(op, 0).end()
	if c.local == nil {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it is no intercommunicator", ErrComm),
			"use Dup")
	}
	t := c.local.everybody(op, 0)
	d, first, err := c.settle(t, high, nil)
	if err != nil {
		return nil, err
	}
	members, me := group.Union(c.members, c.p2p.Group), c.Rank()
	if !first {
		members, me = group.Union(c.p2p.Group, c.members), c.size+c.Rank()
	}
	n := c.derive(d, members, me)
	if err := c.concur(t, d, 0); err != nil {
		n.abandon()
		return nil, err
	}
	return n, nil
}

// IsInter reports whether c is an intercommunicator (MPI_Comm_test_inter).
func (c *Comm) IsInter() bool { return c != nil && c.local != nil }

// RemoteSize is the number of ranks in the other group of an intercommunicator
// (MPI_Comm_remote_size); 0 if c is none.
func (c *Comm) RemoteSize() int {
	if !c.IsInter() {
		return 0
	}
	return c.size
}

// RemoteGroup is the other group of an intercommunicator
// (MPI_Comm_remote_group).
func (c *Comm) RemoteGroup() (*Group, error) {
	if err := c.usable("RemoteGroup"); err != nil {
		return nil, err
	}
	if c.local == nil {
		return nil, c.fail("RemoteGroup", noValue, noValue, noValue,
			fmt.Errorf("%w: it is no intercommunicator", ErrComm), "use Group")
	}
	return c.remoteGroup(), nil
}

func (c *Comm) remoteGroup() *Group { return &Group{rank: c.rank, set: c.p2p.Group} }
