package mpi

import (
	"fmt"
	"time"

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
	if s := c.rank.stats; s != nil {
		defer s.record(op, 0, time.Now())
	}
	if leader < 0 || leader >= c.size {
		return nil, c.fail(op, leader, tag, noValue, ErrRank, "ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	t := c.everybody(op, leader)
	local, err := t.dup() // if this fails the leader has to tell the other group
	head := make([]int64, headWords)
	var theirs []int64
	if t.me == 0 {
		theirs, err = c.greet(op, bridge, remote, tag, head, err)
	}
	if err = t.cast(head, err); err == nil {
		if t.me > 0 {
			theirs = make([]int64, head[headSize])
		}
		err = t.cast(theirs, nil)
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
	return local.face(t, identOf(head[headIdent]), group.Of(worlds), int(head[headLeader]))
}

// What a leader tells the other group of its own.
const (
	headSize    = iota // number of ranks
	headLeader         // the leader's rank in its group
	headWorld          // and in the job
	headIdent          // proposed; of the two, that of the lower rank in the job is taken
	headVerdict        // whether the group can go on
	headWords
)

// greet exchanges heads and groups with the leader of the other group. bad is
// what this group has to say instead.
func (c *Comm) greet(op string, bridge *Comm, remote, tag int, head []int64, bad error) (theirs []int64, err error) {
	if err := bridge.usableWithin(op); err != nil {
		return nil, err
	}
	if remote < 0 || remote >= bridge.size || remote == bridge.Rank() {
		return nil, bridge.fail(op, remote, tag, noValue, ErrRank, "it is the rank of the other group's leader, from 0 to "+itoa(bridge.size-1))
	}
	if tag < 0 || tag > MaxTag {
		return nil, bridge.fail(op, remote, tag, noValue, ErrTag, "tags are 0 to "+itoa(MaxTag))
	}
	p := c.offer(op, bad)
	out := []int64{int64(c.size), int64(c.Rank()), int64(c.rank.fab.Rank()), p.ident.word(), int64(verdictOf(p.bad))}
	err = bridge.swap(op, bridge.coll, remote, tagOf(tag), out, head)
	taken := head[headWorld] > out[headWorld]
	if err = p.decide(c, op, err, verdict(head[headVerdict]), taken); err != nil {
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
			return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: rank %d of the job is in both", ErrGroup, w), "give groups that have no member in common")
		}
	}
	return theirs, nil
}

// offer is what a leader brings to a meeting with another one: an ident, or why
// its group can not go on.
type offer struct {
	ident ident
	bad   error
	full  bool // there is an ident
}

func (c *Comm) offer(op string, bad error) (p offer) {
	if p.bad = bad; bad == nil {
		p.ident, p.bad = c.propose(op)
		p.full = p.bad == nil
	}
	return p
}

// decide ends the meeting: err says how it went, theirs what the other leader
// has found, and taken whose ident they have taken if nothing is wrong. An
// ident that is not taken is free again, unless the other leader has died: then
// nobody knows whom it has told.
func (p offer) decide(c *Comm, op string, err error, theirs verdict, taken bool) error {
	if err == nil {
		err = theirs.err(c.everybody(op, 0))
		if p.full && (err != nil || !taken) {
			c.rank.withdraw(p.ident)
		}
	}
	if p.bad != nil {
		return p.bad
	}
	return err
}

// swap sends words to a rank of a context and receives others from it.
func (c *Comm) swap(op string, ctx *variants.Context, with, tag int, out, in []int64) error {
	c.rank.mu.Lock()
	_, err := c.exchange(op, ctx, raw(mem.Bytes(out)), with, tag, raw(mem.Bytes(in)), with, tag)
	return err
}

// face makes the intercommunicator of c, the communicator of one group, which it
// takes over, and the ranks of the other. The teams of both groups call it.
func (c *Comm) face(t *team, d ident, remote *group.Group, remoteLeader int) (*Comm, error) {
	n := &Comm{rank: c.rank, id: d, members: c.members, local: c, size: remote.Size(), handler: c.Errhandler()}
	n.p2p, n.coll = c.rank.open(d, remote, c.Rank())
	if err := n.concur(t, d, remoteLeader); err != nil {
		n.abandon()
		_ = c.Free()
		return nil, err
	}
	return n, nil
}

// concur returns, at the owner of an ident, when the ranks of both groups have
// opened what it stands for. Both have agreed on the ident in teams whose roots
// speak with each other on the intercommunicator c.
func (c *Comm) concur(t *team, d ident, remoteRoot int) error {
	_, err := t.gather(nil, nil)
	if t.me > 0 {
		return err
	}
	word := []int64{int64(verdictOf(err))}
	roots := &team{c: c, op: t.op, ctx: c.coll, tag: tagMaking, at: func(int) int { return remoteRoot }}
	if d.leader() != c.rank.fab.Rank() {
		roots.send(word, 0)
		return err
	}
	e := roots.recv(word, 0)
	if e == nil {
		e = verdict(word[0]).err(t)
	}
	if err == nil {
		err = e
	}
	return err
}

// dupInter duplicates an intercommunicator. Its ranks 0 lead.
func (c *Comm) dupInter(op string) (*Comm, error) {
	t := c.local.everybody(op, 0)
	local, err := t.dup()
	d, _, err := c.settle(t, false, err)
	if err != nil {
		if local != nil {
			_ = local.Free()
		}
		return nil, err
	}
	return local.face(t, d, c.p2p.Group, 0)
}

// settle lets the two groups agree which of them comes first, and takes the
// ident that the leader of that one, its rank 0, proposes. A group that is high
// comes behind one that is not; else the ranks of the leaders in the job decide.
// err is what this rank has to say instead.
func (c *Comm) settle(t *team, high bool, err error) (d ident, first bool, _ error) {
	outcome := make([]int64, 2)
	if t.me == 0 {
		outcome, err = c.confer(t, high, err)
	}
	if err := t.cast(outcome, err); err != nil {
		return d, false, err
	}
	return identOf(outcome[0]), outcome[1] != 0, nil
}

// confer is the leaders' part of settle.
func (c *Comm) confer(t *team, high bool, bad error) ([]int64, error) {
	p := c.local.offer(t.op, bad)
	out, in := []int64{0, int64(c.rank.fab.Rank()), p.ident.word(), int64(verdictOf(p.bad))}, make([]int64, 4)
	if high {
		out[0] = 1
	}
	err := c.swap(t.op, c.coll, 0, tagMaking, out, in)
	first := out[0] < in[0] || out[0] == in[0] && out[1] < in[1]
	if err = p.decide(c.local, t.op, err, verdict(in[3]), first); err != nil {
		return make([]int64, 2), err
	}
	if first {
		return []int64{out[2], 1}, nil
	}
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
	if s := c.rank.stats; s != nil {
		defer s.record(op, 0, time.Now())
	}
	if c.local == nil {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it is no intercommunicator", ErrComm), "use Dup")
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
		return nil, c.fail("RemoteGroup", noValue, noValue, noValue, fmt.Errorf("%w: it is no intercommunicator", ErrComm), "use Group")
	}
	return c.remoteGroup(), nil
}

func (c *Comm) remoteGroup() *Group { return &Group{rank: c.rank, set: c.p2p.Group} }
