//go:build cgo

package lanec_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/variants/express"
)

// noteLong notes a receive that may have a rendezvous.
func (p *player) noteLong(tag int32, room int, now int64) {
	v := &receive{tag: tag, buf: make([]byte, room), slot: -1}
	p.recvs = append(p.recvs, v)
	slot, ok := p.lane.NoteAdvertised(handle, v.buf, int32(1-p.me), tag, now)
	if !ok {
		p.recvInGo(v)
		return
	}
	v.slot = slot
	p.slots[slot] = v
}

// await waits in C for the oldest noted receive of a tag: looks at what is advertised for it
// between turns of its sender, and gives up at last.
func (p *player) await(other *player, tag int32, looks []bool) (met bool) {
	claimed := false
	for _, look := range looks {
		if !look {
			if other.call != nil {
				other.turn()
			} else {
				other.push()
			}
			continue
		}
		slot, stage, ok := p.lane.Noted(handle, int32(1-p.me), tag, p.now)
		if !ok {
			continue
		}
		if stage == lanec.Stale {
			p.enter()
			return true
		}
		if claimed = stage == lanec.Waiting; !claimed {
			p.passed(slot, stage)
			return true
		}
	}
	if claimed {
		p.passed(p.lane.GiveUpNoted(handle, int32(1-p.me), tag))
	}
	return claimed
}

func (p *player) passed(slot int, stage lanec.Stage) {
	if stage == lanec.Complete {
		p.slots[slot].direct = true
		delete(p.slots, slot)
	}
}

// Whatever becomes of noted receives, short and long, and whoever comes to them, a message
// arrives once, and in its turn.
func TestNotedReceivesHaveTheirMessagesInTurn(t *testing.T) {
	met, passed, missed := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ps := lent(t)
		who := rapid.SampledFrom(ps[:])
		size := rapid.SampledFrom([]int{8, 2000, 4096, 8191, 8192, 20000})
		tag := rapid.Int32Range(0, tags-1)
		clock := int64(0)
		// sends begins a send of a player that is in none.
		sends := func(p *player, tag int32, n int) {
			if p.call == nil {
				p.sendLong(tag, n, clock)
			}
		}
		window := func(t *rapid.T) {
			p, at, n := who.Draw(t, "who"), tag.Draw(t, "tag"), size.Draw(t, "size")
			other := ps[1-p.me]
			if p.call != nil {
				return
			}
			p.lane.Waits(p.port, rapid.Bool().Draw(t, "waits"))
			w := rapid.IntRange(1, 70).Draw(t, "window")
			for range w {
				p.noteLong(at, n, clock)
			}
			for range rapid.IntRange(0, w).Draw(t, "sends") {
				if rapid.IntRange(0, 3).Draw(t, "short") == 0 && other.call == nil {
					other.send(at, 8)
					p.lane.Progress(p.port)
					continue
				}
				if rapid.Bool().Draw(t, "later") && other.call == nil {
					other.sendLater(at, n)
					if len(other.later) == 0 {
						break
					}
				} else if sends(other, at, n); other.call == nil {
					break
				}
				if p.await(other, at, rapid.SliceOfN(rapid.Bool(), 0, 6).Draw(t, "looks")) {
					met++
				}
				for i := 0; other.call != nil && i < 3; i++ {
					other.turn()
				}
			}
		}
		poll := func(t *rapid.T) {
			if p := who.Draw(t, "who"); p.call == nil {
				noted := len(p.slots)
				p.poll()
				missed += noted
			}
		}
		window(t)
		poll(t)
		t.Repeat(map[string]func(*rapid.T){
			"window": window,
			"note": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call == nil {
					p.recv(tag.Draw(t, "tag"), size.Draw(t, "room"), false)
				}
			},
			"note long": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call == nil {
					p.noteLong(tag.Draw(t, "tag"), size.Draw(t, "room"), clock)
				}
			},
			"send": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call == nil {
					p.send(tag.Draw(t, "tag"), size.Draw(t, "size"))
				}
			},
			"send long": func(t *rapid.T) { sends(who.Draw(t, "who"), tag.Draw(t, "tag"), size.Draw(t, "size")) },
			"turn": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call != nil {
					p.turn()
				}
			},
			"give up": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call != nil {
					p.giveUp()
				}
			},
			"await": func(t *rapid.T) {
				p := who.Draw(t, "who")
				if p.await(ps[1-p.me], tag.Draw(t, "tag"), rapid.SliceOfN(rapid.Bool(), 0, 6).Draw(t, "looks")) {
					met++
				}
			},
			"waits": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.port.In != 0 {
					p.lane.Waits(p.port, rapid.Bool().Draw(t, "waits"))
				}
			},
			"progress": func(t *rapid.T) {
				p := who.Draw(t, "who")
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					p.lane.Progress(p.port)
				}
			},
			"cannot copy": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") == 0 {
					who.Draw(t, "who").port.Pid = math.MaxInt32
				}
			},
			"time": func(t *rapid.T) {
				clock += rapid.Int64Range(0, 30e6).Draw(t, "ns")
				ps[0].now, ps[1].now = clock, clock
			},
			"send later": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call == nil {
					p.sendLater(tag.Draw(t, "tag"), size.Draw(t, "size"))
				}
			},
			"push": func(t *rapid.T) { who.Draw(t, "who").push() },
			"poll": poll,
		})
		conclude(ps)
		finish(t, ps)
		for _, p := range ps {
			for _, v := range p.recvs {
				if v.direct {
					passed++
				}
			}
			require.Zero(t, p.port.Open, "meetings that rank %d has not left", p.me)
		}
	})
	require.NotZero(t, met)
	require.NotZero(t, passed)
	require.NotZero(t, missed)
}

