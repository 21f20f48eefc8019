//go:build interleave

package shm

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// Every interleaving of short collectives (package interleave). `make test-interleave` runs these tests.

var lateStores = []interleave.Model{interleave.TSO, interleave.Weak}

// group are the areas of ranks that share memory, and the words that they sleep on.
type group struct {
	areas []*Area
	bells []bell
}

type bell struct {
	rung atomic.Uint32
	_    uint32
}

// world is what ranks do: each makes so many calls of an operation.
type world struct {
	op     coll.Collective
	ranks  int
	calls  int
	fenced bool
	asleep int // so many ranks sleep while they wait, the others look
	// What is called gets to the others as the data do, and takes as many steps. Where it is known before
	// only the rounds and the data are shared: there is one call then.
	known bool
	other coll.Collective // what rank 1 calls
	// A mistake: no rank waits until a slot is free.
	early bool
}

func (w world) open(m *interleave.Memory) *group {
	memory := mem.Bytes(make([]uint64, Fixed(w.ranks)/8+mem.CacheLine/8*depth*w.ranks))
	g := &group{bells: make([]bell, w.ranks)}
	for me := range w.ranks {
		a := Open(memory, w.ranks, me, w.ranks, me)
		a.Fenced, a.Split = w.fenced, 1<<20
		a.Ring = func(rank int) {
			interleave.U32(&g.bells[rank].rung).Add(1)
			interleave.FutexWake(&g.bells[rank].rung, 1)
		}
		if w.early {
			a.own.known = 1 << 40
		}
		g.areas = append(g.areas, a)
	}
	m.Share("header", g.areas[0].head)
	for me := range w.ranks {
		m.Share(fmt.Sprintf("waiting %d", me), &g.areas[0].line(me).waiting)
		m.Share(fmt.Sprintf("bell %d", me), &g.bells[me])
		for n := range min(uint64(w.calls), depth) {
			s, name := g.areas[0].slot(n, me), fmt.Sprintf("slot %d of %d", me, n)
			if !w.known {
				m.Share(name, s)
				continue
			}
			s.what.Publish(what(w.call(me, nil, make([]byte, 8)), Copied))
			s.length.Publish(8)
			m.Share(name+" round", &s.round)
			m.ShareBytes(name+" data", s.data[:8])
		}
	}
	return g
}

func (w world) call(me int, in, out []byte) *coll.Call {
	if in == nil {
		in = out
	}
	op := w.op
	if me == 1 && w.other != 0 {
		op = w.other
	}
	return &coll.Call{Op: op, Rank: me, Ranks: w.ranks, Send: in, Recv: out, Elem: 8}
}

// await waits as a rank does that has nothing else to do.
func (w world) await(g *group, words *Words, me int) bool {
	for {
		interleave.At(fmt.Sprint(g.areas[me].own.call, words.round, words.N))
		mark := interleave.U32(&g.bells[me].rung).Load()
		if words.There() {
			interleave.At(fmt.Sprint(g.areas[me].own.call, words.round, "come"))
			return true
		}
		if words.Vain() {
			return false
		}
		if me >= w.asleep {
			continue
		}
		if may := words.Sleep(); may {
			if !w.fenced {
				interleave.Barrier()
			}
			if !words.There() {
				interleave.FutexWait(&g.bells[me].rung, mark)
			}
		}
		words.Wake()
	}
}

// rank makes the calls, with other numbers each time, and looks at what comes.
func (w world) rank(g *group, me int) any {
	var o Call
	o.Await = func(words *Words) bool { return w.await(g, words, me) }
	o.Combine = func(in, inout []byte) {
		interleave.Read((*[8]byte)(in))
		binary.NativeEndian.PutUint64(inout, binary.NativeEndian.Uint64(in)+binary.NativeEndian.Uint64(inout))
	}
	for i := range w.calls {
		interleave.At(fmt.Sprint(i))
		in, out := make([]byte, 8), make([]byte, 8)
		mine, want := uint64(100*i+me+1), uint64(100*i+1)
		binary.NativeEndian.PutUint64(in, mine)
		if w.op == coll.Bcast && me == 0 {
			copy(out, in)
		}
		if w.op == coll.Allreduce {
			want = uint64(w.ranks*100*i + w.ranks*(w.ranks+1)/2)
		}
		o.Call = w.call(me, in, out)
		if err := o.Perform(g.areas[me]); err != nil {
			return err.Error()
		}
		interleave.Assert(w.op == coll.Barrier || binary.NativeEndian.Uint64(out) == want, "a result is wrong")
	}
	return "done"
}

