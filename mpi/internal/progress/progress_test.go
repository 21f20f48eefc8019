package progress

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// end is a rank that has nothing but messages.
type end struct {
	Lock
	*Engine
	ctx   *variants.Context
	polls atomic.Int32
}

func (*end) Advance(*variants.Batch) {}
func (x *end) Polled(bool)           { x.polls.Add(1) }

// ends are ranks of one process, on a communicator of all.
func ends(t *testing.T, n int) []*end {
	all := still(t, n)
	for _, x := range all {
		x.Begin()
	}
	return all
}

// still are ends without a background.
func still(t *testing.T, n int) []*end {
	job := host.NewLocalJob(n)
	all := make([]*end, n)
	for i := range all {
		m, err := job.JoinLocal(i)
		require.NoError(t, err)
		f := host.NewFabric(m, 0)
		x := &end{ctx: &variants.Context{Rank: int32(i), Group: group.Identity(n)}}
		p := ticket.New(i, f)
		p.Open(x.ctx)
		x.Engine = New(&x.Lock, f, OffersOf(f), p, x, Outside{})
		all[i] = x
		t.Cleanup(x.Close)
	}
	return all
}

// receive begins to receive a byte, as a schedule does: an arrival is to be seen to
// although nobody waits.
func (x *end) receive(from, tag int32) *variants.Request {
	x.Lock.Lock()
	defer x.Unlock()
	x.UnderWay++
	r := new(variants.Request)
	r.Reset()
	r.Recv, r.Ctx, r.Peer, r.Tag, r.Buf = true, x.ctx, from, tag, make([]byte, 1)
	x.proto.PostRecv(r)
	x.Leave()
	return r
}

func (x *end) send(t *testing.T, to, tag int32) {
	x.Lock.Lock()
	defer x.Unlock()
	for !x.proto.TrySend(x.ctx, to, tag, []byte{1}) {
		require.True(t, x.proto.Full(x.ctx, to, 1))
		x.Relax()
	}
}

func (x *end) wait(rs ...*variants.Request) {
	x.Lock.Lock()
	defer x.Unlock()
	for _, r := range rs {
		x.Until(func() bool { return r.Done })
		x.UnderWay--
	}
}

// Nothing runs beside a rank that is being made; what rings meanwhile is not lost.
func TestNothingIsPolledBeforeBegin(t *testing.T) {
	x := still(t, 1)[0]
	x.fab.WakeBackground(0)
	time.Sleep(20 * time.Millisecond)
	require.Zero(t, x.polls.Load())
	x.Begin()
	require.Eventually(t, func() bool { return x.polls.Load() > 0 }, time.Minute, time.Millisecond)
}

// While the background leaves a rank to its calls, each of them does what has come.
func TestCallsDoTheWorkOfABackgroundThatHesitates(t *testing.T) {
	x := ends(t, 2)
	first := x[0].receive(1, 1)
	x[0].Lock.Lock()
	x[0].fab.DisarmBackground() // so that nobody rings it
	x[0].Unlock()
	x[1].send(t, 0, 1)
	x[0].hesitating.Store(true)
	second := x[0].receive(1, 2)
	x[0].hesitating.Store(false)
	require.True(t, first.Done)
	x[1].send(t, 0, 2)
	x[0].wait(second)
}

// Nor do they ask for a ring: it looks again by itself.
func TestNobodyRingsABackgroundThatHesitates(t *testing.T) {
	x := ends(t, 2)
	x[0].hesitating.Store(true)
	r := x[0].receive(1, 1)
	x[0].Lock.Lock()
	require.False(t, x[0].armed)
	x[0].Unlock()
	x[0].hesitating.Store(false)
	x[1].send(t, 0, 1)
	x[0].wait(r)
}

// An arrival rings while something is pending, unless the background hesitates.
func TestWhenAnArrivalRings(t *testing.T) {
	x := ends(t, 2)
	listens := func() bool {
		x[0].Lock.Lock()
		defer x[0].Unlock()
		return x[0].Listens()
	}
	require.False(t, listens())
	r := x[0].receive(1, 1)
	require.True(t, listens())
	x[0].hesitating.Store(true)
	require.False(t, listens())
	x[0].hesitating.Store(false)
	require.True(t, listens())
	x[1].send(t, 0, 1)
	x[0].wait(r)
	x[0].Lock.Lock()
	x[0].armed = true
	x[0].Unlock()
	require.False(t, listens(), "nothing is pending any more")
}

