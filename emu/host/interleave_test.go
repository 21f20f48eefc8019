//go:build interleave

package host

import (
	"errors"
	"fmt"
	"testing"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// Every interleaving of what ranks do in shared memory (package interleave). `make
// test-interleave` runs these tests, with the overlay that they need.

var lateStores = []interleave.Model{interleave.TSO, interleave.Weak}

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
			split := interleave.In(function, "update", "", interleave.Split)
			interleave.Finds(t, model, shareOut(3, front, back), split)
		}
	}
	unordered := interleave.In("host.(*claim).finish", "update", "", interleave.Weaken)
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
		interleave.Finds(t, model, p, interleave.In("host.(*claim).giveUp", "update", "", interleave.Drop))
	}
}

// idle is what a rank does when there is nothing to do.
type idle func(f *Fabric, mark uint32)

func spins(*Fabric, uint32)         { interleave.Yield() }
func sleeps(f *Fabric, mark uint32) { f.Sleep(mark) }

// sends sends messages of so many words.
func (f *Fabric) sends(to, messages, words int, idle idle) any {
	for i := range messages {
		payload := make([]uint64, words)
		for k := range payload {
			payload[k] = word(f.me, i, k)
		}
		for {
			interleave.At(fmt.Sprint(i))
			mark := f.Mark()
			if f.TrySend(to, packetizer.Header{uint64(f.me) << 32}, mem.Bytes(payload)) {
				break
			}
			idle(f, mark)
		}
	}
	return "sent"
}

func word(from, message, k int) uint64 { return uint64(1 + from<<16 + message<<8 + k) }

// receives takes messages, and looks at the first and the last word of each.
func (f *Fabric) receives(messages, words int, idle idle) any {
	from := make([]int, f.Size()) // messages of each
	for n := 0; n < messages; {
		interleave.At(fmt.Sprint(from, f.openedSeen, len(f.in), f.cursor))
		mark := f.Mark()
		h, payload, ok := f.Next()
		if !ok {
			idle(f, mark)
			continue
		}
		r := int(h[0] >> 32)
		interleave.Assert(len(payload) == 8*words, "a message is of another size")
		w := mem.Slice[uint64](payload)
		for _, k := range []int{0, words - 1} {
			interleave.Assert(*interleave.Read(&w[k]) == word(r, from[r], k), "a message has not come whole")
		}
		from[r]++
		f.Release()
		n++
	}
	return "received"
}

// oneWay is a program in which rank 0 sends to rank 1.
func oneWay(cells, bulk uint64, messages, words int, fenced bool, idle idle) interleave.Program[[]*Fabric] {
	return interleave.Program[[]*Fabric]{
		World: func(m *interleave.Memory) []*Fabric {
			fabrics := Interleaved(m, 2, cells, bulk, false, [2]int{0, 1}, [2]int{1, 0})
			for _, f := range fabrics {
				f.SendFenced(fenced)
			}
			return fabrics
		},
		Ranks: []func([]*Fabric) any{
			func(f []*Fabric) any { return f[0].sends(1, messages, words, idle) },
			func(f []*Fabric) any { return f[1].receives(messages, words, idle) },
		},
	}
}

// A rank sleeps when there is nothing to do, and whoever sends wakes it.
func TestEverySleep(t *testing.T) {
	for _, fenced := range []bool{false, true} {
		p := oneWay(8, 4096, 2, 1, fenced, sleeps)
		for _, model := range lateStores {
			interleave.Holds(t, model, p)
			interleave.Finds(t, model, p, interleave.In("", "futex wake", "", interleave.Drop))
			if !fenced {
				interleave.Finds(t, model, p, interleave.In("", "membarrier", "", interleave.Drop))
			} else {
				interleave.Finds(t, model, p, interleave.In("host.ring.publish", "store", "", interleave.Weaken))
			}
		}
	}
}

// Of two senders either may be the one that wakes the receiver.
func TestEverySleepOfThree(t *testing.T) {
	p := interleave.Program[[]*Fabric]{
		World: func(m *interleave.Memory) []*Fabric {
			f := Interleaved(m, 3, 8, 4096, false, [2]int{0, 2}, [2]int{1, 2})
			f[0].Opened(2)
			f[1].Opened(2)
			return f
		},
		Ranks: []func([]*Fabric) any{
			func(f []*Fabric) any { return f[0].sends(2, 1, 1, sleeps) },
			func(f []*Fabric) any { return f[1].sends(2, 1, 1, sleeps) },
			func(f []*Fabric) any { return f[2].receives(2, 1, sleeps) },
		},
	}
	for _, model := range lateStores {
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, interleave.In("", "membarrier", "", interleave.Drop))
	}
}

// The background makes progress while the application computes, and sleeps while there is nothing to do.
func TestEverySleepInTheBackground(t *testing.T) {
	p := oneWay(8, 4096, 2, 1, false, func(f *Fabric, _ uint32) {
		mark := f.MarkBackground()
		if !f.ArmBackground() {
			f.WaitBackground(mark)
		}
	})
	for _, model := range lateStores {
		interleave.Holds(t, model, p)
		interleave.Finds(t, model, p, interleave.In("", "membarrier", "", interleave.Drop))
		untold := interleave.In("host.(*Job).wake", "update", "control 1.doorbell.background", interleave.Drop)
		interleave.Finds(t, model, p, untold)
	}
}

// A ring whose cells, or whose bulk space, are used again and again by a sender that runs out, and waits for room
// awake or asleep.
func TestEveryRing(t *testing.T) {
	inCells, inBulk := oneWay(2, 1024, 4, 1, false, spins), oneWay(8, 1024, 4, 33, false, spins)
	asleep := oneWay(2, 1024, 3, 1, false, sleeps)
	for _, model := range lateStores {
		for _, p := range []interleave.Program[[]*Fabric]{inCells, inBulk, asleep} {
			interleave.Holds(t, model, p)
		}
		early := inCells
		early.Ranks = []func([]*Fabric) any{inCells.Ranks[0], func(f []*Fabric) any { return f[1].releasesEarly(4) }}
		interleave.Finds(t, model, early, nil)
		interleave.Finds(t, model, inCells, interleave.In("", "store", "ring 0-1 cell 0 payload+0", interleave.Delay))
		interleave.Finds(t, model, asleep, interleave.In("", "store", "ring 0-1.starved", interleave.Drop))
		interleave.Finds(t, model, asleep, interleave.In("", "store", "ring 0-1.released", interleave.Weaken))
	}
	interleave.Finds(t, interleave.Weak, inCells, interleave.In("host.ring.publish", "store", "", interleave.Weaken))
}

// releasesEarly takes messages as nobody may: it looks at them when it has given their room back.
func (f *Fabric) releasesEarly(messages int) any {
	for n := 0; n < messages; {
		interleave.At(fmt.Sprint(n, f.openedSeen, len(f.in), f.cursor))
		if _, payload, ok := f.Next(); ok {
			f.Release()
			first := *interleave.Read(&mem.Slice[uint64](payload)[0])
			interleave.Assert(first == word(0, n, 0), "a message is overwritten")
			n++
		}
	}
	return "received"
}
