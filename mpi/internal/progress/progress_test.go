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
	ctx *variants.Context
}

func (*end) Advance(*variants.Batch) {}
func (*end) Polled()                 {}

// ends are ranks of one process, on a communicator of all.
func ends(t *testing.T, n int) []*end {
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

// sleeper is a word that rings at whoever has said that it sleeps for it.
type sleeper struct {
	word    uint64
	waiting atomic.Bool
	x       *end
}

func (s *sleeper) Sleep() bool { s.waiting.Store(true); return true }
func (s *sleeper) Wake()       { s.waiting.Store(false) }

func (s *sleeper) store() {
	atomic.StoreUint64(&s.word, 1)
	if s.waiting.Load() {
		s.x.Shared.Notify(0)
	}
}

// A leader and a follower wait for words, and a message; whoever stores a word rings only
// if somebody sleeps for it.
func TestWordsEndWaits(t *testing.T) {
	for range 50 {
		x := ends(t, 2)
		var wg sync.WaitGroup
		words := [2]*sleeper{{x: x[0]}, {x: x[0]}}
		for _, s := range words {
			wg.Go(func() {
				w := mem.Words{First: &s.word, N: 1, Skip: -1, Least: 1}
				x[0].Lock.Lock()
				defer x[0].Unlock()
				x[0].UntilWords(w.There, Words{&w, s})
			})
		}
		r := x[0].receive(1, 1)
		wg.Go(func() { x[0].wait(r) })
		words[1].store()
		x[1].send(t, 0, 1)
		words[0].store()
		wg.Wait()
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
		behind.Wait()
		require.Equal(t, 1, g.entered)
		require.Equal(t, 1, int(l.Work.Locks))
		require.True(t, l.held())
	})
}
