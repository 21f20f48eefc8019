//go:build cgo

package lanec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/variants/express"
)

// later is a send that has gone on.
type later struct {
	tag int32
	buf []byte
	id  int // of its message
}

// sendLater begins a send that goes on if its receive has been advertised. As long as one of the
// lane has not ended the next goes the protocol's way.
func (p *player) sendLater(tag int32, n int) {
	l := &later{tag: tag, buf: make([]byte, n), id: len(p.sent)}
	fill(l.buf, l.id)
	p.sent = append(p.sent, message{tag: tag, n: n})
	slot, ok := p.lane.GoOn(handle, l.buf, int32(1-p.me), tag, p.now)
	if !ok {
		p.sendInGo(tag, l.buf)
		return
	}
	p.later[slot] = l
}

// push makes a step of each send that has gone on, and has Go do what it has to.
func (p *player) push() {
	for slot := range p.later {
		switch p.lane.Push(slot, p.now) {
		case lanec.Complete:
			p.lane.Release(slot)
			p.over(slot, true)
		case lanec.Over, lanec.Stale:
			p.enter()
			return
		}
	}
}

// over ends a send that had gone on, whose message goes the protocol's way if it has not been passed.
func (p *player) over(slot int, passed bool) {
	l := p.later[slot]
	delete(p.later, slot)
	if passed {
		p.sent[l.id].direct = true
		return
	}
	p.Send(p.me, l.tag, l.buf)
}

// ahead are players of which 0 has noted a receive of n bytes, and 1 has a send to it that has gone
// on, with its slot.
func ahead(t *testing.T, n int) (ps [2]*player, slot int, v *receive) {
	ps = lent(t)
	ps[0].noteLong(0, n, 0)
	ps[1].sendLater(0, n)
	return ps, ps[1].slotOf(t, 0), ps[0].recvs[len(ps[0].recvs)-1]
}

// slotOf returns the slot of the send that has gone on with the first of the tags that has one.
func (p *player) slotOf(t *testing.T, tags ...int32) int {
	for _, tag := range tags {
		for slot, l := range p.later {
			if l.tag == tag {
				return slot
			}
		}
	}
	require.Fail(t, "no send has gone on")
	return 0
}

// Whoever comes to wait copies, alone if need be, and both if both wait; and whoever takes
// the rank's lock does.
func TestWhoeverComesCopies(t *testing.T) {
	const n = 20000
	half := 2 * 4096
	read := func(p *player) lanec.Stage {
		_, stage, ok := p.lane.Noted(handle, 1, 0, 0)
		require.True(t, ok)
		return stage
	}
	for name, copies := range map[string]func(ps [2]*player, slot int, in, out []byte){
		"the receive": func(ps [2]*player, slot int, in, out []byte) {
			require.Equal(t, lanec.Waiting, read(ps[0]))
			require.Equal(t, append(make([]byte, half), out[half:]...), in)
			require.Equal(t, lanec.Complete, read(ps[0]))
		},
		"the send": func(ps [2]*player, slot int, in, out []byte) {
			require.Equal(t, lanec.Waiting, ps[1].lane.Push(slot, 0))
			require.Equal(t, append(out[:half:half], make([]byte, n-half)...), in)
			require.Equal(t, lanec.Complete, ps[1].lane.Push(slot, 0))
		},
		"both": func(ps [2]*player, slot int, _, _ []byte) {
			require.Equal(t, lanec.Waiting, ps[1].lane.Push(slot, 0))
			require.Equal(t, lanec.Complete, read(ps[0]))
		},
		"the receive in Go": func(ps [2]*player, _ int, _, _ []byte) {
			x, ok := ps[0].table.Pop(ps[0].copies(sys.VMRead))
			require.True(t, ok && x.Passed)
		},
		"the send in Go": func(ps [2]*player, _ int, _, _ []byte) {
			x, ok := ps[1].table.PopSend(ps[1].copies(sys.VMWrite))
			require.True(t, ok && x.Passed)
		},
		"both, in Go": func(ps [2]*player, slot int, _, _ []byte) {
			require.Equal(t, lanec.Waiting, read(ps[0]))
			x, ok := ps[1].table.PopSend(ps[1].copies(sys.VMWrite))
			require.True(t, ok && x.Passed)
		},
	} {
		ps, slot, v := ahead(t, n)
		l := ps[1].later[slot]
		copies(ps, slot, v.buf, l.buf)
		require.Equal(t, l.buf, v.buf, name)
	}
}

// What is too short for a front is copied once.
func TestLaterWithoutAFront(t *testing.T) {
	ps, slot, v := ahead(t, 5000)
	l := ps[1].later[slot]
	require.Equal(t, lanec.Complete, ps[1].lane.Push(slot, 0))
	require.Equal(t, l.buf, v.buf)

	ps, slot, v = ahead(t, 5000)
	l = ps[1].later[slot]
	_, stage, ok := ps[0].lane.Noted(handle, 1, 0, 0)
	require.True(t, ok)
	require.Equal(t, lanec.Complete, stage)
	require.Equal(t, lanec.Complete, ps[1].lane.Push(slot, 0))
	require.Equal(t, l.buf, v.buf)
}

