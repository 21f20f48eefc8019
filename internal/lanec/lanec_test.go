//go:build cgo

package lanec_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/duo"
	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/express"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

const (
	limit  = 2500 // so many that the bulk space runs out before the cells
	handle = 77   // of the communicator
	tags   = 3
)

// player is one of two ranks, each of which sends to the other.
type player struct {
	*duo.Pair[*ticket.Protocol]
	me    int
	table *express.Table
	lane  lanec.Lane
	port  *express.Port
	sent  []message
	recvs []*receive
	slots map[int]*receive
	call  *call // a blocking one that has not ended, see rendezvous_test.go
	later map[int]*later
	now   int64
}

type message struct {
	tag    int32
	n      int
	direct bool // by a rendezvous
}

type receive struct {
	tag    int32 // or AnyTag
	buf    []byte
	r      *variants.Request // nil: on the lane
	slot   int               // of the lane, -1: it was there at once
	n      int               // of that
	as     int32             // tag of its message, if any would do
	direct bool
}

func players(t require.TestingT) [2]*player {
	pair, err := duo.New(limit, func(me int, f *host.Fabric) *ticket.Protocol { return ticket.New(me, f) })
	require.NoError(t, err)
	var ps [2]*player
	for i := range ps {
		p := &player{Pair: pair, me: i, table: new(express.Table), slots: make(map[int]*receive), later: make(map[int]*later)}
		p.lane = lanec.Of(p.table)
		p.table.Limit, p.table.Window = limit, variants.CreditWindow
		p.table.Cells, p.table.Shift, p.table.Bulk, p.table.Cell = pair.Fabric[i].Geometry()
		f := pair.Fabric[i]
		pair.Rank[i].Lend(p.table, func(x *express.Port) {
			x.Out, x.In, x.Bell = f.Wires(int(x.World))
			x.Pid = int32(os.Getpid())
		})
		p.port = pair.Rank[i].Out.Peer(int32(1 - i)).Port
		ps[i] = p
	}
	return ps
}

// enter is what who takes the rank's lock does first.
func (p *player) enter() {
	for {
		x, ok := p.table.PopSend(p.copies(sys.VMWrite))
		if !ok {
			break
		}
		p.table.Release(x.Slot)
		p.over(x.Slot, x.Passed)
	}
	for {
		x, ok := p.table.Pop(p.copies(sys.VMRead))
		if !ok {
			return
		}
		v := p.slots[x.Slot]
		delete(p.slots, x.Slot)
		if x.Passed {
			v.direct = true
			p.Rank[p.me].Passed(p.World[p.me], int32(1-p.me), v.tag)
			continue
		}
		v.r = p.Recv(p.me, v.tag, v.buf)
		p.table.Release(x.Slot)
	}
}

// copies is what copies in Go.
func (p *player) copies(call func(pid int, addr uint64, b []byte) (int, error)) express.Copy {
	return func(port *express.Port, addr uint64, b []byte) bool {
		n, err := call(int(port.Pid), addr, b)
		return err == nil && n == len(b)
	}
}

// message i of a rank has its number in every word that fits.
func fill(b []byte, i int) {
	for at := 0; at+4 <= len(b); at += 4 {
		binary.LittleEndian.PutUint32(b[at:], uint32(i+1))
	}
}

func (p *player) send(tag int32, n int) {
	b := make([]byte, n)
	fill(b, len(p.sent))
	p.sent = append(p.sent, message{tag: tag, n: n})
	if sent, _ := p.lane.Send(handle, b, int32(1-p.me), tag); !sent {
		p.sendInGo(tag, b)
	}
}

func (p *player) sendInGo(tag int32, b []byte) {
	p.enter()
	if !p.Rank[p.me].TrySend(p.World[p.me], int32(1-p.me), tag, b) {
		p.Send(p.me, tag, b)
	}
	p.Rank[p.me].LendOut(p.World[p.me], int32(1-p.me), tag, handle)
}

