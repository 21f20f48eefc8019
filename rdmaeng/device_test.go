package rdmaeng_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/test/randtype"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func eventually(t require.TestingT, what string, cond func() bool) {
	for end := time.Now().Add(time.Minute); !cond(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), "gave up waiting: %s", what)
	}
}

// memory is what a device reaches.
type memory struct {
	name       string
	window     int // bytes
	incoherent bool
}

var memories = []memory{{"virtual", 0, false}, {"window", 4 << 20, false}, {"incoherent", 4 << 20, true}}

// What must hold of every device.
func TestDevice(t *testing.T) {
	for _, m := range memories {
		t.Run(m.name, func(t *testing.T) {
			for _, x := range []struct {
				name string
				test func(*testing.T, memory)
			}{
				{"WriteAndNotify", testWriteAndNotify},
				{"MoreTransfersThanDescriptors", testMoreTransfersThanDescriptors},
				{"TransferErrors", testTransferErrors},
				{"BuffersStayWhereTheyAre", testBuffersStayWhereTheyAre},
				{"ExposeKeepsAlive", testExposeKeepsAlive},
				{"SlotsProperty", testSlotsProperty},
				{"SteadyStateDoesNotAllocate", testSteadyStateDoesNotAllocate},
				{"ViewsAreWrittenThroughABuffer", testViewsAreWrittenThroughABuffer},
			} {
				t.Run(x.name, func(t *testing.T) { x.test(t, m) })
			}
		})
	}
}

// start runs a software device and allocates its channels.
func start(t *testing.T, m memory, pdids ...uint32) []*rdmaeng.Device {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: pdids, Window: m.window, Incoherent: m.incoherent}}})
	require.NoError(t, err)
	_, _, block := d.Blocks(0)
	var channels []*rdmaeng.Device
	for _, pdid := range pdids {
		c, err := rdmaeng.AllocChannel(block, pdid)
		require.NoError(t, err)
		require.Equal(t, pdid, c.ProtectionID())
		channels = append(channels, c)
	}
	_, err = rdmaeng.AllocChannel(block, pdids[0])
	require.ErrorIs(t, err, rdmaeng.ErrExhausted)
	t.Cleanup(func() {
		for _, c := range channels {
			require.NoError(t, c.Close())
		}
		require.NoError(t, d.Close())
	})
	return channels
}

// finish tests a transfer to its end.
func finish(t require.TestingT, c *rdmaeng.Device, x *rdmaeng.Transfer) (err error) {
	eventually(t, "transfer", func() bool {
		var done bool
		done, err = c.Test(x)
		return done
	})
	return err
}

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + seed)
	}
	return b
}

func testWriteAndNotify(t *testing.T, m memory) {
	c := start(t, m, 1, 1)
	for i, n := range []int{0, 1, 63, 4097, 128 << 10, 1<<20 + 5} {
		dst := make([]byte, n)
		slot, w := c[1].Expose(dst)
		want := rdmaeng.Notification{int32(n), -5, int32(i & 1), -1 << 31}
		if m.window > 0 {
			want[3] = 0 // the size tells how much is to be copied
		}
		x := &rdmaeng.Transfer{To: 1, Src: pattern(n, i), Dst: w, Notify: want}
		c[0].Start(x)
		eventually(t, "notification", func() bool {
			if m.window > 0 {
				_, _ = c[0].Test(x) // it may take several pieces
			}
			s, got, ok := c[1].Notified()
			if ok {
				require.Equal(t, slot, s)
				require.Equal(t, want, got)
				require.Equal(t, x.Src, append([]byte{}, dst...))
			}
			return ok
		})
		require.NoError(t, finish(t, c[0], x))
		require.Equal(t, n, x.Done)
		done, err := c[0].Test(x)
		require.True(t, done)
		require.NoError(t, err)
		_, _, ok := c[1].Notified()
		require.False(t, ok, "a write is reported once")
		c[1].Withdraw(slot)
	}
}

// More transfers than descriptors: the rest wait for their turn.
func testMoreTransfersThanDescriptors(t *testing.T, m memory) {
	c := start(t, m, 1, 1)
	const n = 100
	var xs [n]rdmaeng.Transfer
	dst := make([]byte, n)
	slots := map[int]int{}
	for i := range xs {
		slot, w := c[1].Expose(dst[i : i+1])
		slots[slot] = i
		xs[i] = rdmaeng.Transfer{Src: []byte{byte(i + 1)}, Dst: w, Notify: rdmaeng.Notification{1, int32(i), 0, 0}}
		c[0].Start(&xs[i])
	}
	for i := range xs {
		require.NoError(t, finish(t, c[0], &xs[i]))
	}
	for range xs {
		slot, note, ok := c[1].Notified()
		require.True(t, ok)
		require.EqualValues(t, slots[slot], note[1])
		require.EqualValues(t, note[1]+1, dst[note[1]])
		c[1].Withdraw(slot)
	}
}

