//go:build cgo

package lanec_test

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/variants/express"
)

// call is a blocking one of a player, which makes no other until it has ended.
type call struct {
	sends bool
	tag   int32
	buf   []byte
	word  lanec.Advert
	v     *receive // unless it sends
	bound bool     // it has the gate until it ends
	n     int      // bytes of what has claimed it
}

// recvLong begins a blocking receive that may have a rendezvous.
func (p *player) recvLong(tag int32, room int, how uint32, now int64) {
	p.combine(tag, room, how, nil, now)
}

// combine is recvLong for a message to which own is added if it has a rendezvous, and own is not nil.
func (p *player) combine(tag int32, room int, how uint32, own []byte, now int64) {
	v := &receive{tag: tag, buf: make([]byte, room), slot: -1}
	p.recvs = append(p.recvs, v)
	c := &call{tag: tag, buf: v.buf, v: v}
	if c.word = p.lane.Advertise(handle, v.buf, own, int32(1-p.me), tag, how|lanec.Awaited, now); !c.word.Ok() {
		p.recvInGo(v)
		return
	}
	p.call = c
}

func (p *player) recvInGo(v *receive) {
	p.enter()
	v.r = p.Recv(p.me, v.tag, v.buf)
}

// sendLong begins a blocking send that may have one.
func (p *player) sendLong(tag int32, n int, now int64) {
	b := make([]byte, n)
	fill(b, len(p.sent))
	p.sent = append(p.sent, message{tag: tag, n: n})
	c := &call{sends: true, tag: tag, buf: b, bound: true}
	if c.word = p.lane.Claim(handle, b, int32(1-p.me), tag, now); !c.word.Ok() {
		p.sendInGo(tag, b)
		return
	}
	p.call = c
}

// turn makes one step of a player's call.
func (p *player) turn() {
	c := p.call
	if c.sends {
		p.after(p.lane.Write(handle, int32(1-p.me), c.tag, c.word), len(c.buf))
		return
	}
	stage, n, lent := p.lane.Read(handle, int32(1-p.me), c.tag, c.word, p.now)
	if !lent {
		p.cancel()
		return
	}
	if stage == lanec.Stale {
		stage = p.lane.GiveUpRead(handle, int32(1-p.me), c.tag, c.word)
	}
	c.bound, c.n = n > 0, n
	p.after(stage, n)
}

// after ends the call if a step has.
func (p *player) after(stage lanec.Stage, n int) {
	c := p.call
	switch stage {
	case lanec.Complete:
		p.call = nil
		if c.sends {
			p.sent[len(p.sent)-1].direct = true
		} else {
			c.v.n, c.v.direct = n, true
		}
	case lanec.Over:
		p.inGo()
	}
}

// inGo makes the call in Go.
func (p *player) inGo() {
	c := p.call
	p.call = nil
	if c.sends {
		p.sendInGo(c.tag, c.buf)
	} else {
		p.recvInGo(c.v)
	}
}

// cancel gives up what a receive has advertised and not looked at since it was claimed.
func (p *player) cancel() {
	lanec.Cancel(p.port, p.call.word)
	p.inGo()
}

// giveUp makes the call not wait any longer.
func (p *player) giveUp() {
	switch c := p.call; {
	case c.sends:
		p.after(p.lane.GiveUpWrite(handle, int32(1-p.me), c.tag, c.word), len(c.buf))
	case c.bound:
		p.after(p.lane.GiveUpRead(handle, int32(1-p.me), c.tag, c.word), c.n)
	default:
		p.cancel()
	}
}

// conclude ends the calls of both.
func conclude(ps [2]*player) {
	for _, p := range ps {
		for i := 0; p.call != nil; i++ {
			p.turn()
			if i == 3 {
				p.giveUp()
			}
		}
	}
}

