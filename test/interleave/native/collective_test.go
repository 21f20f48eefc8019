//go:build interleave && cgo

package native

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// world is what two ranks do: each makes so many calls of an operation in C, and goes on in Go where it would have to
// sleep.
type world struct {
	op     coll.Collective
	calls  int
	sleeps bool // at once; else it looks until it sees what it waits for
	fenced bool
	early  bool
}

func (w world) open(m *interleave.Memory) *group {
	looks := 1 << 30
	if w.sleeps {
		looks = 0
	}
	g := groupOf(m, 2, looks, min(w.calls, 4), w.fenced)
	if w.early {
		g.early()
	}
	return g
}

// await waits in Go for what a call in C has not seen.
func (w world) await(g *group, words *shm.Words, me, call int) bool {
	for {
		interleave.At(fmt.Sprint(call, words.N))
		mark := interleave.U32(g.bell(me)).Load()
		if words.There() {
			interleave.At(fmt.Sprint(call, "come"))
			return true
		}
		if words.Vain() {
			return false
		}
		if words.Sleep() {
			if !w.fenced {
				interleave.Barrier()
			}
			if !words.There() {
				interleave.FutexWait(g.bell(me), mark)
			}
		}
		words.Wake()
	}
}

// rank makes the calls, with other numbers each time, and looks at what comes.
func (w world) rank(g *group, me int) any {
	for i := range w.calls {
		interleave.At(fmt.Sprint(i))
		mine := []uint64{uint64(100*i + me + 1), uint64(100*i + me + 1)}
		c := &coll.Call{Op: w.op, Rank: me, Ranks: 2, Elem: 8, Send: mem.Bytes(mine), Recv: make([]byte, 8)}
		want := uint64(100*i + 1)
		switch w.op {
		case coll.Bcast:
			copy(c.Recv, c.Send[:8*(1-me)])
		case coll.Allreduce:
			want = uint64(200*i + 3)
		}
		if !g.call(c) {
			c.Send = c.Send[:8] // all but that of a Scatterv, whose root has not given it to C alone
			o := shm.Call{Call: c, Await: func(words *shm.Words) bool { return w.await(g, words, me, i) }}
			o.Combine = func(in, inout []byte) {
				interleave.Read((*[8]byte)(in))
				binary.NativeEndian.PutUint64(inout, binary.NativeEndian.Uint64(in)+binary.NativeEndian.Uint64(inout))
			}
			if err := o.Perform(g.areas[me]); err != nil {
				return err.Error()
			}
		}
		interleave.Assert(w.op == coll.Barrier || binary.NativeEndian.Uint64(c.Recv) == want, "a result is wrong")
	}
	return "done"
}

func (w world) program() interleave.Program[*group] {
	return interleave.Program[*group]{
		World: w.open,
		Ranks: []func(*group) any{
			func(g *group) any { return w.rank(g, 0) }, func(g *group) any { return w.rank(g, 1) },
		},
		End: func(results []any) error {
			if results[0] != "done" || results[1] != "done" {
				return fmt.Errorf("%v", results)
			}
			return nil
		},
	}
}

func TestEveryCollectiveInC(t *testing.T) {
	for _, model := range lateStores {
		for _, w := range []world{
			{op: coll.Barrier, calls: 2}, {op: coll.Bcast, calls: 1}, {op: coll.Scatterv, calls: 1},
			{op: coll.Allreduce, calls: 1},
		} {
			interleave.Holds(t, model, w.program())
			data := map[coll.Collective]int{coll.Bcast: 0, coll.Allreduce: 0, coll.Scatterv: 40}
			if at, ok := data[w.op]; ok {
				late := interleave.In("", "store", fmt.Sprintf("slot 0 of 0.data[%d]", at), interleave.Delay)
				interleave.Finds(t, model, w.program(), late)
			}
		}
	}
	sums := world{op: coll.Allreduce, calls: 1}.program()
	for _, kind := range []string{"store", "load"} {
		interleave.Finds(t, interleave.Weak, sums, interleave.In("", kind, "slot 0 of 0.round", interleave.Weaken))
	}
	again := world{op: coll.Bcast, calls: 5} // whose last one uses a slot again
	interleave.Holds(t, interleave.TSO, again.program())
	again.early = true
	interleave.Finds(t, interleave.TSO, again.program(), nil)
}

func TestEveryCollectiveInCAsleep(t *testing.T) {
	for _, model := range lateStores {
		for _, w := range []world{
			{op: coll.Barrier, calls: 1, sleeps: true}, {op: coll.Bcast, calls: 1, sleeps: true},
			{op: coll.Barrier, calls: 1, sleeps: true, fenced: true},
		} {
			interleave.Holds(t, model, w.program())
			unordered := interleave.In("", "membarrier", "", interleave.Drop)
			if w.fenced {
				unordered = interleave.In("", "fence", "", interleave.Drop)
			}
			interleave.Finds(t, model, w.program(), unordered)
			interleave.Finds(t, model, w.program(), interleave.In("", "futex wake", "", interleave.Drop))
		}
	}
}