func (p *player) recv(tag int32, room int, now bool) {
	v := &receive{tag: tag, buf: make([]byte, room), slot: -1}
	if now && tag == variants.AnyTag {
		p.table.Strays = uint32(p.Rank[p.me].Strays())
		if n, as, ok := p.lane.ReceiveAny(handle, v.buf, int32(1-p.me)); ok {
			v.n, v.as = n, as
			p.recvs = append(p.recvs, v)
		}
		return
	}
	if now {
		if n, ok, _ := p.lane.Receive(handle, v.buf, int32(1-p.me), tag); ok {
			v.n = n
			p.recvs = append(p.recvs, v)
		}
		return
	}
	p.recvs = append(p.recvs, v)
	if room <= limit {
		if slot, ok := p.lane.Note(handle, v.buf, int32(1-p.me), tag); ok {
			v.slot = slot
			p.slots[slot] = v
			return
		}
	}
	p.enter()
	v.r = p.Recv(p.me, tag, v.buf)
}

func (p *player) poll() {
	p.enter()
	p.Poll(p.me)
	for tag := range int32(tags) {
		p.Rank[p.me].LendIn(p.World[p.me], int32(1-p.me), tag, handle)
	}
}

// matches says which message of the other each receive takes, by MPI's rules: -1
// none.
func matches(sent []message, recvs []*receive) []int {
	of := make([]int, len(recvs))
	for i := range of {
		of[i] = -1
	}
	for m, s := range sent {
		for i, v := range recvs {
			if of[i] < 0 && (v.tag == s.tag || v.tag == variants.AnyTag) {
				of[i] = m
				break
			}
		}
	}
	return of
}

func (p *player) settled() bool {
	for _, v := range p.recvs {
		if v.r != nil && !v.r.Done || v.r == nil && v.slot >= 0 && p.table.Slots[v.slot].State != express.Done {
			return false
		}
	}
	return true
}

// Whatever the lane does by itself, and whatever it leaves to the protocol, each
// receive gets the message that MPI's rules give it, whole, and both ends count the
// same.
func TestTheLaneAndTheProtocolAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := players(t)
		who := rapid.SampledFrom(ps[:])
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, limit), rapid.IntRange(limit+1, 3*limit))
		tag := rapid.Int32Range(0, tags-1)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) { who.Draw(t, "who").send(tag.Draw(t, "tag"), size.Draw(t, "size")) },
			"sends": func(t *rapid.T) {
				p, n, size := who.Draw(t, "who"), rapid.IntRange(1, 40).Draw(t, "n"), rapid.SampledFrom([]int{8, limit}).Draw(t, "size")
				for _, at := range rapid.SliceOfN(tag, n, n).Draw(t, "tags") {
					p.send(at, size)
				}
			},
			"receive": func(t *rapid.T) {
				p, at := who.Draw(t, "who"), tag.Draw(t, "tag")
				if rapid.IntRange(0, 9).Draw(t, "any") == 0 {
					at = variants.AnyTag
				}
				p.recv(at, size.Draw(t, "room"), false)
			},
			"receives": func(t *rapid.T) {
				p, n := who.Draw(t, "who"), rapid.IntRange(1, 40).Draw(t, "n")
				for _, at := range rapid.SliceOfN(tag, n, n).Draw(t, "tags") {
					p.recv(at, 8, false)
				}
			},
			"receive now": func(t *rapid.T) {
				p, at, n := who.Draw(t, "who"), tag.Draw(t, "tag"), rapid.IntRange(1, 20).Draw(t, "n")
				if rapid.Bool().Draw(t, "any") {
					at = variants.AnyTag
				}
				for range n {
					p.recv(at, rapid.SampledFrom([]int{8, 100, limit}).Draw(t, "room"), true)
				}
			},
			"progress": func(t *rapid.T) {
				p := who.Draw(t, "who")
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					if p.port.In == 0 {
						break // no lane has been lent yet, so there is nothing to carry on
					}
					p.lane.Progress(p.port)
				}
			},
			"poll":   func(t *rapid.T) { who.Draw(t, "who").poll() },
			"credit": func(t *rapid.T) { who.Draw(t, "who").credits() },
			"soon due": func(t *rapid.T) { // so much has come before
				from := rapid.IntRange(0, 1).Draw(t, "from")
				p := ps[1-from].port
				left := variants.CreditWindow/4 - p.Consumed - rapid.Int64Range(1, 5000).Draw(t, "left")
				if left > 0 && ps[from].port.Unmatched+left <= variants.CreditWindow/2 {
					p.Consumed += left
					ps[from].port.Unmatched += left
				}
			},
		})
		finish(t, ps)
	})
}

