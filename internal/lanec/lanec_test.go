//go:build cgo

package lanec_test

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/internal/lanec"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/test/pairtest"
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
	*pairtest.Pair[*ticket.Protocol]
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
	pair, err := pairtest.New(limit, protocol)
	require.NoError(t, err)
	return playersOf(pair)
}

func protocol(me int, f *host.Fabric) *ticket.Protocol { return ticket.New(me, f) }

func playersOf(pair *pairtest.Pair[*ticket.Protocol]) [2]*player {
	var ps [2]*player
	for i := range ps {
		p := &player{Pair: pair, me: i, table: new(express.Table), slots: make(map[int]*receive), later: make(map[int]*later)}
		p.lane = lanec.Of(p.table)
		p.table.Limit, p.table.Window = limit, variants.CreditWindow
		p.table.Cells, p.table.Shift, p.table.Bulk, p.table.Cell = pair.Fabric[i].Geometry()
		f := pair.Fabric[i]
		pair.Rank[i].LeaseTo(express.NewLeases(i, p.table, func(x *express.Port) {
			x.Out, x.In, x.Bell = f.Wires(int(x.World))
			x.Pid = int32(os.Getpid())
		}))
		p.port = mem.Deref[express.Port](mem.Ref(pair.Rank[i].Out.Peer(int32(1 - i)).Account)) // of which it is the beginning
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
	p.Rank[p.me].LeaseOut(p.World[p.me], int32(1-p.me), tag, handle)
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
		p.Rank[p.me].LeaseIn(p.World[p.me], int32(1-p.me), tag, handle)
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
	lend(ps)
	return ps
}

func lend(ps [2]*player) {
	for i, p := range ps {
		for tag := range int32(tags) {
			p.send(tag, 8)
			ps[1-i].recv(tag, 8, false)
		}
	}
	settle(ps)
}

// settle lets both take what has arrived, and answer.
func settle(ps [2]*player) {
	for range 5 {
		ps[0].poll()
		ps[1].poll()
	}
}