// Whatever two blocking calls do, and when they give up, a message arrives once, and where
// the others of its lane let it.
func TestARendezvousIsAMessageOfItsLane(t *testing.T) {
	direct, broken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ps := lent(t)
		who := rapid.SampledFrom(ps[:])
		size := rapid.SampledFrom([]int{8, 4096, 8191, 8192, 20000, 140_000})
		tag := rapid.Int32Range(0, tags-1)
		how := rapid.SampledFrom([]uint32{0, lanec.Exact})
		clock := int64(0)
		// A player that is in no call, or in one; nil if the one drawn is not.
		free := func(t *rapid.T) *player {
			if p := who.Draw(t, "who"); p.call == nil {
				return p
			}
			return nil
		}
		busy := func(t *rapid.T) *player {
			if p := who.Draw(t, "who"); p.call != nil {
				return p
			}
			return nil
		}
		meet := func(t *rapid.T) { // what usually happens
			a := free(t)
			if a == nil || ps[1-a.me].call != nil {
				return
			}
			at, n := tag.Draw(t, "tag"), size.Draw(t, "size")
			var own []byte // of nothing but zeros, which change nothing
			if rapid.Bool().Draw(t, "combined") {
				own = make([]byte, n)
			}
			a.combine(at, n, how.Draw(t, "how"), own, clock)
			if rapid.Bool().Draw(t, "later") {
				ps[1-a.me].sendLater(at, n)
			} else {
				ps[1-a.me].sendLong(at, n, clock)
			}
			v := a.recvs[len(a.recvs)-1]
			for _, p := range rapid.SliceOfN(who, 0, 5).Draw(t, "turns") {
				if p.call != nil {
					p.turn()
				} else {
					p.push()
				}
			}
			if v.direct {
				direct++
			}
		}
		meet(t)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				if p := free(t); p != nil {
					p.send(tag.Draw(t, "tag"), size.Draw(t, "size"))
				}
			},
			"receive": func(t *rapid.T) {
				if p := free(t); p != nil {
					p.recv(tag.Draw(t, "tag"), size.Draw(t, "room"), false)
				}
			},
			"send long": func(t *rapid.T) {
				if p := free(t); p != nil {
					p.sendLong(tag.Draw(t, "tag"), size.Draw(t, "size"), clock)
				}
			},
			"receive long": func(t *rapid.T) {
				if p := free(t); p != nil {
					p.recvLong(tag.Draw(t, "tag"), size.Draw(t, "room"), how.Draw(t, "how"), clock)
				}
			},
			"meet": meet,
			"turn": func(t *rapid.T) {
				if p := busy(t); p != nil {
					p.turn()
				}
			},
			"give up": func(t *rapid.T) {
				if p := busy(t); p != nil {
					p.giveUp()
					broken++
				}
			},
			"withdraw": func(t *rapid.T) {
				if p := busy(t); p != nil && !p.call.sends && !p.call.bound && lanec.Withdraw(p.port, p.call.word) {
					p.inGo()
				}
			},
			"cannot copy": func(t *rapid.T) {
				if rapid.IntRange(0, 4).Draw(t, "rarely") == 0 {
					who.Draw(t, "who").port.Pid = math.MaxInt32
				}
			},
			"time": func(t *rapid.T) {
				clock += rapid.Int64Range(0, 30e6).Draw(t, "ns")
				ps[0].now, ps[1].now = clock, clock
			},
			"send later": func(t *rapid.T) {
				if p := free(t); p != nil {
					p.sendLater(tag.Draw(t, "tag"), size.Draw(t, "size"))
				}
			},
			"push": func(t *rapid.T) { who.Draw(t, "who").push() },
			"poll": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.call == nil || !p.call.bound {
					p.poll()
				}
			},
		})
		conclude(ps)
		finish(t, ps)
	})
	require.NotZero(t, direct)
	require.NotZero(t, broken)
}

// met are players of which 0 waits to receive n bytes of tag 0, and 1 has claimed that.
func met(t *testing.T, n int) [2]*player {
	ps := lent(t)
	ps[0].recvLong(0, n, 0, 0)
	require.NotNil(t, ps[0].call)
	ps[1].sendLong(0, n, 0)
	require.NotNil(t, ps[1].call)
	return ps
}