// Receives of any tag take messages on the lane in their order, but for those that others have been
// noted for, and those that wait in the protocol.
func TestWildcardsOnTheLane(t *testing.T) {
	var taken, passedBy, behind int
	rapid.Check(t, func(t *rapid.T) {
		ps := lent(t)
		from, to := ps[0], ps[1]
		tag := rapid.Int32Range(0, tags-1)
		receive := func() {
			before := len(to.recvs)
			to.recv(variants.AnyTag, limit, true)
			if taken += len(to.recvs) - before; len(to.recvs) > before {
				return
			}
			if to.table.First != 0 {
				passedBy++
			}
			if to.table.Strays != 0 {
				behind++
			}
		}
		from.send(0, 8)
		receive()
		to.recv(1, 8, false)
		from.send(1, 8)
		receive()
		from.send(2, 8)
		to.poll()
		to.poll()
		from.send(0, 8)
		receive()
		t.Repeat(map[string]func(*rapid.T){
			"send":     func(t *rapid.T) { from.send(tag.Draw(t, "tag"), rapid.IntRange(0, limit).Draw(t, "size")) },
			"note":     func(t *rapid.T) { to.recv(tag.Draw(t, "tag"), limit, false) },
			"receive":  func(*rapid.T) { receive() },
			"progress": func(*rapid.T) { to.lane.Progress(to.port) },
			"poll":     func(*rapid.T) { to.poll() },
			"drain": func(*rapid.T) {
				for m := range from.sent {
					if !contains(matches(from.sent, to.recvs), m) {
						to.recv(from.sent[m].tag, limit, false)
					}
				}
			},
		})
		finish(t, ps)
	})
	require.NotZero(t, taken)
	require.NotZero(t, passedBy)
	require.NotZero(t, behind)
}

// finish gives each receive a message and each message a receive, and checks what has become
// of all.
func finish(t *rapid.T, ps [2]*player) {
	for i, p := range ps { // what is missing
		other := ps[1-i]
		for k, m := range matches(other.sent, p.recvs) {
			if m < 0 {
				other.send(max(p.recvs[k].tag, 0), 4)
			}
		}
		taken := matches(other.sent, p.recvs)
		for m := range other.sent {
			if !contains(taken, m) {
				p.recv(other.sent[m].tag, 3*limit, false)
				taken = matches(other.sent, p.recvs)
			}
		}
	}
	for range 200 {
		ps[0].poll()
		ps[1].poll()
		if ps[0].settled() && ps[1].settled() {
			break
		}
	}
	for i, p := range ps {
		other := ps[1-i]
		require.True(t, p.settled(), "rank %d has receives that do not end", i)
		for k, m := range matches(other.sent, p.recvs) {
			p.recvs[k].check(t, p.table, other.sent[m], m)
		}
	}
	settle(ps) // of credit too
	for i, p := range ps {
		for at := range p.table.In {
			require.Zero(t, p.table.In[at].Noted)
		}
		require.Equal(t, p.port.Unmatched, ps[1-i].port.Consumed, "bytes that rank %d thinks unmatched", i)
	}
}

func contains(of []int, m int) bool {
	for _, x := range of {
		if x == m {
			return true
		}
	}
	return false
}

// check compares what a receive has got with message number id.
func (v *receive) check(t *rapid.T, table *express.Table, m message, id int) {
	want := make([]byte, len(v.buf))
	if m.n <= len(v.buf) {
		fill(want[:m.n], id)
	}
	require.Equal(t, want, v.buf, "the data of a receive of tag %d", v.tag)
	require.Equal(t, m.direct, v.direct, "what the two sides think of a rendezvous")
	switch {
	case v.r == nil && v.slot < 0:
		require.Equal(t, m.n, v.n)
		if v.tag == variants.AnyTag {
			require.Equal(t, m.tag, v.as)
		}
	case v.r == nil:
		require.Equal(t, uint32(m.n), table.Slots[v.slot].Size)
	case m.n > len(v.buf):
		require.ErrorIs(t, v.r.Err, variants.ErrTruncate)
	default:
		require.NoError(t, v.r.Err)
		require.Equal(t, m.n, v.r.Status.Size)
		require.Equal(t, m.tag, v.r.Status.Tag)
	}
}

