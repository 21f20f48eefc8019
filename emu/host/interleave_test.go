//go:build interleave

package host

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// Every interleaving of what ranks do in shared memory (package interleave). `make
// test-interleave` runs these tests, with the overlay that they need.

var lateStores = []interleave.Model{interleave.TSO, interleave.Weak}

// in is a mistake with accesses of a function, of a kind, to words with a name.
func in(function, kind, word string, m interleave.Mistake) func(interleave.Access) interleave.Mistake {
	matches := func(part, all string) bool { return part == "" || all == part }
	return func(a interleave.Access) interleave.Mistake {
		if matches(function, a.Function) && matches(kind, a.Kind) && matches(word, a.Word) {
			return m
		}
		return interleave.No
	}
}

// copies is a copy of some units that two ends share out.
type copies struct {
	claim claim
	gen   uint32
	units int
	src   [4]uint64
	dst   [4]uint64
}

func newCopies(m *interleave.Memory, units int) *copies {
	c := &copies{units: units}
	c.claim.begin()
	c.gen = c.claim.begin()
	for i := range c.src {
		c.src[i] = uint64(i + 1)
	}
	m.Share("copy", c)
	return c
}

// end takes units and copies them, until the copy is complete; then it looks at what has come.
func (c *copies) end(back bool, want int) any {
	last := false
	for {
		first, n := c.claim.take(c.gen, c.units, want, back)
		if n == 0 {
			break
		}
		for u := first; u < first+n; u++ {
			interleave.Assert(*interleave.Read(&c.dst[u]) == 0, "a unit is copied twice")
		}
		interleave.Copy(c.dst[first:first+n], c.src[first:first+n])
		last = c.claim.finish(c.gen, c.units, n) || last
		interleave.At(fmt.Sprint(last))
	}
	for c.claim.look(c.gen, c.units).done < c.units {
		interleave.Yield()
	}
	for u := range c.units {
		interleave.Assert(*interleave.Read(&c.dst[u]) == uint64(u+1), "a unit has not come")
	}
	return last
}

func shareOut(units int, ends ...func(*copies) any) interleave.Program[*copies] {
	world := func(m *interleave.Memory) *copies { return newCopies(m, units) }
	return interleave.Program[*copies]{World: world, Ranks: ends, End: func(results []any) error {
		if results[0] == results[1] {
			return errors.New("not one end is the last")
		}
		return nil
	}}
}

func TestEveryClaim(t *testing.T) {
	front, back := func(c *copies) any { return c.end(false, 1) }, func(c *copies) any { return c.end(true, 2) }
	late := func(c *copies) any { // still has the use before
		_, n := c.claim.take(c.gen-1, c.units, 1, true)
		interleave.Assert(n == 0 && !c.claim.finish(c.gen-1, c.units, 1), "a use that is over gives something")
		c.claim.giveUp(c.gen - 1)
		return "late"
	}
	for _, model := range lateStores {
		interleave.Holds(t, model, shareOut(3, front, back))
		interleave.Holds(t, model, shareOut(2, front, back, late))
		for _, function := range []string{"host.(*claim).take", "host.(*claim).finish"} {
			interleave.Finds(t, model, shareOut(3, front, back), in(function, "update", "", interleave.Split))
		}
	}
	unordered := in("host.(*claim).finish", "update", "", interleave.Weaken)
	interleave.Finds(t, interleave.Weak, shareOut(3, front, back), unordered)
}

// An end that cannot copy what it has taken says so, and the other one knows that it is
// not complete. An end that dies has the other one wait, for the news of the death.
func TestEveryClaimThatIsGivenUp(t *testing.T) {
	type outcome struct{ complete, broken bool }
	end := func(back, fails bool) func(*copies) any {
		return func(c *copies) any {
			for {
				_, n := c.claim.take(c.gen, c.units, 1, back)
				switch {
				case n == 0:
					st := c.claim.look(c.gen, c.units)
					for !st.broken && st.done < c.units {
						st = c.claim.look(c.gen, c.units)
					}
					return outcome{st.done == c.units, st.broken}
				case fails:
					c.claim.giveUp(c.gen)
				default:
					c.claim.finish(c.gen, c.units, n)
				}
			}
		}
	}
	p := shareOut(3, end(false, false), end(true, true))
	p.End = func(results []any) error {
		if a, b := results[0].(outcome), results[1].(outcome); a.complete != b.complete || a.complete == a.broken {
			return fmt.Errorf("one end takes it for complete: %v", results)
		}
		return nil
	}
	for _, model := range lateStores {
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, in("host.(*claim).giveUp", "update", "", interleave.Drop))
	}
}