// An advertisement does not hold for long, and only for a message that fits, the next
// one of its lane.
func TestWhatIsNotClaimed(t *testing.T) {
	for what, claim := range map[string]func(p *player) lanec.Advert{
		"too late":    func(p *player) lanec.Advert { return p.lane.Claim(handle, make([]byte, 9000), 0, 0, 25e6) },
		"too long":    func(p *player) lanec.Advert { return p.lane.Claim(handle, make([]byte, 9001), 0, 0, 0) },
		"another tag": func(p *player) lanec.Advert { return p.lane.Claim(handle, make([]byte, 9000), 0, 1, 0) },
		"another communicator": func(p *player) lanec.Advert {
			p.table.Out[express.Place(handle, 0, 0)].Head ^= 1 << 40
			return p.lane.Claim(handle, make([]byte, 9000), 0, 0, 0)
		},
		"not the next": func(p *player) lanec.Advert {
			p.send(0, 8)
			return p.lane.Claim(handle, make([]byte, 9000), 0, 0, 0)
		},
	} {
		ps := lent(t)
		ps[0].recvLong(0, 9000, 0, 0)
		require.NotNil(t, ps[0].call)
		require.False(t, claim(ps[1]).Ok(), what)
	}
	ps := lent(t)
	require.True(t, ps[0].lane.Advertise(handle, make([]byte, 9000), nil, 1, 0, lanec.Exact, 0).Ok())
	require.False(t, ps[1].lane.Claim(handle, make([]byte, 8999), 0, 0, 0).Ok())
	require.True(t, ps[1].lane.Claim(handle, make([]byte, 9000), 0, 0, 0).Ok())

	ps = lent(t)
	ps[0].recvLong(0, 9000, 0, 0)
	require.True(t, ps[1].lane.Claim(handle, make([]byte, 9000), 0, 0, 15e6).Ok())
	require.False(t, ps[1].lane.Claim(handle, make([]byte, 9000), 0, 0, 15e6).Ok(), "twice")
}

// A receive that wants the next of all messages is claimed by none behind another one, whatever lane
// that is of, nor by one that goes on.
func TestTheNextOfAll(t *testing.T) {
	const n = 40 << 10
	other := func(ps [2]*player) {
		sent, _ := ps[1].lane.Send(handle, make([]byte, 8), 0, 1)
		require.True(t, sent)
	}
	read := func(ps [2]*player) {
		_, ok, _ := ps[0].lane.Receive(handle, make([]byte, 8), 1, 1)
		require.True(t, ok)
	}
	for _, c := range []struct {
		name          string
		before, after []func([2]*player)
		any           bool // of all
		later         bool
		claimed       bool
	}{
		{name: "nothing else", any: true, claimed: true},
		{name: "one that has been read", before: []func([2]*player){other, read}, any: true, claimed: true},
		{name: "one that has not been read", before: []func([2]*player){other}, any: true},
		{name: "one behind", after: []func([2]*player){other}, any: true},
		{name: "one behind that has been read since", after: []func([2]*player){other, read}, any: true},
		{name: "one behind, for the next of the lane", after: []func([2]*player){other}, claimed: true},
		{name: "one that goes on", any: true, later: true},
		{name: "one that goes on, for the next of the lane", later: true, claimed: true},
	} {
		ps := lent(t)
		for _, f := range c.before {
			f(ps)
		}
		how := lanec.Awaited
		if c.any {
			how |= lanec.Next
		}
		require.True(t, ps[0].lane.Advertise(handle, make([]byte, n), nil, 1, 0, how, 0).Ok())
		for _, f := range c.after {
			f(ps)
		}
		var claimed bool
		if c.later {
			_, claimed = ps[1].lane.GoOn(handle, make([]byte, n), 0, 0, 0)
		} else {
			claimed = ps[1].lane.Claim(handle, make([]byte, n), 0, 0, 0).Ok()
		}
		require.Equal(t, c.claimed, claimed, c.name)
	}
}

// Each side copies its part, whoever comes first, and neither copies what it need not.
func TestBothCopy(t *testing.T) {
	for _, first := range []int{0, 1} {
		ps := met(t, 20000)
		ps[first].turn()
		require.NotNil(t, ps[first].call)
		half := 2 * 4096
		want := make([]byte, 20000)
		fill(want, len(ps[1].sent)-1)
		if first == 0 {
			clear(want[:half])
		} else {
			clear(want[half:])
		}
		require.Equal(t, want, ps[0].recvs[len(ps[0].recvs)-1].buf)
		ps[1-first].turn()
		require.Nil(t, ps[1-first].call)
		ps[first].turn()
		require.Nil(t, ps[first].call)
	}
}

