package variants_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants"
)

// next closes the communicator at a rank and opens it again with the next
// generation.
func (p pair) next(i int) {
	p.Close(i)
	p.Open(i, (p.World[i].Gen+1)&(1<<24-1))
}

// An RTR that its sender has not looked at while the communicator was closed
// and its id opened again must not meet a send of the new one: it would be
// written into memory that is used for something else.
func TestOldRTRMeetsNoSendOfTheNextGeneration(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		for range 3 {
			old := make([]byte, long)
			r := p.Recv(1, 3, old)
			if p.name == "readbased" || p.name == "optimistic" {
				// No RTR, or none that an eager message makes stale.
				p.Rank[1].Cancel(r)
				p.Poll(0)
			} else {
				require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("x")))
			}
			p.Poll(1)
			require.True(t, r.Done)
			p.next(1)
			p.next(0)
			require.Zero(t, p.Rank[0].Counters().FastReceives)
			s := p.Send(0, 3, make([]byte, long))
			require.False(t, s.Done)
			p.Poll(0) // the old RTR
			require.False(t, s.Done)
			in := make([]byte, long)
			n := p.Recv(1, 3, in)
			require.True(t, p.Settle(s, n))
			require.NoError(t, n.Err)
			require.Equal(t, append([]byte(nil), old[1:]...), make([]byte, long-1), "the old buffer is written")
			p.exchange(t, long)
			p.exchange(t, 8)
		}
	})
}

// What arrives for a closed generation is dropped; a question about cancelling
// is answered all the same, and the receiver that it is about ends.
func TestOldMessagesAreDropped(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		for range 3 {
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("old"))) // EnvD
			s := p.Send(0, 3, make([]byte, long))                               // RTS
			p.next(1)
			p.Rank[0].Cancel(s)
			require.True(t, p.Settle(s), "cancelling asks a rank that has closed the communicator")
			require.True(t, s.Status.Cancelled)

			r := p.Recv(0, 3, make([]byte, long))
			p.Rank[0].Cancel(r)
			require.True(t, p.Settle(r))
			require.True(t, r.Status.Cancelled)

			p.next(0)
			in := make([]byte, 8)
			got := p.Recv(1, 3, in)
			p.Poll(1)
			require.False(t, got.Done, "a message of the last generation is received")
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("new")))
			require.True(t, p.Settle(got))
			require.Equal(t, "new", string(in[:3]))
			p.exchange(t, long)
		}
	})
}

// Messages for a generation that this rank has not opened yet wait for it.
func TestEarlyMessagesWaitForOpen(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		p.next(0)
		require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("early")))
		s := p.Send(0, 4, make([]byte, long))
		p.Poll(1) // the last generation is open here
		p.Close(1)
		p.Poll(1)
		p.Open(1, 1)
		in := make([]byte, 8)
		r, l := p.Recv(1, 3, in), p.Recv(1, 4, make([]byte, long))
		require.True(t, p.Settle(r, l, s))
		require.NoError(t, r.Err)
		require.Equal(t, "early", string(in[:5]))
		require.Equal(t, 5, r.Status.Size)
		require.NoError(t, l.Err)
	})
}

// Generations are serial numbers of 24 bits.
func TestGenerationsWrapAround(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		for _, gen := range []uint32{1<<23 - 1, 1<<24 - 2} {
			p.Close(0)
			p.Close(1)
			p.Open(0, gen)
			p.Open(1, gen)
		}
		for range 4 {
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("old")))
			p.next(1)
			p.next(0)
			p.exchange(t, 8)
			p.exchange(t, long)
		}
		require.Equal(t, uint32(2), p.World[0].Gen)
	})
}

func TestClosingWithRequestsPendingPanics(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		r := p.Recv(1, 3, make([]byte, 8))
		require.Panics(t, func() { p.Close(1) })
		require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, []byte("x")))
		require.True(t, p.Settle(r))
		p.Close(1)
		require.Panics(t, func() { p.Open(1, 0) }, "the generation is over")
	})
}

// Communicators come and go, with messages that nobody receives. Neither memory
// nor credit is lost: the eager messages of all cycles together exceed the
// window.
func TestCyclesLeaveNothingBehind(t *testing.T) {
	cycles := 100_000
	if testing.Short() {
		cycles = 5_000
	}
	everyProtocol(t, 4096, func(t *testing.T, p pair) {
		require.Greater(t, 2*cycles*4096, 4*variants.CreditWindow)
		out := make([]byte, 4096)
		cycle := func() {
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 3, out), "no credit")
			p.Poll(1)
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 4, out), "no credit")
			r := p.Recv(1, 5, make([]byte, 5000))
			p.Rank[1].Cancel(r)
			require.True(t, p.Settle(r))
			p.next(1)
			require.True(t, p.Rank[0].TrySend(p.World[0], 1, 5, out), "no credit")
			p.next(0)
			p.Poll(1)
			p.Poll(0)
		}
		for range 1000 {
			cycle()
		}
		before := heap()
		for range cycles - 1000 {
			cycle()
		}
		require.Less(t, heap(), before+64<<10, "bytes of heap")
	})
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A rank may have requests pending in one generation when it opens the next.
func TestTwoGenerationsAtATime(t *testing.T) {
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		in := make([]byte, long)
		late := p.Recv(1, 3, in)
		old := [2]*variants.Context{p.World[0], p.World[1]}
		for range 3 {
			for i := range p.World {
				if p.World[i] != old[i] {
					p.Close(i)
				}
				p.Open(i, (p.World[i].Gen+1)&(1<<24-1))
			}
			p.exchange(t, 8)
			p.exchange(t, long)
		}
		now := p.World
		p.World = old
		s := p.Send(0, 3, in[:long])
		require.True(t, p.Settle(s, late))
		require.NoError(t, late.Err)
		p.Close(0)
		p.Close(1)
		p.World = now
		p.exchange(t, long)
	})
}