func testTransferErrors(t *testing.T, m memory) {
	c := start(t, m, 1, 1, 2)
	dst := make([]byte, 100)
	slot, good := c[1].Expose(dst)
	_, foreign := c[2].Expose(dst)
	attempts := []struct {
		name string
		w    rdmaeng.Window
		want error
	}{
		{"other protection group", foreign, rdmaeng.ErrProtection},
		{"unmapped buffer", rdmaeng.Window{Addr: c[1].Offset() + 1<<40, Notify: good.Notify}, rdmaeng.ErrFault},
		{"unmapped notification", rdmaeng.Window{Addr: good.Addr, Notify: c[1].Offset() + 1<<40}, rdmaeng.ErrFault},
		{"no such channel", rdmaeng.Window{Addr: 200<<48 | 64, Notify: 200<<48 | 64}, rdmaeng.ErrNoDevice},
		{"notification address", rdmaeng.Window{Addr: good.Addr, Notify: good.Notify + 4}, rdmaeng.ErrMisaligned},
	}
	for _, a := range attempts {
		x := &rdmaeng.Transfer{To: 7, Src: make([]byte, 100), Dst: a.w}
		c[0].Start(x)
		err := finish(t, c[0], x)
		require.ErrorIs(t, err, a.want, a.name)
		var e *rdmaeng.TransferError
		require.True(t, errors.As(err, &e))
		require.Equal(t, 7, e.To)
		require.Equal(t, a.w, e.Dst)
	}
	_, _, ok := c[1].Notified()
	require.False(t, ok, "a failed write was reported")
	n := c[0].WriteCounts()
	require.Equal(t, rdmaeng.Counts{Writes: 5, BadRoute: 1, Refused: 1, Faults: 3}, n)
	require.EqualValues(t, 1, c[2].WriteCounts().Strangers)
	require.Zero(t, c[1].WriteCounts())

	x := &rdmaeng.Transfer{Src: pattern(100, 0), Dst: good}
	c[0].Start(x)
	require.NoError(t, finish(t, c[0], x), "the channel goes on")
	s, _, ok := c[1].Notified()
	require.True(t, ok)
	require.Equal(t, slot, s)
}

// A write to a channel that nobody holds any more.
func TestReceiverHasEnded(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1, 1}}}})
	require.NoError(t, err)
	_, _, block := d.Blocks(0)
	a, err := rdmaeng.AllocChannel(block, 1)
	require.NoError(t, err)
	b, err := rdmaeng.AllocChannel(block, 1)
	require.NoError(t, err)
	_, w := b.Expose(make([]byte, 10))
	require.NoError(t, b.Close())
	x := &rdmaeng.Transfer{Src: make([]byte, 10), Dst: w}
	a.Start(x)
	err = finish(t, a, x)
	require.ErrorIs(t, err, rdmaeng.ErrGone)
	require.ErrorIs(t, err, rdmaeng.ErrPeer, "as with every engine")
	require.EqualValues(t, 1, a.WriteCounts().Lost)
	require.NoError(t, a.Close())
	require.NoError(t, d.Close())
}

// grow makes the stack of this goroutine move.
func grow(depth int) int {
	var pad [512]byte
	pad[depth%len(pad)] = 1
	if depth == 0 {
		return int(pad[0])
	}
	return grow(depth-1) + int(pad[1])
}

// The stack moves and the collector runs between Expose and the arrival, and
// nobody but the channel remembers the two buffers.
func testBuffersStayWhereTheyAre(t *testing.T, m memory) {
	c := start(t, m, 1, 1)
	exchange := func() {
		var local [3000]byte // would be on the stack if Expose did not keep it
		slot, w := c[1].Expose(local[:])
		x := &rdmaeng.Transfer{Dst: w, Notify: rdmaeng.Notification{3000, 1, 0, 0}}
		func() {
			var source [3000]byte
			for i := range source {
				source[i] = byte(i)
			}
			x.Src = source[:]
		}()
		grow(2000)
		runtime.GC()
		garbage := make([][]byte, 0, 500)
		for range cap(garbage) {
			garbage = append(garbage, pattern(3000, 99))
		}
		c[0].Start(x)
		grow(4000)
		runtime.GC()
		require.NoError(t, finish(t, c[0], x))
		s, _, ok := c[1].Notified()
		require.True(t, ok)
		require.Equal(t, slot, s)
		for i := range local {
			require.Equal(t, byte(i), local[i])
		}
		c[1].Withdraw(slot)
		runtime.KeepAlive(garbage)
	}
	for range 3 {
		done := make(chan struct{})
		go func() { defer close(done); exchange() }() // a fresh, small stack
		<-done
	}
}

