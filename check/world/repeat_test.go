package world

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants"
)

// The same events always lead to the same actions, in the same order, also when one of three ranks has died with
// requests of every kind pending.
func TestActionsAreRepeatable(t *testing.T) {
	for _, p := range Protocols {
		t.Run(p.Name, func(t *testing.T) {
			w, first := bereaved(p)
			w.Settled()
			w.Close()
			require.Nil(t, w.Violation())
			for range 50 {
				_, again := bereaved(p)
				for i := range min(len(first), len(again)) {
					if !reflect.DeepEqual(first[i], again[i]) {
						t.Fatalf("at first\n%+v\nand then\n%+v", first[i], again[i])
					}
				}
				require.Len(t, again, len(first))
			}
		})
	}
}

// happening is an event, whose request, if it has one, is here by its number; or a line about a rank.
type happening struct {
	Event
	request int
	line    string
}

// bereaved makes a world of three ranks and chooses actions at random, but always the same. The last rank dies when its
// program is at its end, and those of the others but for a tail. It returns the world in which nothing is left to
// happen, and all that has happened.
func bereaved(p Protocol) (w *World, all []happening) {
	const dead = 2
	cfg := p.Config(3)
	cfg.Mortal, cfg.Doubts = 1, p.SizesMatch
	w = New(cfg, Program{append(entangled(cfg, 1, dead), tail...), append(entangled(cfg, 0, dead), tail...),
		halfOf(entangled(cfg, 0, 1))})
	var ended variants.Ready
	w.Log = func(e Event) {
		x := happening{Event: e}
		if q := e.Request; q != nil {
			x.Request, x.request = nil, q.ID
			if e.Kind == Posted { // it is told of in the order in which requests end
				q.r.Batch = &variants.Batch{Open: 1, Owner: q}
				q.r.Batch.Await(&ended)
			}
		}
		all = append(all, x)
	}
	tell := func(rank int, line string) { all = append(all, happening{Event: Event{Rank: rank}, line: line}) }
	rng := rand.New(rand.NewPCG(40, 0))
	do := func(acts ...Action) {
		w.Do(acts[rng.IntN(len(acts))])
		for ended.Len() > 0 {
			q := ended.Pop().Owner.(*Request)
			tell(q.Rank, w.Name(q)+" has ended")
		}
	}
	tellAll := func() {
		for _, r := range w.living() {
			r.proto.Waiting(func(line string) { tell(r.id, line) })
			tell(r.id, fmt.Sprint("free slots: ", r.dev.free))
		}
	}
	for acts, left := w.beforeTail(dead); left; acts, left = w.beforeTail(dead) {
		do(acts...)
	}
	tellAll()
	do(Action{Kind: Die, From: dead})
	for acts := w.Enabled(nil); len(acts) > 0; acts = w.Enabled(nil) {
		do(acts...)
	}
	tellAll()
	return w, all
}

// beforeTail returns the actions that can be chosen, but for a death and those of tail, and whether some rank can
// execute an operation.
func (w *World) beforeTail(dead int) (acts []Action, left bool) {
	for _, a := range w.Enabled(nil) {
		r := w.ranks[a.From]
		switch {
		case a.Kind == Die, a.Executes() && r.id != dead && r.pc >= len(r.program)-len(tail):
			continue
		case a.Executes():
			left = true
		}
		acts = append(acts, a)
	}
	return acts, left
}

// tail is what the ranks that live on execute when the last one has died.
var tail = []Op{{Kind: Take}, {Kind: Send, Peer: 2, Tag: 1, Size: 48}, {Kind: Recv, Peer: 2, Tag: 1, Size: 50}}

// entangled is a program with operations of every kind, in both communicators, with two ranks, the second of which
// dies.
func entangled(cfg Config, peers ...int) (ops []Op) {
	for _, peer := range peers {
		for comm := range comms {
			for tag := range int32(2) {
				ops = append(ops, Op{Kind: Recv, Comm: comm, Peer: peer, Tag: tag, Size: 50},
					Op{Kind: Send, Comm: comm, Peer: peer, Tag: tag, Size: 48},
					Op{Kind: Send, Comm: comm, Peer: peer, Tag: tag, Size: 48, Sync: tag > 0},
					Op{Kind: Send, Comm: comm, Peer: peer, Tag: 10 + tag, Size: 8},
					Op{Kind: Send, Comm: comm, Peer: peer, Tag: 10 + tag, Size: 8, Sync: tag > 0},
					Op{Kind: Recv, Comm: comm, Peer: peer, Tag: 10 + tag, Size: 16})
			}
		}
	}
	for _, n := range []int{0, 1, len(ops) - 3, len(ops) - 1} {
		ops = append(ops, Op{Kind: Cancel, Req: n})
	}
	for comm := range comms {
		if !cfg.NoProbe {
			ops = append(ops, Op{Kind: Extract, Comm: comm, Peer: peers[1], Tag: 1, Size: 50})
		}
		if !cfg.NoAnySource {
			ops = append(ops, Op{Kind: Recv, Comm: comm, Peer: peers[1], Tag: variants.AnyTag, Size: 50},
				Op{Kind: Recv, Comm: comm, Peer: int(variants.AnySource), Tag: 1, Size: 50})
		}
		for _, peer := range peers { // what is advertised when no wildcard is left
			for tag := range int32(2) {
				ops = append(ops, Op{Kind: Recv, Comm: comm, Peer: peer, Tag: tag, Size: 50})
			}
		}
	}
	return ops
}

// halfOf is every other send and receive of a program.
func halfOf(ops []Op) (half []Op) {
	for i := 0; i < len(ops); i += 2 {
		if ops[i].Kind == Send || ops[i].Kind == Recv {
			half = append(half, ops[i])
		}
	}
	return half
}
