package mpi

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/mpi/internal/progress"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/variants"
)

// Blocking collectives through memory that all ranks of a communicator share (package coll/shm). Each such
// communicator has an area of its leader's, which its number tells: that of its slot. A leader
// gives a slot with an area only to a communicator whose predecessor all ranks have closed; when
// its areas are all in use, those that it leads go without, and their collectives are messages.
// One whose number has been reserved (reserve.go) gets its area in its first call: its rank 0 takes a
// slot that has one, and tells the others.
//
// A call first goes on without the rank's lock, and looks a moment for what is not there yet.
// Then it waits as others do, and makes progress meanwhile. A death is seen by all who wait for
// something of the dead rank's: they fail, and with them all their later calls on the
// communicator, since they do not take part in them.
//
// A call by messages tells the area what it is as well. So ranks whose calls do not match find
// out, whichever way each makes its own.

// openArea joins the area of a communicator that has one, in which this process is rank me. The leader counts
// the ranks that have not closed it yet, perhaps after some of them have.
func (k *rank) openArea(d commid.ID, members *group.Group, me int) *shm.Area {
	if !k.share(members) {
		return nil
	}
	n := k.fab.Size()
	if d.Leader() == k.fab.Rank() {
		k.users(d).Add(uint32(members.Size()))
	}
	if k.check != nil || members.Size() == 1 || members.Size() > shm.MostRanks ||
		d.Slot() >= k.Shared.Areas() {
		return nil
	}
	a := shm.Open(k.Shared.Area(d.Leader(), d.Slot()), n, me, members.Size(), k.fab.Rank())
	a.Fenced, a.Settle = k.Shared.Fenced(), k.Shared.Settle
	a.Spins, a.Yields = spinBudget(k.Shared)
	a.HandOver = k.Shared.HandOver()
	a.Yield, a.Core = k.fab.Yield, func() uint64 { return uint64(k.Shared.Core()) }
	a.Split = splitFrom(a.Ranks, k.Shared.Oversubscribed())
	a.Ring = func(rank int) { k.Shared.Notify(int(members.World(int32(rank)))) }
	a.Read = func(rank int, addr uint64, to []byte) bool {
		world := int(members.World(int32(rank)))
		k.mu.Lock()
		reaches := k.Remote.Reaches(world)
		k.mu.Unlock()
		return reaches && k.Remote.Read(world, addr, to)
	}
	return a
}

// share reports whether the members of a communicator of this rank share memory: they are on its host.
func (k *rank) share(members *group.Group) bool {
	if k.Shared == nil || k.AllShare() {
		return k.Shared != nil
	}
	here := k.host(int32(k.fab.Rank()))
	for world := range members.All() {
		if k.host(world) != here {
			return false
		}
	}
	return true
}

// splitFrom is the length in bytes of a vector of which each rank combines a share. Where ranks
// share cores the second round costs each a switch, in which it could combine tens of KiB.
func splitFrom(ranks int, oversubscribed bool) int {
	const least = 16 << 10
	switch {
	case oversubscribed:
		return max(least, 128<<10/ranks)
	case ranks == 2:
		return math.MaxInt
	}
	return least
}

// users are the ranks that have not closed a communicator which its leader has opened, where they share memory.
func (k *rank) users(d commid.ID) *atomic.Uint32 { return k.Shared.Counter(d.Leader(), d.Slot()) }

// closeArea leaves the area of a communicator that is freed.
func (k *rank) closeArea(c *Comm) {
	c.area = nil
	if c.areaID != commid.World {
		k.mu.Lock()
		k.users(c.areaID).Add(^uint32(0))
		k.released(c.areaID)
		k.mu.Unlock()
	}
	switch {
	case c.counted:
		k.mu.Lock()
		k.depart(c.id)
		k.mu.Unlock()
	case c.local == nil && k.share(c.members):
		k.users(c.id).Add(^uint32(0))
	}
}

// findArea gives a communicator an area, if its rank 0 has one left. It is its first blocking collective.
func (c *Comm) findArea(op string) error {
	c.late = false
	k, word := c.rank, []int64{commid.World.Word()} // none
	t := c.everybody(op, 0)
	if t.Me == 0 {
		k.mu.Lock()
		if d, err := k.idents.Take(commid.WithArea); err == nil {
			word[0] = d.Word()
		}
		k.mu.Unlock()
	}
	if err := t.Cast(word, nil); err != nil || word[0] == commid.World.Word() {
		return err
	}
	c.areaID = commid.FromWord(word[0])
	c.area = k.openArea(c.areaID, c.members, c.Rank())
	return nil
}