// sums are two operands of n bytes, and their sum.
func sums(n int) (a, b, sum []byte) {
	a, b, sum = make([]byte, n), make([]byte, n), make([]byte, n)
	for i := 0; i+4 <= n; i += 4 {
		x, y := uint32(i)*2654435761, uint32(i)*40503+7
		binary.NativeEndian.PutUint32(a[i:], x)
		binary.NativeEndian.PutUint32(b[i:], y)
		binary.NativeEndian.PutUint32(sum[i:], x+y)
	}
	return a, b, sum
}

// What is combined is so where it is copied, once, whoever comes first; of a short message by the
// receive alone.
func TestBothCombine(t *testing.T) {
	for n, front := range map[int]int{4096: 0, 131071: 0, 131076: 32768, 300_000: 73728, 1 << 20: 393216} {
		for _, first := range []int{0, 1} {
			ps := lent(t)
			own, out, sum := sums(n)
			in := make([]byte, n)
			adverts := [2]lanec.Advert{ps[0].lane.Advertise(handle, in, own, 1, 0, lanec.Exact|lanec.Awaited, 0), ps[1].lane.Claim(handle, out, 0, 0, 0)}
			turns := [2]func() lanec.Stage{
				func() lanec.Stage {
					stage, _, _ := ps[0].lane.Read(handle, 1, 0, adverts[0], 0)
					return stage
				},
				func() lanec.Stage { return ps[1].lane.Write(handle, 0, 0, adverts[1]) },
			}
			want := slices.Clone(sum)
			stage := lanec.Waiting
			switch {
			case first == 0 && front == 0:
				stage = lanec.Complete
			case first == 0:
				clear(want[:front])
			default:
				clear(want[front:])
			}
			require.Equal(t, stage, turns[first]())
			require.Equal(t, want, in)
			require.Equal(t, lanec.Complete, turns[1-first]())
			require.Equal(t, sum, in)
			if stage == lanec.Waiting {
				require.Equal(t, lanec.Complete, turns[first]())
			}
			a, b, _ := sums(n)
			require.Equal(t, a, own, "an operand has changed")
			require.Equal(t, b, out, "an operand has changed")
		}
	}
}

// Who cannot reach what the other has to combine leaves the operands as they are.
func TestCannotCombine(t *testing.T) {
	for _, who := range []int{0, 1} {
		ps := lent(t)
		own, out, _ := sums(140_000)
		in := make([]byte, 140_000)
		read := ps[0].lane.Advertise(handle, in, own, 1, 0, lanec.Exact|lanec.Awaited, 0)
		write := ps[1].lane.Claim(handle, out, 0, 0, 0)
		ps[who].port.Pid = math.MaxInt32
		for range 2 {
			ps[1].lane.Write(handle, 0, 0, write)
			ps[0].lane.Read(handle, 1, 0, read, 0)
		}
		require.Equal(t, lanec.Over, ps[1].lane.GiveUpWrite(handle, 0, 0, write))
		require.Equal(t, lanec.Over, ps[0].lane.GiveUpRead(handle, 1, 0, read))
		a, b, _ := sums(140_000)
		require.Equal(t, a, own)
		require.Equal(t, b, out)
	}
}

// places is how many of the places for rendezvous with rank 1 are vacant.
func places(p *player) (n int) {
	lane := &p.table.In[express.Place(handle, 1, 1)]
	first := lane.Next
	for i := range uint32(64) {
		lane.Next = first + i
		if a := p.lane.Advertise(handle, make([]byte, 9000), nil, 1, 1, 0, 0); a.Ok() {
			lanec.Withdraw(p.port, a)
			n++
		}
	}
	lane.Next = first
	return n
}