// The background waits as long as a call has the rank's lock.
func TestTheBackgroundWaitsForCalls(t *testing.T) {
	x := ends(t, 1)[0]
	over := make(chan struct{})
	x.Lock.Lock()
	go func() {
		x.hesitate(x.calls.Load())
		close(over)
	}()
	for !x.hesitating.Load() {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(4 * mostHesitation)
	select {
	case <-over:
		t.Error("over")
	default:
	}
	x.Unlock()
	<-over
	require.False(t, x.hesitating.Load())
}

// Of several goroutines that wait one polls, and each gets its message, whoever leads.
func TestFollowersGetTheirMessages(t *testing.T) {
	const waiters, rounds = 4, 50
	x := ends(t, 2)
	var wg sync.WaitGroup
	for w := range int32(waiters) {
		wg.Go(func() {
			for range rounds {
				x[0].wait(x[0].receive(1, w))
			}
		})
	}
	for range rounds {
		for w := range int32(waiters) {
			x[1].send(t, 0, waiters-1-w)
		}
	}
	wg.Wait()
}

// sleeper is a word that ends a wait. It is stored when the wait begins to sleep: just
// before that can be seen, so that nobody rings, or after it.
type sleeper struct {
	word     uint64
	early    bool
	sleeping atomic.Bool
	x        *end
}

func (s *sleeper) Sleep() bool {
	if s.early {
		atomic.StoreUint64(&s.word, 1)
	}
	s.sleeping.Store(true)
	return true
}

func (s *sleeper) Wake() { s.sleeping.Store(false) }

func (s *sleeper) store() {
	for !s.early && !s.sleeping.Load() {
		time.Sleep(time.Millisecond)
	}
	if !s.early {
		atomic.StoreUint64(&s.word, 1)
		s.x.Shared.Notify(0)
	}
}

// A word ends the wait of a leader, and that of a follower although the leader goes on.
func TestWordsEndWaits(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, follows := range []bool{false, true} {
			x := ends(t, 2)
			r := x[0].receive(1, 1)
			var wg sync.WaitGroup
			leads := func() bool {
				x[0].Lock.Lock()
				defer x[0].Unlock()
				return x[0].leader
			}
			if follows {
				wg.Go(func() { x[0].wait(r) })
				for !leads() {
					time.Sleep(time.Millisecond)
				}
			}
			s := &sleeper{early: early, x: x[0]}
			wg.Go(s.store)
			w := mem.Words{First: &s.word, N: 1, Skip: -1, Least: 1}
			x[0].Lock.Lock()
			x[0].UntilWords(w.There, Words{&w, s})
			require.False(t, s.sleeping.Load())
			require.Equal(t, follows, x[0].leader)
			x[0].Unlock()
			x[1].send(t, 0, 1)
			if !follows {
				x[0].wait(r)
			}
			wg.Wait()
		}
	}
}

// gate is open to a call while calls is up.
type gate struct {
	sync.Mutex
	entered int
}

func (g *gate) Enter() { g.Lock(); g.entered++ }
func (g *gate) Leave() { g.Unlock() }
func (g *gate) TryEnter() bool {
	if !g.TryLock() {
		return false
	}
	g.entered++
	return true
}

// While a call outside of Go has the gate, who takes the lock behind it has nothing
// that others want, and comes when the gate is open.
func TestLockBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := new(gate)
		l := Lock{Gate: g, Work: new(workcount.Count)}
		g.Mutex.Lock() // the call
		var behind sync.WaitGroup
		behind.Go(l.lockBehind)
		for range 20 {
			synctest.Wait()
			require.False(t, l.held())
			require.Zero(t, l.Work.Locks)
			time.Sleep(hesitation)
		}
		synctest.Wait()
		g.Mutex.Unlock()
		time.Sleep(hesitation)
		synctest.Wait()
		require.True(t, l.held())
		behind.Wait()
		require.Equal(t, 1, g.entered)
		require.Equal(t, 1, int(l.Work.Locks))
	})
}

// stream is what has come and is not taken in, for so many polls.
type stream int

func (s *stream) Unread() bool {
	*s = max(0, *s-1)
	return *s > 0
}

// A poll that leaves something unread counts as one that has found something: it sees no death, since what the dead
// have sent may be in what is left.
func TestADeathIsSeenBehindWhatIsUnread(t *testing.T) {
	all := still(t, 2)
	x, left := all[0], stream(3)
	x.Streams = &left
	all[1].fab.Fail()
	x.Lock.Lock()
	defer x.Unlock()
	for range 2 {
		require.True(t, x.poll())
		require.Zero(t, x.Deaths())
	}
	require.True(t, x.poll())
	require.EqualValues(t, 1, x.Deaths())
}

// Who waits while a stream comes gives the lock up in between.
func TestAStreamLeavesTheLock(t *testing.T) {
	x, left := still(t, 1)[0], stream(1<<30)
	x.Streams = &left
	var got atomic.Bool
	x.Lock.Lock()
	defer x.Unlock()
	go func() {
		x.Lock.Lock()
		got.Store(true)
		x.Unlock()
	}()
	x.Until(got.Load)
	require.Positive(t, left)
}
