package mpi

import (
	"fmt"

	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
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
	if leader < 0 || leader >= c.size {
		return nil, c.fail(op, leader, tag, noValue, ErrRank, "ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	local, err := c.dup(op)
	if err != nil {
		return nil, err
	}
	t := local.everybody(op, leader)
	head := make([]int64, headWords)
	var theirs []int64
	if t.me == 0 {
		head, theirs, err = local.greet(op, bridge, remote, tag)
	}
	if err = t.cast(head, err); err == nil {
		if t.me > 0 {
			theirs = make([]int64, head[headSize])
		}
		err = t.cast(theirs, nil)
	}
	if err != nil {
		_ = local.Free()
		return nil, err
	}
	worlds := make([]int32, len(theirs))
	for i, w := range theirs {
		worlds[i] = int32(w)
	}
	return local.face(op, identOf(head[headIdent]), group.Of(worlds), leader, int(head[headLeader]))
}

// What a leader tells the other group of its own.
const (
	headSize   = iota // number of ranks
	headLeader        // the leader's rank in its group
	headWorld         // and in the job
	headIdent         // proposed; of the two, that of the lower rank in the job is taken
	headWords
)

// greet exchanges heads and groups with the leader of the other group.
func (c *Comm) greet(op string, bridge *Comm, remote, tag int) (head, theirs []int64, err error) {
	if err := bridge.usableWithin(op); err != nil {
		return nil, nil, err
	}
	if remote < 0 || remote >= bridge.size || remote == bridge.Rank() {
		return nil, nil, bridge.fail(op, remote, tag, noValue, ErrRank, "it is the rank of the other group's leader, from 0 to "+itoa(bridge.size-1))
	}
	if tag < 0 || tag > MaxTag {
		return nil, nil, bridge.fail(op, remote, tag, noValue, ErrTag, "tags are 0 to "+itoa(MaxTag))
	}
	k := c.rank
	mine, err := c.propose(op)
	if err != nil {
		return nil, nil, err
	}
	head = make([]int64, headWords)
	out := []int64{int64(c.size), int64(c.Rank()), int64(k.fab.Rank()), mine.word()}
	if err := bridge.swap(op, bridge.coll, remote, tagOf(tag), out, head); err != nil {
		k.withdraw(mine)
		return nil, nil, err
	}
	if head[headWorld] < out[headWorld] {
		k.withdraw(mine)
	} else {
		head[headIdent] = out[headIdent]
	}
	ours := make([]int64, 0, c.size)
	for w := range c.members.All() {
		ours = append(ours, int64(w))
	}
	theirs = make([]int64, head[headSize])
	if err := bridge.swap(op, bridge.coll, remote, tagOf(tag), ours, theirs); err != nil {
		return nil, nil, err
	}
	for _, w := range theirs {
		if c.members.Has(int32(w)) {
			return nil, nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: rank %d of the job is in both", ErrGroup, w), "give groups that have no member in common")
		}
	}
	return head, theirs, nil
}

// swap sends words to a rank of a context and receives others from it.
func (c *Comm) swap(op string, ctx *variants.Context, with, tag int, out, in []int64) error {
	c.rank.mu.Lock()
	_, err := c.exchange(op, ctx, mem.Bytes(out), with, tag, mem.Bytes(in), with, tag)
	return err
}

// face makes the intercommunicator of c, the communicator of one group, which it
// takes over, and the ranks of the other. All ranks of both call it; it returns
// at the owner of the ident when all have opened it.
func (c *Comm) face(op string, d ident, remote *group.Group, leader, remoteLeader int) (*Comm, error) {
	k := c.rank
	n := &Comm{rank: k, id: d, members: c.members, local: c, size: remote.Size(), handler: c.Errhandler()}
	n.p2p, n.coll = k.open(d, remote, c.Rank())
	_, err := c.everybody(op, leader).gather(nil, nil)
	if c.Rank() == leader {
		word := []int64{int64(verdictOf(err))}
		t := &team{c: n, op: op, ctx: n.coll, tag: tagMaking, at: func(int) int { return remoteLeader }}
		if d.leader() != k.fab.Rank() {
			t.send(word, 0)
		} else if e := t.recv(word, 0); err == nil && e != nil {
			err = e
		} else if err == nil {
			err = verdict(word[0]).err(t)
		}
	}
	if err != nil {
		n.abandon()
		_ = c.Free()
		return nil, err
	}
	return n, nil
}

// dupInter duplicates an intercommunicator. Its ranks 0 lead.
func (c *Comm) dupInter(op string) (*Comm, error) {
	local, err := c.local.dup(op)
	if err != nil {
		return nil, err
	}
	d, _, err := c.settle(op, false)
	if err != nil {
		_ = local.Free()
		return nil, err
	}
	return local.face(op, d, c.remoteGroup().set, 0, 0)
}

// settle lets the two groups agree which of them comes first, and takes the
// ident that the leader of that one, its rank 0, proposes. A group that is high
// comes behind one that is not; else the ranks of the leaders in the job decide.
func (c *Comm) settle(op string, high bool) (d ident, first bool, err error) {
	t := c.local.everybody(op, 0)
	outcome := make([]int64, 2)
	if t.me == 0 {
		outcome, err = c.confer(op, high)
	}
	if err := t.cast(outcome, err); err != nil {
		return d, false, err
	}
	return identOf(outcome[0]), outcome[1] != 0, nil
}

// confer is the leaders' part of settle.
func (c *Comm) confer(op string, high bool) ([]int64, error) {
	k := c.rank
	mine, err := c.propose(op)
	if err != nil {
		return nil, err
	}
	out, in := []int64{0, int64(k.fab.Rank()), mine.word()}, make([]int64, 3)
	if high {
		out[0] = 1
	}
	if err := c.swap(op, c.coll, 0, tagMaking, out, in); err != nil {
		k.withdraw(mine)
		return nil, err
	}
	if out[0] < in[0] || out[0] == in[0] && out[1] < in[1] {
		return []int64{out[2], 1}, nil
	}
	k.withdraw(mine)
	return []int64{in[2], 0}, nil
}

// Merge makes a communicator of both groups of an intercommunicator
// (MPI_Intercomm_merge). All ranks of both call it, those of a group with the same
// high: the ranks of the group that is not high come first.
func (c *Comm) Merge(high bool) (*Comm, error) {
	const op = "Merge"
	if err := c.usable(op); err != nil {
		return nil, err
	}
	if c.local == nil {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it is no intercommunicator", ErrComm), "use Dup")
	}
	d, first, err := c.settle(op, high)
	if err != nil {
		return nil, err
	}
	if first {
		return c.found(op, d, group.Union(c.members, c.p2p.Group), c.Rank())
	}
	return c.found(op, d, group.Union(c.p2p.Group, c.members), c.size+c.Rank())
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
		return nil, c.fail("RemoteGroup", noValue, noValue, noValue, fmt.Errorf("%w: it is no intercommunicator", ErrComm), "use Group")
	}
	return c.remoteGroup(), nil
}

func (c *Comm) remoteGroup() *Group { return &Group{rank: c.rank, set: c.p2p.Group} }
