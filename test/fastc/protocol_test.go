//go:build linux && cgo

package fastc_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/fastpath"
	"github.com/exanet-mpi/exanet/test/fastc"
	"github.com/exanet-mpi/exanet/test/pairtest"
	"github.com/exanet-mpi/exanet/variants"
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
	table *fastpath.Table
	path  fastc.Path
	port  *fastpath.Port
	sent  []message
	recvs []*receive
	slots map[int]*receive
}

type message struct {
	tag int32
	n   int
}

type receive struct {
	tag  int32 // or AnyTag
	buf  []byte
	r    *variants.Request // nil: on the fast path
	slot int               // there, -1: it was there at once
	n    int               // of that
}

func players(t require.TestingT) [2]*player {
	pair, err := pairtest.New(limit, func(me int, f *host.Fabric) *ticket.Protocol { return ticket.New(me, f) })
	require.NoError(t, err)
	var ps [2]*player
	for i := range ps {
		p := &player{Pair: pair, me: i, table: new(fastpath.Table), slots: make(map[int]*receive)}
		p.path = fastc.Of(p.table)
		f := pair.Fabric[i]
		p.table.Limit, p.table.Window = limit, variants.CreditWindow
		p.table.Rings.Cells, p.table.Rings.Shift, p.table.Rings.Bulk = f.Geometry()
		p.table.Doorbells, p.table.Step = f.Doorbells()
		pair.Rank[i].LeaseTo(fastpath.NewLeases(i, p.table, func(x *fastpath.Port) {
			x.Out, x.In = f.Wires(int(x.World))
			p.port = x
		}))
		ps[i] = p
	}
	return ps
}

// enter is what who takes the rank's lock does first.
func (p *player) enter() {
	for slot, ok := p.table.Pop(); ok; slot, ok = p.table.Pop() {
		v := p.slots[slot]
		delete(p.slots, slot)
		v.r = p.Recv(p.me, v.tag, v.buf)
		p.table.Release(slot)
	}
}

// account is what the protocol counts towards the other.
func (p *player) account() *variants.Account { return p.Rank[p.me].Out.Peer(int32(1 - p.me)).Account }

// message i of a rank has its number in every word that fits.
func fill(b []byte, i int) {
	for at := 0; at+4 <= len(b); at += 4 {
		binary.LittleEndian.PutUint32(b[at:], uint32(i+1))
	}
}

func (p *player) send(tag int32, n int) {
	b := make([]byte, n)
	fill(b, len(p.sent))
	p.sent = append(p.sent, message{tag, n})
	if !p.path.Send(handle, b, int32(1-p.me), tag) {
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
	if now {
		if n, ok := p.path.Receive(handle, v.buf, int32(1-p.me), tag); ok {
			v.n = n
			p.recvs = append(p.recvs, v)
		}
		return
	}
	p.recvs = append(p.recvs, v)
	if room <= limit {
		if slot, ok := p.path.Post(handle, v.buf, int32(1-p.me), tag); ok {
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
		if v.r != nil && !v.r.Done || v.r == nil && v.slot >= 0 && p.table.Slots[v.slot].State != fastpath.Done {
			return false
		}
	}
	return true
}

// Whatever the fast path does by itself, and whatever it leaves to the protocol, each
// receive gets the message that MPI's rules give it, whole, and both ends count the
// same.
func TestTheFastPathAndTheProtocolAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := players(t)
		who := rapid.SampledFrom(ps[:])
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, limit), rapid.IntRange(limit+1, 3*limit))
		tag := rapid.Int32Range(0, tags-1)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) { who.Draw(t, "who").send(tag.Draw(t, "tag"), size.Draw(t, "size")) },
			"sends": func(t *rapid.T) {
				p, n := who.Draw(t, "who"), rapid.IntRange(1, 40).Draw(t, "n")
				size := rapid.SampledFrom([]int{8, limit}).Draw(t, "size")
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
				for range n {
					p.recv(at, rapid.SampledFrom([]int{8, 100, limit}).Draw(t, "room"), true)
				}
			},
			"progress": func(t *rapid.T) {
				p := who.Draw(t, "who")
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					if p.port == nil {
						break // no channel has been leased yet, so there is nothing to carry on
					}
					p.path.Complete(p.port)
				}
			},
			"poll": func(t *rapid.T) { who.Draw(t, "who").poll() },
			"look": func(t *rapid.T) {
				if p := who.Draw(t, "who"); p.port != nil {
					p.path.Arrived(p.port)
				}
			},
			"soon due": func(t *rapid.T) { // so much has come before
				from := rapid.IntRange(0, 1).Draw(t, "from")
				p := ps[1-from].account()
				other := ps[from].account()
				left := variants.CreditWindow/4 - p.Consumed - rapid.Int64Range(1, 5000).Draw(t, "left")
				if left > 0 && other.Unmatched+left <= variants.CreditWindow/2 {
					p.Consumed += left
					other.Unmatched += left
				}
			},
		})
		finish(t, ps)
	})
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
			require.Zero(t, p.table.In[at].Pending)
		}
		require.Equal(t, p.account().Unmatched, ps[1-i].account().Consumed, "bytes that rank %d thinks unmatched", i)
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
func (v *receive) check(t *rapid.T, table *fastpath.Table, m message, id int) {
	want := make([]byte, len(v.buf))
	if m.n <= len(v.buf) {
		fill(want[:m.n], id)
	}
	require.Equal(t, want, v.buf, "the data of a receive of tag %d", v.tag)
	switch {
	case v.r == nil && v.slot < 0:
		require.Equal(t, m.n, v.n)
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

// leased are players whose channels are leased.
func leased(t require.TestingT) [2]*player {
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