func (w world) program() interleave.Program[*group] {
	p := interleave.Program[*group]{World: w.open, End: func(results []any) error {
		for r, result := range results {
			if result != "done" {
				return fmt.Errorf("rank %d: %v", r, result)
			}
		}
		return nil
	}}
	for me := range w.ranks {
		p.Ranks = append(p.Ranks, func(g *group) any { return w.rank(g, me) })
	}
	return p
}

func TestEveryCollective(t *testing.T) {
	for _, w := range []world{
		{op: coll.Barrier, ranks: 2, calls: 3},
		{op: coll.Allreduce, ranks: 2, calls: 2},
		{op: coll.Bcast, ranks: 3, calls: 2},
		{op: coll.Barrier, ranks: 3, calls: 1, known: true},
		{op: coll.Allreduce, ranks: 3, calls: 1, known: true},
	} {
		interleave.Holds(t, interleave.TSO, w.program())
		if w.op != coll.Allreduce || w.ranks == 2 {
			interleave.Holds(t, interleave.Weak, w.program())
		}
	}
	again := world{op: coll.Bcast, ranks: 2, calls: depth + 1} // whose last one uses a slot again
	interleave.Holds(t, interleave.TSO, again.program())
	again.early = true
	interleave.Finds(t, interleave.TSO, again.program(), nil)
	sums := world{op: coll.Allreduce, ranks: 2, calls: 1}.program()
	for _, model := range lateStores {
		interleave.Finds(t, model, sums, interleave.In("", "store", "slot 0 of 0.data[0]", interleave.Delay))
	}
	interleave.Finds(t, interleave.Weak, sums, interleave.In("shm.(*Area).publish", "store", "", interleave.Weaken))
}

func TestEveryCollectiveAsleep(t *testing.T) {
	for _, model := range lateStores {
		for _, w := range []world{
			{op: coll.Barrier, ranks: 2, calls: 1, asleep: 2},
			{op: coll.Bcast, ranks: 2, calls: 2, asleep: 2},
			{op: coll.Barrier, ranks: 2, calls: 1, asleep: 2, fenced: true},
		} {
			interleave.Holds(t, model, w.program())
			untold := interleave.In("", "futex wake", "", interleave.Drop)
			interleave.Finds(t, model, w.program(), untold)
			unordered := interleave.In("", "membarrier", "", interleave.Drop)
			if w.fenced {
				unordered = interleave.In("shm.(*Area).publish", "store", "", interleave.Weaken)
			}
			interleave.Finds(t, model, w.program(), unordered)
		}
		// Of those who publish last either may be the one that wakes.
		three := world{op: coll.Barrier, ranks: 3, calls: 1, asleep: 1, known: true}.program()
		interleave.Holds(t, model, three)
		unordered := interleave.In("shm.(*Area).wake", "update", "header.sleepers", interleave.Drop)
		interleave.Finds(t, model, three, unordered)
	}
}

// Calls that do not match fail at both ranks, whoever sleeps, though a third makes no call.
func TestEveryMismatch(t *testing.T) {
	for _, model := range lateStores {
		p := world{op: coll.Barrier, other: coll.Bcast, ranks: 3, calls: 1, asleep: 2}.program()
		p.Ranks = p.Ranks[:2]
		p.End = func(results []any) error {
			if results[0] == "done" || results[1] == "done" {
				return fmt.Errorf("one rank does not see it: %v", results)
			}
			return nil
		}
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, interleave.In("shm.(*Area).fail", "futex wake", "", interleave.Drop))
	}
}