// ranksOf makes a job of n ranks with small rings, those of some pairs.
func ranksOf(m *interleave.Memory, n int, cells, bulk uint64, pairs ...[2]int) []*Fabric {
	j := &Job{ranks: n, geo: geometryOf(cells, bulk)}
	var area0 int
	j.controlStep, j.ring0, j.ringStep, area0 = layout(n, j.geo)
	b := mem.Bytes(make([]uint64, area0/8))
	j.mapped, j.head, j.control0 = b, mem.Struct[header](b, 0), unsafe.Pointer(&b[headerSize])
	m.Share("header", j.head)
	fabrics := make([]*Fabric, n)
	for i := range fabrics {
		m.Share(fmt.Sprintf("control %d", i), j.control(i))
		at := headerSize + i*j.controlStep
		m.ShareBytes(fmt.Sprintf("opened %d", i), b[at+controlSize:at+j.controlStep])
		fabrics[i] = NewFabric(&Member{job: j, me: i, self: j.control(i)}, int(bulk)/4)
		fabrics[i].fenced = false
	}
	for _, p := range pairs {
		r := j.ringOf(p[0], p[1])
		m.Share(fmt.Sprintf("ring %d-%d", p[0], p[1]), r.head)
		for i := range cells {
			m.Share(fmt.Sprintf("ring %d-%d cell %d", p[0], p[1], i), r.cell(&j.geo, i))
		}
		m.ShareBytes(fmt.Sprintf("ring %d-%d bulk", p[0], p[1]), r.bulkBytes(&j.geo, 0, int(bulk)))
	}
	return fabrics
}

// sends sends messages of so many words, and sleeps while there is no room.
func (f *Fabric) sends(to, messages, words int) any {
	for i := range messages {
		interleave.At(fmt.Sprint(i))
		payload := make([]uint64, words)
		for k := range payload {
			payload[k] = word(f.me, i, k)
		}
		for {
			mark := f.Mark()
			if f.TrySend(to, packetizer.Header{uint64(f.me) << 32, uint64(i), 0}, mem.Bytes(payload)) {
				break
			}
			f.Sleep(mark)
		}
	}
	return "sent"
}

func word(from, message, k int) uint64 { return uint64(1 + from<<16 + message<<8 + k) }

// receives takes messages, and sleeps while there are none.
func (f *Fabric) receives(messages, words int) any {
	from := make([]int, f.Size()) // messages of each
	for n := 0; n < messages; {
		interleave.At(fmt.Sprint(from, f.openedSeen, len(f.in), f.cursor))
		mark := f.Mark()
		h, payload, ok := f.Next()
		if !ok {
			f.Sleep(mark)
			continue
		}
		r := int(h[0] >> 32)
		interleave.Assert(len(payload) == 8*words && h[1] == uint64(from[r]), "a message is not in its place")
		w := mem.Slice[uint64](payload)
		for k := range w {
			interleave.Assert(*interleave.Read(&w[k]) == word(r, from[r], k), "a message has not come whole")
		}
		from[r]++
		f.Release()
		n++
	}
	return "received"
}

// oneWay is a program in which rank 0 sends to rank 1.
func oneWay(cells, bulk uint64, messages, words int, fenced bool) interleave.Program[[]*Fabric] {
	return interleave.Program[[]*Fabric]{
		World: func(m *interleave.Memory) []*Fabric {
			fabrics := ranksOf(m, 2, cells, bulk, [2]int{0, 1}, [2]int{1, 0})
			for _, f := range fabrics {
				f.fenced = fenced
			}
			return fabrics
		},
		Ranks: []func([]*Fabric) any{
			func(f []*Fabric) any { return f[0].sends(1, messages, words) },
			func(f []*Fabric) any { return f[1].receives(messages, words) },
		},
	}
}

// A rank sleeps when there is nothing to do, and whoever sends wakes it.
func TestEverySleep(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		p := oneWay(8, 4096, 2, 1, fenced)
		for _, model := range lateStores {
			interleave.Holds(t, model, p)
			interleave.Finds(t, model, p, in("", "futex wake", "", interleave.Drop))
			if !fenced {
				interleave.Finds(t, model, p, in("", "membarrier", "", interleave.Drop))
			} else {
				interleave.Finds(t, model, p, in("host.ring.publish", "store", "", interleave.Weaken))
			}
		}
	}
}
