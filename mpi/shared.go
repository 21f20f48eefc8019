package mpi

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/network"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/mpi/internal/progress"
	"github.com/exanet-mpi/exanet/variants"
)

// Blocking collectives through memory that all ranks share (package board). Each
// communicator has a board in one of the areas of its leader, which its number
// tells: that of its slot. A leader gives a slot with an area only to a
// communicator whose predecessor all ranks have closed; when its areas are all in
// use, those that it leads go without, and their collectives are messages.
//
// A call first goes on without the rank's lock, and looks a moment for what is not
// there yet. Then it waits as others do, and makes progress meanwhile. A death is
// seen by all who wait for something on a board of the dead rank: they fail, and
// with them all their later calls there, since they do not take part in them.

// mostPlain is the number of ranks up to which each looks at what all others post.
const mostPlain = 8

// openBoard makes the board of a communicator that has one, in which this process
// is rank me.
func (k *rank) openBoard(d commid.ID, members *group.Group, me int) *board.Board {
	n := k.fab.Size()
	if k.Shared == nil || members.Size() == 1 || d.Slot() >= k.Shared.Areas() {
		return nil
	}
	area := k.Shared.Area(d.Leader(), d.Slot())
	var stages []byte
	if k.Remote.Dear() || members.Size() == 2 {
		area, stages = board.Stages(area, n, members.Size())
	}
	b := board.Open(area, n, me, members.Size())
	b.Stage(stages)
	b.Moor(k.fab.Rank())
	b.Fenced, b.Dear = k.Shared.Fenced(), k.Remote.Dear()
	if b.Ranks > mostPlain {
		b.Central = 1<<coll.Barrier | 1<<coll.Allreduce
	}
	// Else the others would have to hand over their cores again.
	b.Follows = b.Ranks > 2 && k.Shared.Crowded()
	b.Split = board.SplitFrom(b.Ranks, k.Shared.Crowded())
	b.Fill, b.Fills = sys.Populate, n == 2 && d.Leader() == 0 && d.Slot() == 0 // the world's
	b.Core = k.Shared.Core
	b.Ring = func(rank int) { k.Shared.Rouse(int(members.World(int32(rank)))) }
	b.Read = func(rank int, addr uint64, to []byte) bool {
		world := int(members.World(int32(rank)))
		k.mu.Lock()
		reaches := k.Remote.Reaches(world)
		k.mu.Unlock()
		return reaches && k.Remote.Read(world, addr, to)
	}
	return b
}

// closeBoard leaves the board of a communicator that is freed.
func (c *Comm) closeBoard() {
	if c.board != nil {
		c.board.Close()
		c.board = nil
	}
}

// vacant reports whether a slot of this rank may be used: if it has an area, that
// nobody has it open still.
func (k *rank) vacant(slot int) bool {
	return k.Shared == nil || slot >= k.Shared.Areas() || board.Clear(k.Shared.Area(k.fab.Rank(), slot), k.fab.Size())
}

// Board tells the twin in C of package board (internal/boardc) of the communicator's
// board, and reports whether it has one that is of use to it.
func (c *Comm) Board(v *board.View) bool {
	if c == nil || c.board == nil || v == nil || c.rank.stats != nil {
		return false
	}
	fab, shared := c.rank.fab, c.rank.Shared
	first, step := shared.Berths()
	c.board.View(v, board.Berths{First: first, Own: first + uint64(fab.Rank())*uint64(step), Step: step, N: uint32(fab.Size()), PerCore: uint32(shared.PerCore())})
	for op := range v.Limit {
		if n := c.algorithms.SharedUpTo(coll.Collective(op), c.size); n >= 0 {
			v.Limit[op] = uint64(n) + 1
		}
	}
	for op := range v.Pair {
		v.Pair[op] = math.MaxUint64
		if n := c.algorithms.OneMessageFrom(coll.Collective(op)); n < math.MaxInt && c.size == 2 {
			v.Pair[op] = uint64(n)
		}
	}
	for op := range v.Direct {
		v.Direct[op] = math.MaxUint64
	}
	for _, op := range []coll.Collective{coll.Bcast, coll.Scatter, coll.Allgather, coll.Allgatherv, coll.Alltoall} {
		if n := c.algorithms.DirectFrom(op, c.size); n < math.MaxInt {
			v.Direct[op] = uint64(n)
		}
	}
	if c.board.Read != nil && c.size <= mostPlain {
		v.Pids = c.readable()
	}
	waits(shared, v)
	if busy := c.rank.Outside.Busy; v.Naps > 0 && busy != nil {
		v.Outside = mem.Ref(busy)
	}
	return true
}