// lent are players whose lanes are lent.
func lent(t require.TestingT) [2]*player {
	ps := players(t)
	for i, p := range ps {
		for tag := range int32(tags) {
			p.send(tag, 8)
			ps[1-i].recv(tag, 8, false)
		}
	}
	settle(ps)
	return ps
}

// settle lets both take what has arrived, and answer.
func settle(ps [2]*player) {
	for range 5 {
		ps[0].poll()
		ps[1].poll()
	}
}

// Ranks that answer each other use the front of their rings again and again, whoever of
// the two sends in Go. What the one reads is not what the other prepares to write, nor what it
// writes next.
func TestTheLaneBeginsAgain(t *testing.T) {
	for inGo, name := range []string{"C", "Go beside C", "C beside Go"} {
		ps := lent(t)
		out, in := make([]byte, limit), make([]byte, limit)
		var ends, prepared [2]uint64
		for i := range 300 {
			for me, a := range ps {
				b := ps[1-me]
				fill(out, 2*i+me)
				if me+1 == inGo {
					a.enter()
					require.True(t, a.Rank[me].TrySend(a.World[me], int32(1-me), 0, out))
					a.Rank[me].LendOut(a.World[me], int32(1-me), 0, handle)
				} else {
					sent, _ := a.lane.Send(handle, out, int32(1-me), 0)
					require.True(t, sent)
				}
				end := a.taken()
				require.NotEqual(t, ends[me], end, name)
				ends[me] = end
				if i > 10 {
					require.LessOrEqual(t, end, uint64(8<<10+limit+64), name)
					require.Equal(t, end, prepared[me], name)
				}
				up, ok := a.lane.Prepare(a.port)
				require.True(t, ok, name)
				prepared[me] = up % uint64(a.table.Bulk)
				_, ok = a.lane.Prepare(a.port)
				require.False(t, ok, name)
				n, ok, _ := b.lane.Receive(handle, in, int32(me), 0)
				require.True(t, ok)
				require.Equal(t, out, in[:n])
			}
		}
	}
}

// taken is up to where the bulk space of the ring to the peer is taken.
func (p *player) taken() uint64 { return mem.Deref[[4]uint64](p.port.Out)[2] % uint64(p.table.Bulk) }

// What is prepared ends before what the peer may be reading, and a message that has come
// ends it.
func TestPreparingStopsInTime(t *testing.T) {
	const k = limit + 60 // bulk space of a long message
	for _, c := range []struct {
		read, unread []int
		come         bool
		front        bool // where it is prepared
		bytes        int
	}{
		{unread: []int{limit}, bytes: k},
		{read: []int{limit, limit}, unread: []int{300}, bytes: 320},
		{read: []int{limit, limit}, unread: []int{limit, limit}, front: true, bytes: k},
		{read: []int{1000}, unread: []int{limit, limit, limit}, front: true, bytes: 1024},
		{unread: []int{limit, limit, limit, limit}, front: true, bytes: 0},
		{unread: []int{limit}, come: true, bytes: 0},
	} {
		ps := lent(t)
		buf := make([]byte, limit)
		send := func(from, n int) {
			sent, _ := ps[from].lane.Send(handle, buf[:n], int32(1-from), 0)
			require.True(t, sent)
		}
		receive := func(from int) {
			_, ok, _ := ps[1-from].lane.Receive(handle, buf, int32(from), 0)
			require.True(t, ok)
		}
		for _, n := range c.read {
			send(0, n)
			receive(0)
			send(1, 8) // tells of it
			receive(1)
		}
		for _, n := range c.unread {
			send(0, n)
		}
		if c.come {
			send(1, 8)
		}
		want := ps[0].taken() + uint64(c.bytes)
		if c.front {
			want = uint64(c.bytes)
		}
		end, ok := ps[0].lane.Prepare(ps[0].port)
		require.True(t, ok)
		require.Equal(t, want, end%uint64(ps[0].table.Bulk), c)
	}
}