// A send that meets a noted receive needs nobody: it copies all if no call waits, and the
// back too if one that did has gone.
func TestTheSendNeedsNobody(t *testing.T) {
	for _, waits := range []bool{false, true} {
		ps := lent(t)
		ps[0].lane.Waits(ps[0].port, waits)
		ps[0].noteLong(0, 20000, 0)
		v := ps[0].recvs[len(ps[0].recvs)-1]
		want := make([]byte, 20000)
		ps[1].sendLong(0, 20000, 0)
		fill(want, len(ps[1].sent)-1)
		ps[1].turn()
		if waits {
			require.False(t, ps[1].call == nil)
			require.NotEqual(t, want, v.buf)
			ps[1].turn()
		}
		require.True(t, ps[1].call == nil)
		require.Equal(t, want, v.buf)
		ps[0].enter()
		require.True(t, v.direct)
	}
}

// Receives behind one that has broken keep their messages and their numbers.
func TestBehindABrokenOne(t *testing.T) {
	ps := lent(t)
	for range 3 {
		ps[0].noteLong(0, 9000, 0)
	}
	ps[1].sendLong(0, 9000, 0)
	ps[1].giveUp() // and it goes the protocol's way
	require.True(t, ps[1].call == nil)
	ps[0].poll()
	settle(ps)
	ps[1].sendLong(0, 9000, 0)
	ps[1].sendLong(0, 100, 0)
	settle(ps)
	require.True(t, ps[0].settled())
}

// Both sides at once, of which the receive's is in C or, with the rank's lock, in Go.
func TestNotedAtOnce(t *testing.T) {
	ps := lent(t)
	const n = 20000
	out, in := make([]byte, n), make([]byte, n)
	lane := &ps[0].table.In[express.Place(handle, 1, 0)]
	ends := make(map[bool]int)
	for i := range 20000 {
		fill(out, i)
		clear(in)
		ps[0].lane.Waits(ps[0].port, i%3 > 0)
		slot, ok := ps[0].lane.NoteAdvertised(handle, in, 1, 0, 0)
		require.True(t, ok)
		word := ps[1].lane.Claim(handle, out, 0, 0, 0)
		require.True(t, word.Ok())
		sends := make(chan lanec.Stage)
		go func() {
			for range 1 + i%7*40 {
				if s := ps[1].lane.Write(handle, 0, 0, word); s != lanec.Waiting {
					sends <- s
					return
				}
			}
			sends <- ps[1].lane.GiveUpWrite(handle, 0, 0, word)
		}()
		read := lanec.Waiting
		for range i % 5 * 60 {
			if _, s, ok := ps[0].lane.Noted(handle, 1, 0, 0); ok && s != lanec.Waiting {
				read = s
				break
			}
		}
		if read != lanec.Complete {
			x, ok := ps[0].table.Pop(ps[0].copies(sys.VMRead))
			require.True(t, ok)
			read = lanec.Over
			if x.Passed {
				lane.Next++
				read = lanec.Complete
			}
		}
		require.Equal(t, <-sends, read)
		if read == lanec.Complete {
			require.Equal(t, out, in)
		}
		ps[0].table.Release(slot)
		ends[read == lanec.Complete]++
	}
	require.Zero(t, ps[0].port.Open)
	require.NotZero(t, ends[true])
	require.NotZero(t, ends[false])
}
