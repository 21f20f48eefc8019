package standing_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/standing"
)

// memory is a device that has nothing but numbered windows.
type memory struct {
	rdmaeng.Engine
	order rdmaeng.Order
	slots int
	open  map[int]bool
}

func (m *memory) Order() rdmaeng.Order { return m.order }

func (m *memory) Expose([]byte) (int, rdmaeng.Window) {
	m.slots++
	m.open[m.slots] = true
	return m.slots, rdmaeng.Window{Addr: uint64(m.slots)}
}

func (m *memory) Withdraw(slot int) { delete(m.open, slot) }

func newMemory() *memory {
	return &memory{order: rdmaeng.AllOrder | rdmaeng.Standing, open: map[int]bool{}}
}

const size = 100

var ctx = &variants.Context{ID: 3}

// side is one of two ranks, whose sends and receives of one channel in each direction have given buffers.
type side struct {
	dev     *memory
	b       *standing.Buffers
	from    *variants.Peer // the other
	landing *standing.Landing
	remote  *standing.Remote

	sent    uint32  // tickets
	flight  []write // of this rank, not shown yet
	waiting []standing.Use
	got     uint32
}

type write struct {
	slot int
	n    rdmaeng.Notification
}

func newSides(t *testing.T) (s [2]*side) {
	for i := range s {
		dev := newMemory()
		s[i] = &side{dev: dev, b: standing.New(dev, size, 0),
			from: &variants.Peer{Account: &variants.Account{World: int32(1 - i)}}}
	}
	for i, x := range s {
		g, words := x.b.Give(ctx, int32(1-i), 7, x.from, size)
		require.NotNil(t, g)
		payload := make([]byte, 8*len(words))
		for j, w := range words {
			binary.LittleEndian.PutUint64(payload[8*j:], w)
		}
		o := s[1-i]
		x.landing, o.remote = g, o.b.Partner(o.from).Got(ctx, g.Number, payload)
	}
	return s
}

// Whatever the order in which writes are shown, messages come in the order in which they were sent, and no buffer is
// written to before its message has been received, for so long that all numbers in the notifications wrap around.
func TestWritesKeepTheirOrder(t *testing.T) {
	for seed := range uint64(10) {
		s := newSides(t)
		draw := rand.New(rand.NewPCG(seed, 0))
		for range 40_000 {
			i := draw.IntN(2)
			x, y := s[i], s[1-i]
			switch draw.IntN(6) {
			case 0, 1:
				r := &variants.Request{Buf: make([]byte, size), Ticket: x.sent}
				if !x.remote.Takes(r) {
					if y.landing.Hungers(size) { // by RTS
						x.b.Partner(x.from).Freed(y.landing.Number, y.landing.Tell())
					}
					continue
				}
				to, n := x.remote.Use(r)
				for _, w := range x.flight {
					require.NotEqual(t, w.slot, int(to.Window.Addr), "two writes into one buffer")
				}
				for _, u := range y.waiting {
					require.NotEqual(t, int(u.Buffer)+1, int(to.Window.Addr), "its message has not been received")
				}
				x.sent++
				x.flight = append(x.flight, write{int(to.Window.Addr), n})
			case 2, 3:
				if len(x.flight) == 0 {
					continue
				}
				j := draw.IntN(len(x.flight))
				w := x.flight[j]
				x.flight = append(x.flight[:j], x.flight[j+1:]...)
				p := y.b.Landed(w.slot, w.n)
				require.NotNil(t, p)
				for u, ok := p.Next(); ok; u, ok = p.Next() {
					y.waiting = append(y.waiting, u)
				}
			default:
				if len(x.waiting) == 0 {
					continue
				}
				u := x.waiting[0]
				x.waiting = x.waiting[1:]
				require.Equal(t, x.got, u.Ticket)
				require.Equal(t, size, u.Size)
				require.Len(t, u.Message(u.Buffer, u.Size), size)
				x.got++
				if x.b.Taken(x.landing) {
					y.b.Partner(y.from).Freed(x.landing.Number, x.landing.Tell())
				}
			}
		}
		for i, x := range s {
			require.Greater(t, x.got, uint32(1<<11), "the numbers have not wrapped around")
			require.LessOrEqual(t, int(s[1-i].sent-x.got), 2)
		}
	}
}

// Buffers that have been taken back leave nothing, and the channel may have others; while one holds a message it is
// kept.
func TestBuffersGoBack(t *testing.T) {
	x := newSides(t)[0]
	require.True(t, x.landing.Stands())
	require.True(t, x.landing.Revoke())
	require.False(t, x.landing.Revoke(), "once")
	require.False(t, x.landing.Stands())
	require.False(t, x.landing.Over())
	require.NotEmpty(t, x.dev.open)
	x.b.Withdraw(x.landing.Number)
	require.Empty(t, x.dev.open)
	require.True(t, x.landing.Over())

	s := newSides(t)
	x = s[0]
	o := s[1]
	to, n := o.remote.Use(&variants.Request{Buf: make([]byte, size)})
	_, shown := x.b.Landed(int(to.Window.Addr), n).Next()
	require.True(t, shown)
	x.landing.Revoke()
	x.b.Withdraw(0)
	require.Empty(t, x.dev.open)
	require.False(t, x.landing.Over(), "it has a message")
	x.b.Taken(x.landing)
	require.True(t, x.landing.Over())
}

// A rank gives so many buffers and no more, none to a receive that does not repeat, and none where the device does not
// keep the order.
func TestBuffersAreBounded(t *testing.T) {
	dev := newMemory()
	require.Nil(t, standing.New(&memory{order: rdmaeng.AllOrder}, size, 0))
	b := standing.New(dev, 1<<20, standing.After)
	from := &variants.Peer{Account: new(variants.Account)}
	give := func(size int) *standing.Landing {
		g, _ := b.Give(ctx, 1, 7, from, size)
		return g
	}
	var x standing.Repeats
	require.False(t, b.Repeated(x, 8))
	for i := range standing.After + 1 {
		require.Equal(t, i > 0, x.Again(5))
		require.Equal(t, i == standing.After, b.Repeated(x, 8))
	}
	require.True(t, b.Repeated(x, 1<<20))
	require.False(t, b.Repeated(x, 1<<20+1))
	require.NotNil(t, give(1<<20))
	require.True(t, b.Repeated(x, 1<<20))
	require.NotNil(t, give(1<<20))
	require.False(t, b.Repeated(x, 8), "these two are all that there may be")
	b.Withdraw(1)
	require.True(t, b.Repeated(x, 8))
	for give(8) != nil {
	}
	require.Len(t, dev.open, 2*256)
	require.False(t, x.Again(0))
	require.False(t, x.Again(0), "a buffer that does not last repeats nothing")
	require.False(t, b.Repeated(x, 8))
}