// Behind a window of messages the lane goes on where it is, as a ring does in Go.
func TestAWindowGoesOnOnTheLane(t *testing.T) {
	const n, size = 40, 1024 // more than 32 KiB
	ps := lent(t)
	buf := make([]byte, size)
	pass := func(from, n int) {
		sent, _ := ps[from].lane.Send(handle, buf[:n], int32(1-from), 0)
		require.True(t, sent)
		_, ok, _ := ps[1-from].lane.Receive(handle, buf, int32(from), 0)
		require.True(t, ok)
	}
	begun := ps[0].taken()
	for range n {
		pass(0, size)
	}
	pass(1, 8) // tells of it
	pass(0, size)
	require.Equal(t, begun+(n+1)*size, ps[0].taken())
}

// What has been told before a ring began again takes nothing back.
func TestOldNewsOnTheLane(t *testing.T) {
	ps := lent(t)
	buf := make([]byte, limit)
	send := func(from, n int) {
		sent, _ := ps[from].lane.Send(handle, buf[:n], int32(1-from), 0)
		require.True(t, sent)
	}
	pass := func(from, n int) {
		send(from, n)
		_, ok, _ := ps[1-from].lane.Receive(handle, buf, int32(from), 0)
		require.True(t, ok)
	}
	pass(0, 300)
	pass(1, 8) // tells of it
	send(0, 300)
	pass(1, 8) // tells of the first still
	send(0, limit)
}

// A message that was taken out of a lane by a matched probe is the protocol's again when a receive is
// posted for it: it counts as consumed once, and then nothing is left of it.
func TestExtracted(t *testing.T) {
	ps := lent(t)
	out, in := make([]byte, 1000), make([]byte, limit)
	fill(out, 1)
	before := ps[1].port.Consumed
	sent, _ := ps[0].lane.Send(handle, out, 1, 2)
	require.True(t, sent)
	n, ok, _ := ps[1].lane.Receive(handle, in, 0, 2)
	require.True(t, ok)
	consumed := ps[1].port.Consumed
	require.Equal(t, before+24+1000, consumed)

	p, ctx := ps[1].Rank[1], ps[1].World[1]
	m := p.Extracted(ctx, 0, 2, in[:n])
	clear(in)
	require.Equal(t, variants.Status{Source: 0, Tag: 2, Size: 1000}, m.Status())
	require.Equal(t, 1, p.Strays())
	buf := make([]byte, 1000)
	r := &variants.Request{Ctx: ctx, Buf: buf, Slot: -1}
	active := ctx.Active
	p.PostMatched(r, m)
	require.True(t, r.Done)
	require.NoError(t, r.Err)
	require.Equal(t, out, buf)
	require.Equal(t, m.Status(), r.Status)
	require.Equal(t, consumed, ps[1].port.Consumed)
	require.Equal(t, active-1, ctx.Active)
	require.Zero(t, p.Strays())
}

// Once its lanes are lent, the lane does not need the protocol: rings go round and round,
// and each rank tells the other what it has consumed.
func TestTheLaneAlone(t *testing.T) {
	ps := lent(t)
	out, in := make([]byte, limit), make([]byte, limit)
	sent, credits := int64(0), 0
	for i := range 12000 {
		a, b := ps[i/10%2], ps[1-i/10%2]
		for k, n := range []int{1, 232, 233, limit} {
			fill(out, i*4+k)
			sent, _ := a.lane.Send(handle, out[:n], int32(b.me), 0)
			require.True(t, sent, "message %d of %d bytes", i, n)
		}
		for k, n := range []int{1, 232, 233, limit} {
			credits += b.credits()
			sent += int64(24 + n)
			got := 0
			if i%3 > 0 {
				var ok bool
				got, ok, _ = b.lane.Receive(handle, in, int32(a.me), 0)
				require.True(t, ok, "message %d of %d bytes", i, n)
			} else {
				slot, noted := b.lane.Note(handle, in, int32(a.me), 0)
				require.True(t, noted)
				done, _ := b.lane.Progress(b.port)
				require.True(t, done, "noted message %d of %d bytes", i, n)
				got = int(b.table.Slots[slot].Size)
				b.lane.Release(slot)
			}
			fill(out, i*4+k)
			require.Equal(t, out[:n], in[:got])
		}
	}
	require.Greater(t, sent, int64(2*variants.CreditWindow), "no rank has needed credit")
	for i, p := range ps {
		credits += p.credits()
		require.Equal(t, p.port.Unmatched, ps[1-i].port.Consumed)
	}
	require.EqualValues(t, 2*(sent/2/(variants.CreditWindow/4)), credits)
}