// Only the channel knows the buffer: it must live until Withdraw, and no longer.
func testExposeKeepsAlive(t *testing.T, m memory) {
	c := start(t, m, 1)
	freed := make(chan struct{})
	slot := func() int {
		buf := new([4096]byte)
		runtime.AddCleanup(buf, func(struct{}) { close(freed) }, struct{}{})
		slot, _ := c[0].Expose(buf[:])
		return slot
	}()
	for range 3 {
		runtime.GC()
	}
	select {
	case <-freed:
		t.Fatal("collected while exposed")
	default:
	}
	c[0].Withdraw(slot)
	eventually(t, "collection", func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
}

// Slots against a model: any mix of Expose, write, Notified and Withdraw
// reports each completed write once, oldest exposure first.
func testSlotsProperty(t *testing.T, m memory) {
	c := start(t, m, 1)
	rapid.Check(t, func(t *rapid.T) {
		type exposure struct {
			slot  int
			w     rdmaeng.Window
			wrote bool
			note  rdmaeng.Notification
		}
		var armed, reported []exposure // in order of Expose
		check := func(t *rapid.T) {
			for i, e := range armed {
				if e.wrote {
					slot, n, ok := c[0].Notified()
					require.True(t, ok)
					require.Equal(t, e.slot, slot)
					require.Equal(t, e.note, n)
					reported = append(reported, e)
					armed = append(armed[:i:i], armed[i+1:]...)
					return
				}
			}
			_, _, ok := c[0].Notified()
			require.False(t, ok)
		}
		t.Repeat(map[string]func(*rapid.T){
			"expose": func(t *rapid.T) {
				slot, w := c[0].Expose(make([]byte, 8))
				require.Zero(t, w.Notify%16)
				for _, e := range append(append([]exposure{}, armed...), reported...) {
					require.NotEqual(t, e.slot, slot)
					require.NotEqual(t, e.w.Notify, w.Notify)
				}
				armed = append(armed, exposure{slot: slot, w: w})
			},
			"write": func(t *rapid.T) {
				if len(armed) == 0 {
					t.Skip()
				}
				e := &armed[rapid.IntRange(0, len(armed)-1).Draw(t, "which")]
				if e.wrote {
					t.Skip()
				}
				e.wrote, e.note = true, rdmaeng.Notification{rapid.Int32().Draw(t, "size"),
					rapid.Int32().Draw(t, "tag"), rapid.Int32Range(0, 1).Draw(t, "rts"), 0}
				x := &rdmaeng.Transfer{Src: make([]byte, 8), Dst: e.w, Notify: e.note}
				c[0].Start(x)
				require.NoError(t, finish(t, c[0], x))
			},
			"notified": check,
			"withdraw": func(t *rapid.T) {
				from := &armed
				if len(reported) > 0 && rapid.Bool().Draw(t, "reported") {
					from = &reported
				}
				if len(*from) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
				c[0].Withdraw((*from)[i].slot)
				*from = append((*from)[:i:i], (*from)[i+1:]...)
			},
		})
		for range len(armed) + 1 {
			check(t)
		}
		for _, e := range append(armed, reported...) {
			c[0].Withdraw(e.slot)
		}
	})
}

func testSteadyStateDoesNotAllocate(t *testing.T, m memory) {
	c := start(t, m, 1)
	dst, x := make([]byte, 4096), &rdmaeng.Transfer{Src: make([]byte, 4096)}
	var held []int
	for range 200 { // more than a chunk
		slot, _ := c[0].Expose(dst)
		held = append(held, slot)
	}
	round := func() {
		slot, w := c[0].Expose(dst)
		x.Dst = w
		c[0].Start(x)
		for {
			if done, _ := c[0].Test(x); done {
				break
			}
			runtime.Gosched()
		}
		if got, _, ok := c[0].Notified(); !ok || got != slot {
			t.Errorf("notified %v, %d instead of %d", ok, got, slot)
		}
		c[0].Withdraw(slot)
	}
	require.Zero(t, testing.AllocsPerRun(200, round))
	for _, slot := range held {
		c[0].Withdraw(slot)
	}
}

// The hardware writes contiguous memory only: data with gaps pass through a buffer
// at either end, and the gaps are left alone.
func testViewsAreWrittenThroughABuffer(t *testing.T, m memory) {
	c := start(t, m, 1, 1)
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		x, y := randtype.Draw(r, datatype.Int16, r.IntN(3), 10), randtype.Draw(r, datatype.Int16, r.IntN(3), 10)
		out := randtype.New(1+r.IntN(20), x, r.Uint64())
		size := out.View.Size()
		in := randtype.New((size+y.Size()-1)/y.Size()+r.IntN(2), y, r.Uint64())
		slot, w := c[1].ExposeView(in.View)
		want := rdmaeng.Notification{int32(size), 1, int32(r.IntN(2)), 0}
		data := out.Data(size)
		tr := &rdmaeng.Transfer{To: 1, View: out.View, Dst: w, Notify: want}
		if r.IntN(5) == 0 { // too long: the notification alone
			tr.View = datatype.View{}
			want[0] = int32(in.View.Size() + 1)
			tr.Notify, data = want, nil
		}
		c[0].Start(tr)
		require.NoError(t, finish(t, c[0], tr))
		eventually(t, "notification", func() bool {
			s, got, ok := c[1].Notified()
			if ok {
				require.Equal(t, slot, s)
				require.Equal(t, want, got)
			}
			return ok
		})
		c[1].Withdraw(slot)
		require.NoError(t, in.Check(data))
	})
}