// vacant reports whether a slot of this rank may be used: all have closed the communicator that had it.
func (k *rank) vacant(d commid.ID) bool {
	if k.counts[d.Slot()] != 0 || k.Shared != nil && k.users(d).Load() != 0 {
		return false
	}
	if k.Shared == nil {
		return true
	}
	if d.Slot() < k.Shared.Areas() {
		shm.Clear(k.Shared.Area(d.Leader(), d.Slot()), k.fab.Size())
	}
	return true
}

// sharedArea is inside.Functions.SharedArea.
func (c *Comm) sharedArea(v *shm.View) bool {
	if c == nil || c.area == nil || v == nil {
		return false
	}
	k := c.rank
	k.mu.Lock()
	if !slices.Contains(k.views, v) {
		k.views = append(k.views, v)
	}
	k.tally(v) // of a communicator that has been freed
	k.mu.Unlock()
	c.area.View(v, func(op coll.Collective) int { return c.algorithms.SharedUpTo(op, c.size) })
	v.Bells, v.BellStep = c.rank.Shared.Doorbells()
	return true
}

// tally adds up the calls that C has made in an area.
func (k *rank) tally(v *shm.View) {
	for op := range v.Counts {
		k.collectives[op].Calls += v.Counts[op].Calls
		k.collectives[op].Bytes += v.Counts[op].Bytes
		v.Counts[op] = shm.Count{}
	}
}

// spinBudget says how often a rank looks for what it takes, or yields, before it makes progress
// meanwhile: for some 10 us, or 40 for each rank of its core.
func spinBudget(shared network.SharedMemory) (spins, yields int) {
	const looks, turns = 20, 50
	if shared.Yielding() || shared.HandOver() > 0 {
		yields = turns * shared.PerCore()
	}
	return looks * shared.Looks(), yields
}

// form is how a blocking call is made.
func (x *collective) form() shm.Form {
	if x.c.area == nil {
		return shm.Messages
	}
	shared, direct := x.c.algorithms.Shared(&x.Call)
	if !shared {
		return shm.Messages
	}
	return x.c.area.FormOf(&x.Call, direct)
}

// complete makes a blocking call.
func (x *collective) complete() error {
	if x.c.rank.check != nil {
		if err := x.agree(); err != nil {
			return err
		}
	} else if x.c.late {
		if err := x.c.findArea(x.name); err != nil {
			return err
		}
	}
	if form := x.form(); form != shm.Messages {
		return x.share(form)
	}
	return x.exchange()
}

// onArea fills in what package shm needs to know.
func (x *collective) onArea(form shm.Form) *shm.Call {
	o := &x.shm
	o.Call, o.Own, o.Form = &x.Call, x.own, form
	if o.Await == nil {
		o.Combine, o.Await = x.combine, x.await
	}
	return o
}

// share makes a call through shared memory.
func (x *collective) share(form shm.Form) error {
	a := x.c.area
	if a.IsCut() {
		return x.gone()
	}
	x.enter()
	o := x.onArea(form)
	err := o.Perform(a)
	if err == shm.ErrGone {
		return x.gone()
	}
	if err != nil {
		err = x.mismatched(err)
	}
	if err = x.handOver(err); err == nil {
		x.leave()
	}
	return err
}

// announce tells the area of a call by messages. It returns what the call waits for beside its
// messages, nil if it is not to: there is no area, or a rank has died, of which the messages tell.
func (x *collective) announce() (*shm.Words, error) {
	a := x.c.area
	if a == nil || a.IsCut() {
		return nil, nil
	}
	o := x.onArea(shm.Messages)
	switch err := o.Announce(a); {
	case err == nil:
		x.stop = o.Messages()
		return &x.stop, nil
	case a.Failed():
		return nil, x.mismatched(a.Failure())
	}
	a.Cut()
	return nil, nil
}

// wholly performs the schedule of a blocking call, with the rank's lock held. It ends as well when the calls
// of the area's ranks do not match, unless w is nil.
func (x *collective) wholly(w *shm.Words) {
	k, a := x.c.rank, x.c.area
	for !x.perform(true) {
		if w == nil {
			k.untilPerformed(func() bool { return x.batch.Open == 0 }, x)
			continue
		}
		k.UntilWords(func() bool { return x.batch.Open == 0 || a.Failed() },
			progress.Words{Words: &w.Words, Sleeper: w})
		if a.Failed() {
			x.drop()
			x.at, x.err = len(x.Steps), x.mismatched(a.Failure())
			w = nil
		}
	}
	k.Leave()
}