// waits says how the twin waits on a board.
func waits(shared network.SharedMemory, v *board.View) {
	naps := false
	switch {
	case !shared.Crowded():
		v.Spins = boardSpins
	case shared.Yielding():
		v.Yields = boardYields
		naps = shared.PerCore() > host.Throng
	default:
		naps = shared.Fenced()
	}
	if naps {
		v.Naps = boardNaps
	}
}

// readable returns the address of the processes of the communicator's ranks, for the twin: 0
// instead of those whose memory cannot be read.
func (c *Comm) readable() uint64 {
	fab, ok := any(c.rank.fab).(*host.Fabric)
	if !ok {
		return 0
	}
	c.pids = make([]int32, c.size)
	c.rank.mu.Lock()
	defer c.rank.mu.Unlock()
	for i := range c.pids {
		c.pids[i] = fab.Attached(int(c.members.World(int32(i))))
	}
	return mem.Ref(&c.pids[0])
}

// How often the twin looks for what it takes, or yields, before it leaves the call to Go,
// which makes progress meanwhile: for about 2 us, or 40 for each rank of its core; or for how many ms it sleeps. That is longer than
// the time to the next tick, for which a core's timer is set already: to set it again takes microseconds.
const (
	boardSpins  = 4000
	boardYields = 50
	boardNaps   = 10
)

// onBoard reports whether a blocking call goes through its communicator's board.
func (x *collective) onBoard() bool {
	b := x.c.board
	if b == nil {
		return false
	}
	shared, direct := x.c.algorithms.Shared(&x.Call)
	x.op.Direct = direct
	return shared && b.Serves(&x.Call, direct)
}

// share performs a call on the board.
func (x *collective) share() error {
	c := x.c
	if c.board.IsCut() {
		return x.cut()
	}
	x.enter()
	o := &x.op
	o.Call, o.Own = &x.Call, x.own
	if o.Combine == nil {
		o.Combine = x.combine
	}
	// Unless it ends as it should, also if an operator of the program panics, this
	// rank has lost count.
	c.board.Cut(true)
	o.Begin(c.board)
	if o.Lends() {
		x.beginLate() // before blocks in place may be overwritten
	}
	over := o.Step()
	if board.Vector(x.Op) && !o.Lends() {
		x.beginLate()
	}
	for ; !over; over = o.Step() {
		if !x.await(o.Awaits()) {
			return x.cut()
		}
	}
	if c.board.Broken() {
		return x.cut()
	}
	c.board.Cut(false)
	err := o.Err()
	if err != nil {
		err = x.mismatched(err)
	}
	if board.Vector(x.Op) {
		err = x.endLate(err)
	}
	if o.Direct || o.Lends() {
		err = x.handOver(err)
	}
	if err == nil {
		x.leave()
	}
	return err
}

// beginLate begins the messages of blocks that are too long for the board: as many as
// this rank expects by the sizes that it has passed itself. Where blocks are lent these are
// its own ones in place: the board tells what else is a message.
func (x *collective) beginLate() {
	x.BuildLate(x.c.board.Most(x.Op))
	if x.op.Lends() {
		x.Steps = slices.DeleteFunc(x.Steps, func(s coll.Step) bool { return !x.InPlace || s.Kind == coll.Recv })
	}
	x.tag = int32(x.Op)
	x.rewind()
	if len(x.Steps) == 0 {
		return
	}
	k := x.c.rank
	k.mu.Lock()
	x.perform(true)
	k.mu.Unlock()
}

