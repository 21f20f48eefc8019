package mpi

import (
	"fmt"
	"math"
	"strings"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/mpi/internal/checking"
	"github.com/exanet-mpi/exanet/variants"
)

// Collectives in the checking mode. Each rank sends the card of its call to rank 0 of the communicator,
// which compares them. A blocking call waits for the verdict, and is not performed if the calls differ; so
// all blocking collectives synchronise. The others go on: rank 0 compares when all cards have come.

// Tags of the collectives' context that turns.go does not reach.
const (
	tagCard    = math.MaxInt32
	tagVerdict = math.MaxInt32 - 1
)

// ofSlice as the count of a collective says that its bytes tell.
const ofSlice = -1

// callForm is the form of a call.
type callForm int

const (
	formBlocking callForm = iota
	formImmediate
	formPersistent
)

// card describes a call.
func (x *collective) card(form callForm) checking.Card {
	call, check := title(x.Op), x.c.rank.check
	switch {
	case x.name == finalize:
		call = finalize
	case form == formImmediate:
		call = "I" + strings.ToLower(call[:1]) + call[1:]
	case form == formPersistent:
		call += "Init"
	}
	c := checking.Card{Call: check.call(call), Site: check.here(), Root: -1, Bytes: -1, Op: x.operator,
		Sequence: checking.Sequence{Any: true}}
	switch x.Op {
	case coll.Bcast, coll.Gather, coll.Gatherv, coll.Scatter, coll.Scatterv, coll.Reduce:
		c.Root = x.Root
	}
	if !x.Op.Sized() {
		return c
	}
	c.Bytes = x.Bytes()
	count := x.count
	if count == ofSlice {
		count = c.Bytes / max(1, x.Elem)
	}
	switch x.Op {
	case coll.Allgatherv, coll.ReduceScatter, coll.ReduceScatterBlock: // of which only the sizes are known
		if x.count != ofSlice {
			c.Data = fmt.Sprintf("%d bytes", c.Bytes)
			return c
		}
	}
	if x.kind != nil {
		c.Data, c.Sequence = checking.Describe(x.kind, count), checking.Of(x.kind, count)
	}
	return c
}

// frame is a card as it travels, and whether its rank waits for the verdict.
func frame(c checking.Card, waits bool) []byte {
	b := make([]byte, checking.CardSize+1)
	c.Write(b)
	if waits {
		b[checking.CardSize] = 1
	}
	return b
}

var errMismatch = &explained{"the ranks' calls do not match", [2]error{ErrCount, ErrCount}}

const finalize = "Finalize"

// agreeToEnd is agree for Finalize. Ranks that call something else are told so, and asked again.
func (x *collective) agreeToEnd() {
	for x.agree() != nil {
	}
}

// agree returns when all ranks have made the same call, with an error if they have not.
func (x *collective) agree() error {
	c, k := x.c, x.c.rank
	if x.Ranks == 1 {
		return nil
	}
	k.mu.Lock()
	card := x.card(formBlocking)
	verdict := [1]byte{}
	if x.Rank == 0 {
		g := k.gather(c, card)
		k.check.await(func() bool { return g.over }, func() (string, [][]int) {
			return k.check.call(x.name) + " on " + c.title(), g.needs()
		})
		verdict[0] = g.verdict
		k.mu.Unlock()
	} else {
		k.sendDetached(c.coll, 0, tagCard, frame(card, true))
		// Without an answer the call itself finds that rank 0 has died.
		_, _ = c.recvAndWait(x.name, c.coll, raw(verdict[:]), 0, tagVerdict)
	}
	if verdict[0] != 0 {
		return c.fail(x.name, noValue, noValue, noValue, errMismatch,
			"see what rank 0 of the communicator has reported")
	}
	return nil
}

// declare is agree for calls that do not wait, with the lock held.
func (x *collective) declare(form callForm) {
	switch {
	case x.Ranks == 1:
	case x.Rank == 0:
		x.c.rank.gather(x.c, x.card(form))
	default:
		x.c.rank.sendDetached(x.c.coll, 0, tagCard, frame(x.card(form), false))
	}
}

// sendDetached sends b, which it keeps, without waiting. The lock is held.
func (k *rank) sendDetached(ctx *variants.Context, dest, tag int32, b []byte) {
	if k.proto.TrySend(ctx, dest, tag, b) {
		return
	}
	m := k.take()
	m.Ctx, m.Peer, m.Tag, m.Buf = ctx, dest, tag, b
	k.proto.PostSend(&m.Request)
	k.detach(m, 0)
	k.Leave()
}

// gathering is the schedule of rank 0, which collects the cards of a call.
type gathering struct {
	c       *Comm
	own     checking.Card
	cards   []*pooled // of the others
	batch   variants.Batch
	over    bool
	verdict byte // 0: the calls match
}

// gather begins a gathering, with the lock held.
func (k *rank) gather(c *Comm, own checking.Card) *gathering {
	g := &gathering{c: c, own: own}
	k.run(&Request{c: c, op: own.Call, state: pending, s: g})
	return g
}

func (g *gathering) begin() {
	k := g.c.rank
	for i := 1; i < g.c.size; i++ {
		m := k.take()
		m.Recv, m.Ctx, m.Peer, m.Tag = true, g.c.coll, int32(i), tagCard
		m.Buf, m.Batch = make([]byte, checking.CardSize+1), &g.batch
		g.batch.Open++
		g.cards = append(g.cards, m)
		k.proto.PostRecv(&m.Request)
	}
}

func (g *gathering) advance() bool {
	k := g.c.rank
	if g.batch.Open > 0 {
		g.batch.Await(&k.Ready)
		return false
	}
	all, failed := []checking.Card{g.own}, false
	for _, m := range g.cards {
		failed = failed || m.Err != nil
		all = append(all, checking.ReadCard(m.Buf))
	}
	if !failed {
		if what := checking.Compare(all); what != "" {
			k.check.found("%s: %s", g.c.title(), what)
			g.verdict = 1
		}
	}
	for i, m := range g.cards {
		if m.Err == nil && m.Buf[checking.CardSize] != 0 {
			k.sendDetached(g.c.coll, int32(i+1), tagVerdict, []byte{g.verdict})
		}
		k.put(m)
	}
	g.cards, g.over = nil, true
	return true
}

func (g *gathering) requests() *variants.Batch { return &g.batch }

func (g *gathering) outcome() (Status, error) { return emptyStatus, nil }

// needs are the ranks whose cards are missing.
func (g *gathering) needs() (all [][]int) {
	for i, m := range g.cards {
		if !m.Done && m.Queued {
			all = append(all, []int{int(g.c.coll.World(int32(i + 1)))})
		}
	}
	return all
}

// title names a communicator in findings.
func (c *Comm) title() string {
	if name := c.Name(); name != "" {
		return name
	}
	return "a communicator with " + checking.Ranks(c.rank.peers(c.coll, variants.AnySource))
}