// handOver sends the data that other ranks could not read, and receives those that this
// one could not. It ends early if a rank has died: another may have given up then.
func (x *collective) handOver(err error) error {
	o := &x.shm
	if len(o.Missed)+len(o.Owed) == 0 {
		return err
	}
	k := x.c.rank
	x.Steps = x.Steps[:0]
	x.tag = int32(x.Op)
	x.rewind()
	k.mu.Lock()
	for _, i := range o.Missed {
		m := x.message(int32(i), o.Incoming(i))
		m.Recv = true
		k.proto.PostRecv(&m.Request)
	}
	for _, i := range o.Owed {
		x.send(int32(i), o.Outgoing(i), true)
	}
	k.Until(func() bool { return x.batch.Open == 0 || x.c.hasFailedPeer() })
	lost := x.batch.Open > 0
	if !lost {
		x.wholly(nil)
	}
	k.mu.Unlock()
	switch {
	case lost:
		return x.gone()
	case err != nil: // it has taken nothing, but what it has is right for others
		return err
	}
	return x.err
}

// drop takes back messages under way. The rank's lock is held.
func (x *collective) drop() {
	for _, m := range x.wait {
		if !m.Done {
			x.c.rank.proto.Cancel(&m.Request)
		}
	}
}

// await waits for words of the area and reports whether they have come: they do not
// if a rank has died, or calls do not match.
func (x *collective) await(w *shm.Words) bool {
	k := x.c.rank
	k.mu.Lock()
	x.next, k.sharing = k.sharing, x
	k.UntilWords(func() bool { return w.There() || w.Vain() || x.c.hasFailedPeer() },
		progress.Words{Words: &w.Words, Sleeper: w})
	for at := &k.sharing; ; at = &(*at).next {
		if *at == x {
			*at, x.next = x.next, nil
			break
		}
	}
	k.Leave()
	k.mu.Unlock()
	return w.There()
}

// hasFailedPeer reports whether a rank of the communicator has died. The rank's lock is
// held.
func (c *Comm) hasFailedPeer() bool { return c.rank.Deaths() > 0 && c.deceased() >= 0 }

// deceased is a rank of the communicator that has died, -1 if there is none.
func (c *Comm) deceased() int {
	for i := range c.size {
		if c.rank.fab.Dead(int(c.members.World(int32(i)))) {
			return i
		}
	}
	return -1
}

// gone is the error of a call that can not be made through shared memory, as no later one can.
func (x *collective) gone() error {
	c := x.c
	if len(x.wait) > 0 {
		c.rank.mu.Lock()
		x.drop()
		x.wholly(nil)
		c.rank.mu.Unlock()
	}
	if c.area.Failed() {
		return x.mismatched(c.area.Failure())
	}
	c.area.Cut()
	return c.fail(x.name, c.deceased(), noValue, x.bytes(), ErrProcFailed, "see how that rank has ended")
}

// mismatched is the error of a call that others have made differently.
func (x *collective) mismatched(err error) error {
	var m *shm.Mismatch
	errors.As(err, &m)
	peer := m.Parts[1]
	why := error(&explained{err.Error(), [2]error{ErrCount, err}}) // which says what differs
	if own := m.Parts[0]; own.Rank == x.Rank && own.Op == peer.Op && peer.Size > own.Size {
		why = fmt.Errorf("%w: %w", ErrTruncate, err)
	}
	if peer.Rank == x.Rank {
		peer = m.Parts[0]
	}
	return x.c.fail(x.name, peer.Rank, noValue, x.bytes(), why,
		"all ranks must make the same calls, with matching counts")
}

// waits says what a call in shared memory waits for.
func (x *collective) waits() string {
	return fmt.Sprintf("%s: %d bytes, waits for rank %d", x.name, x.bytes(), x.shm.Awaits().Rank())
}

// aside is a blocking call that is begun as a request: it waits in a goroutine of
// its own.
type aside struct {
	x     *collective
	batch variants.Batch
	over  bool
	err   error
}

func (x *collective) aside() (*Request, error) {
	k := x.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.request(x.c, x.name)
	q.s = &aside{x: x}
	k.run(q)
	return q, nil
}

func (a *aside) begin() {
	a.x.c.turns.underWay++
	go func() {
		k := a.x.c.rank
		err := a.x.complete()
		k.mu.Lock()
		defer k.mu.Unlock()
		a.x.c.turns.underWay--
		a.over, a.err = true, err
		k.Ready.Push(&a.batch)
		k.Leave()
	}()
}

func (a *aside) advance() bool { return a.over }

func (a *aside) requests() *variants.Batch { return &a.batch }

func (a *aside) outcome() (Status, error) {
	a.x.c.rank.putCollective(a.x)
	return emptyStatus, a.err
}