// endLate waits for these messages, and those that other ranks send unexpectedly: if the
// sizes do not match, which is the error so far, the board tells what comes and what does
// not.
func (x *collective) endLate(err error) error {
	if len(x.Steps) == 0 && len(x.op.Late) == 0 && err == nil {
		return nil
	}
	k := x.c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		x.err = err
		x.drop(func(m *pooled) bool { return m.Recv && !slices.Contains(x.op.Late, int(m.Peer)) })
	}
	if err != nil || x.op.Lends() {
		for _, i := range x.op.Late {
			if !slices.ContainsFunc(x.Steps, func(s coll.Step) bool { return s.Kind == coll.Recv && s.Peer == int32(i) }) {
				var to []byte
				if err == nil {
					to = x.op.Incoming(i)
				}
				m := x.message(int32(i), to)
				m.Recv = true
				k.proto.PostRecv(&m.Request)
			}
		}
	}
	x.wholly()
	if len(x.Steps) == 1 && (x.Op == coll.Gatherv || x.Op == coll.Scatterv) {
		x.lendPair(len(x.Steps[0].From) + len(x.Steps[0].To))
	}
	return x.err
}

// handOver sends the data that other ranks could not read, and receives those that this
// one could not. It ends early if a rank has died: another may have given up then.
func (x *collective) handOver(err error) error {
	o := &x.op
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
	k.Until(func() bool { return x.batch.Open == 0 || x.c.mourns() })
	lost := x.batch.Open > 0
	if !lost {
		x.wholly()
	}
	k.mu.Unlock()
	switch {
	case lost:
		return x.cut()
	case err != nil: // it has taken nothing, but what it has is right for others
		return err
	}
	return x.err
}

// drop takes back messages under way. The rank's lock is held.
func (x *collective) drop(which func(m *pooled) bool) {
	for _, m := range x.wait {
		if !m.Done && which(m) {
			x.c.rank.proto.Cancel(&m.Request)
		}
	}
}

// await waits for words of the board and reports whether they have come: they do not
// if a rank has died, the ranks have lost count of each other, or one has strayed.
func (x *collective) await(w *board.Words) bool {
	k := x.c.rank
	if k.Shared.Look(&w.Words) {
		return true
	}
	k.mu.Lock()
	x.next, k.sharing = k.sharing, x
	k.UntilWords(func() bool { return w.There() || x.c.board.Broken() || x.c.mourns() || x.op.Strayed() }, progress.Words{Words: &w.Words, Sleeper: w})
	for at := &k.sharing; ; at = &(*at).next {
		if *at == x {
			*at, x.next = x.next, nil
			break
		}
	}
	if len(x.wait) == 0 { // else there is more to wait for
		k.Leave()
	}
	k.mu.Unlock()
	return w.There()
}

// mourns reports whether a rank of the communicator has died. The rank's lock is
// held.
func (c *Comm) mourns() bool { return c.rank.Deaths() > 0 && c.deceased() >= 0 }

// deceased is a rank of the communicator that has died, -1 if there is none.
func (c *Comm) deceased() int {
	for i := range c.size {
		if c.rank.fab.Dead(int(c.members.World(int32(i)))) {
			return i
		}
	}
	return -1
}

// cut is the error of a call that can not be performed on the board.
func (x *collective) cut() error {
	if k := x.c.rank; len(x.wait) > 0 {
		k.mu.Lock()
		x.drop(func(*pooled) bool { return true })
		x.wholly()
		k.mu.Unlock()
	}
	if x.c.board.Broken() {
		return x.mismatched(x.op.Lost())
	}
	if i := x.c.deceased(); i >= 0 {
		return x.c.fail(x.name, i, noValue, x.bytes(), ErrProcFailed, "see how that rank has ended")
	}
	return x.c.fail(x.name, noValue, noValue, x.bytes(), fmt.Errorf("%w: an operator panicked in an earlier call", ErrOp), "make no more collective calls on this communicator")
}

// mismatched is the error of a call that others have made differently.
func (x *collective) mismatched(err error) error {
	var m *board.Mismatch
	errors.As(err, &m)
	kind := ErrCount
	if m.Size > m.Mine && !m.Lost {
		kind = ErrTruncate
	}
	return x.c.fail(x.name, m.Rank, noValue, m.Mine, fmt.Errorf("%w: %w", kind, err), "all ranks must make the same calls, with matching counts")
}

// waits says what a call on a board waits for.
func (x *collective) waits() string {
	return fmt.Sprintf("%s: %d bytes, waits for rank %d", x.name, x.bytes(), x.op.Awaits().Rank())
}

// aside is a call on a board that is begun as a request: it waits in a goroutine of
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
		err := a.x.share()
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