// credits takes what the peer tells of what it has consumed, and returns how often.
func (p *player) credits() (n int) {
	for p.port.In != 0 {
		done, _ := p.lane.Credit(p.port)
		if !done {
			break
		}
		n++
	}
	return n
}

// Whoever gets nothing but credit gives the cells back, and learns what bulk space it has again.
func TestOnlyCredit(t *testing.T) {
	ps := lent(t)
	a, b := ps[0], ps[1]
	out, in := bytes.Repeat([]byte{0xff}, limit), make([]byte, limit)
	for range a.table.Cells { // so that something is in the cells already
		sent, _ := b.lane.Send(handle, out[:232], int32(a.me), 0)
		require.True(t, sent)
		_, ok, _ := a.lane.Receive(handle, in, int32(b.me), 0)
		require.True(t, ok)
	}
	told := 0
	for range 3 * a.table.Cells {
		mem.Deref[[17]uint64](b.port.In)[16] = 1 // who sends waits for room
		soon := variants.CreditWindow/4 - 24 - limit - b.port.Consumed
		a.port.Unmatched, b.port.Consumed = a.port.Unmatched+soon, b.port.Consumed+soon
		sent, _ := a.lane.Send(handle, out, int32(b.me), 0)
		require.True(t, sent)
		_, ok, starved := b.lane.Receive(handle, in, int32(a.me), 0)
		require.True(t, ok)
		if b.port.Consumed > 0 {
			require.True(t, starved)
			told++
			continue
		}
		require.Equal(t, 1, a.credits())
		require.Zero(t, a.port.Unmatched)
		bulk := mem.Deref[[4]uint64](a.port.Out) // cells, of which credit; bulk, of which credit
		require.Equal(t, bulk[2], bulk[3])
	}
	require.Positive(t, told)
}

// What begins like credit is none if it has another size, as the records of fabrics have.
func TestARecordIsNoCredit(t *testing.T) {
	ps := lent(t)
	a, b := ps[0], ps[1]
	sent, _ := b.lane.Send(handle, make([]byte, 8), int32(a.me), 0)
	require.True(t, sent)
	head := mem.Deref[[25]uint64](a.port.In)[24]
	cell := mem.Deref[uint64](a.port.In + a.table.Cell + head%uint64(a.table.Cells)*256)
	w := *cell
	for size, is := range map[uint64]bool{8: true, 0xffff: false, 0: false} {
		before := *a.port
		*cell = w&0xffff | size<<16 | a.table.Credit[0]
		done, _ := a.lane.Credit(a.port)
		require.Equal(t, is, done)
		require.Equal(t, is, before.Unmatched != a.port.Unmatched || head != mem.Deref[[25]uint64](a.port.In)[24])
		mem.Deref[[25]uint64](a.port.In)[24] = head
	}
}

// A message with which credit is due is left to the protocol if the ring is full, or may
// not be used.
func TestNoRoomForCredit(t *testing.T) {
	for _, full := range []bool{true, false} {
		ps := lent(t)
		a, b := ps[0], ps[1]
		a.port.Unmatched += variants.CreditWindow/4 - b.port.Consumed - 40
		b.port.Consumed = variants.CreditWindow/4 - 40
		if full {
			for sent := true; sent; {
				sent, _ = b.lane.Send(handle, make([]byte, 8), int32(a.me), 0)
			}
		} else {
			b.port.Shut = 1
		}
		in := make([]byte, 16)
		a.send(1, 16)
		_, ok, _ := b.lane.Receive(handle, in, int32(a.me), 1)
		require.False(t, ok)
		if !full {
			b.port.Shut = 0
		}
		b.recv(1, 16, false)
		for range 300 {
			a.poll()
			b.poll()
		}
		require.True(t, b.settled())
		require.Zero(t, b.port.Consumed)
	}
}