// A receive that has broken a rendezvous begins no other in its place before its send knows.
func TestTheSendKnows(t *testing.T) {
	ps := met(t, 20000)
	require.Equal(t, 63, places(ps[0]))
	ps[0].turn()
	ps[0].giveUp()
	require.False(t, ps[0].call != nil)
	require.Equal(t, 63, places(ps[0]))
	ps[1].turn()
	require.False(t, ps[1].call != nil)
	settle(ps)
	require.Equal(t, 64, places(ps[0]))
}

// What has been taken back in time, or been cancelled before anybody came, leaves no trace.
func TestTakenBack(t *testing.T) {
	ps := lent(t)
	b := make([]byte, 9000)
	for _, back := range []func(word lanec.Advert){
		func(word lanec.Advert) { require.True(t, lanec.Withdraw(ps[0].port, word)) },
		func(word lanec.Advert) { lanec.Cancel(ps[0].port, word) },
	} {
		word := ps[0].lane.Advertise(handle, b, nil, 1, 0, 0, 0)
		require.True(t, word.Ok())
		back(word)
		require.False(t, ps[1].lane.Claim(handle, b, 0, 0, 0).Ok())
	}
	word := ps[0].lane.Advertise(handle, b, nil, 1, 0, 0, 0)
	require.True(t, word.Ok())
	require.True(t, ps[1].lane.Claim(handle, b, 0, 0, 0).Ok())
	require.False(t, lanec.Withdraw(ps[0].port, word))
}

// Both sides at once, each of which gives up at some time or other: they agree, and what has
// been passed is whole.
func TestBothAtOnce(t *testing.T) {
	ps := lent(t)
	const n = 20000
	out, in := make([]byte, n), make([]byte, n)
	passed, broken := 0, 0
	var words [2]lanec.Advert
	// run takes turns until there is an end, at most so many.
	run := func(turns int, turn, giveUp func() lanec.Stage) lanec.Stage {
		for range turns {
			if s := turn(); s != lanec.Waiting {
				return s
			}
		}
		return giveUp()
	}
	for i := range 20000 {
		fill(out, i)
		clear(in)
		words[0] = ps[0].lane.Advertise(handle, in, nil, 1, 0, 0, 0)
		require.True(t, words[0].Ok())
		words[1] = ps[1].lane.Claim(handle, out, 0, 0, 0)
		require.True(t, words[1].Ok())
		sends := make(chan lanec.Stage)
		go func() {
			sends <- run(1+i%7*40, func() lanec.Stage { return ps[1].lane.Write(handle, 0, 0, words[1]) }, func() lanec.Stage { return ps[1].lane.GiveUpWrite(handle, 0, 0, words[1]) })
		}()
		read := run(1+i%5*60, func() lanec.Stage {
			s, _, _ := ps[0].lane.Read(handle, 1, 0, words[0], 0)
			return s
		}, func() lanec.Stage { return ps[0].lane.GiveUpRead(handle, 1, 0, words[0]) })
		require.Equal(t, <-sends, read)
		if read == lanec.Complete {
			require.Equal(t, out, in)
			passed++
		} else {
			broken++
		}
	}
	require.NotZero(t, passed)
	require.NotZero(t, broken)
}

// Who cannot reach the other's memory does not try again.
func TestOutOfReach(t *testing.T) {
	ps := met(t, 20000)
	ps[0].port.Pid = math.MaxInt32
	ps[0].turn()
	ps[1].turn()
	require.False(t, ps[0].call != nil)
	require.False(t, ps[1].call != nil)
	settle(ps)
	require.False(t, ps[0].lane.Advertise(handle, make([]byte, 9000), nil, 1, 0, 0, 0).Ok())
}

// A buffer that is not there is the end of one rendezvous only.
func TestABufferThatIsNotThere(t *testing.T) {
	ps := lent(t)
	out, err := unix.Mmap(-1, 0, 20000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	ps[0].recvLong(0, 20000, 0, 0)
	word := ps[1].lane.Claim(handle, out, 0, 0, 0)
	require.True(t, word.Ok())
	require.NoError(t, unix.Munmap(out))
	ps[0].turn()
	require.Nil(t, ps[0].call, "it is over")
	require.Equal(t, lanec.Over, ps[1].lane.GiveUpWrite(handle, 0, 0, word))
	require.NotZero(t, ps[0].port.Pid)
}