// Sends that have gone on end one by one, in any order, in C or in Go.
func TestSeveralHaveGoneOn(t *testing.T) {
	for _, order := range [][]int32{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		for inGo := range 1 << tags {
			ps := lent(t)
			p := ps[1]
			for tag := range int32(tags) {
				ps[0].noteLong(tag, 20000, 0)
				p.sendLater(tag, 20000)
			}
			for i := range tags {
				if inGo>>i&1 == 1 {
					x, ok := p.table.PopSend(p.copies(sys.VMWrite))
					require.True(t, ok && x.Passed)
					require.Contains(t, p.later, x.Slot)
					delete(p.later, x.Slot)
					continue
				}
				slot := p.slotOf(t, order...)
				p.lane.Push(slot, 0)
				require.Equal(t, lanec.Complete, p.lane.Push(slot, 0))
				delete(p.later, slot)
			}
			require.Empty(t, p.later)
			require.Zero(t, p.table.Sends)
		}
	}
}

// While a send of a lane has not ended no other message goes there.
func TestALaneOfWhichASendHasGoneOn(t *testing.T) {
	ps, slot, _ := ahead(t, 20000)
	sent, _ := ps[1].lane.Send(handle, make([]byte, 8), 0, 0)
	require.False(t, sent)
	ps[0].noteLong(0, 20000, 0)
	_, ok := ps[1].lane.GoOn(handle, make([]byte, 20000), 0, 0, 0)
	require.False(t, ok)
	for range 2 {
		ps[1].lane.Push(slot, 0)
	}
	sent, _ = ps[1].lane.Send(handle, make([]byte, 8), 0, 0)
	require.True(t, sent)
}

// What has been claimed long ago is copied by who looks first whether the other rank lives.
func TestLongAgo(t *testing.T) {
	ps := lent(t)
	ps[0].noteLong(0, 20000, 0)
	v := ps[0].recvs[len(ps[0].recvs)-1]
	ps[1].now = 15e6
	ps[1].sendLater(0, 20000)
	slot := ps[1].slotOf(t, 0)
	require.Equal(t, lanec.Waiting, ps[1].lane.Push(slot, 30e6), "not that long")
	require.Equal(t, lanec.Stale, ps[1].lane.Push(slot, 40e6))
	_, stage, ok := ps[0].lane.Noted(handle, 1, 0, 40e6)
	require.True(t, ok)
	require.Equal(t, lanec.Stale, stage)
	out := ps[1].later[slot].buf
	ps[1].enter()
	require.Empty(t, ps[1].later)
	require.Equal(t, out, v.buf)
}

// A send that cannot copy, in C or in Go, sends its message the protocol's way.
func TestASendThatCannotCopy(t *testing.T) {
	for _, inGo := range []bool{false, true} {
		ps, slot, v := ahead(t, 20000)
		out := ps[1].later[slot].buf
		if !inGo {
			pid := ps[1].port.Pid
			ps[1].port.Pid = 1 << 30
			require.Equal(t, lanec.Over, ps[1].lane.Push(slot, 0))
			ps[1].port.Pid = pid
		}
		x, ok := ps[1].table.PopSend(func(*express.Port, uint64, []byte) bool { return false })
		require.True(t, ok)
		require.False(t, x.Passed)
		ps[1].over(x.Slot, false)
		settle(ps)
		require.True(t, ps[0].settled())
		require.Equal(t, out, v.buf)
	}
}

// Both sides at once, each of which copies in C for a while and then in Go.
func TestLaterAtOnce(t *testing.T) {
	ps := lent(t)
	const n = 20000
	out, in := make([]byte, n), make([]byte, n)
	to, from := &ps[0].table.In[express.Place(handle, 1, 0)], &ps[1].table.Out[express.Place(handle, 0, 0)]
	write, read := ps[1].copies(sys.VMWrite), ps[0].copies(sys.VMRead)
	ends := make(map[bool]int)
	for i := range 4000 {
		fill(out, i)
		clear(in)
		slot, ok := ps[0].lane.NoteAdvertised(handle, in, 1, 0, 0)
		require.True(t, ok)
		at, ok := ps[1].lane.GoOn(handle, out, 0, 0, 0)
		require.True(t, ok)
		fails := i%11 == 0
		sends := make(chan bool)
		go func() {
			for range i % 7 * 40 {
				s := ps[1].lane.Push(at, 0)
				if s == lanec.Complete {
					sends <- true
					return
				}
				if s == lanec.Over {
					break
				}
			}
			x, _ := ps[1].table.PopSend(func(p *express.Port, addr uint64, b []byte) bool { return !fails && write(p, addr, b) })
			sends <- x.Passed
		}()
		passed := false
		for range i % 5 * 60 {
			if _, s, ok := ps[0].lane.Noted(handle, 1, 0, 0); ok && s == lanec.Complete {
				passed = true
				break
			}
		}
		if !passed {
			x, ok := ps[0].table.Pop(func(p *express.Port, addr uint64, b []byte) bool { return i%13 > 0 && read(p, addr, b) })
			require.True(t, ok)
			if passed = x.Passed; passed {
				to.Next++
			}
		}
		require.Equal(t, <-sends, passed)
		require.Equal(t, from.Next, to.Next)
		if passed {
			require.Equal(t, out, in)
		}
		ps[0].table.Release(slot)
		ps[1].table.Release(at)
		ends[passed]++
	}
	require.Zero(t, ps[0].port.Open)
	require.Zero(t, ps[1].table.Sends)
	require.NotZero(t, ends[true])
	require.NotZero(t, ends[false])
}
