package interleave

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type words struct{ x, y, z uint64 }

func shared(m *Memory) *words {
	w := new(words)
	m.Share("", w)
	return w
}

// read and write are accesses of an order.
func read(p *uint64, o Order) uint64     { return P(p).With(o).Load() }
func write(p *uint64, v uint64, o Order) { P(p).With(o).Store(v) }

// What two ranks may see of each other, by the model of memory.
func TestLitmus(t *testing.T) {
	type body = func(*words) any
	storeBuffering := func(between func()) []func(*words) any {
		return []body{
			func(w *words) any { write(&w.x, 1, Relaxed); between(); return read(&w.y, Acquire) },
			func(w *words) any { write(&w.y, 1, Relaxed); between(); return read(&w.x, Acquire) },
		}
	}
	messagePassing := func(publish, look Order) []func(*words) any {
		return []body{
			func(w *words) any { w.x = 1; Wrote(&w.x); write(&w.y, 1, publish); return "" },
			func(w *words) any { seen := read(&w.y, look); return fmt.Sprint(seen, *Read(&w.x)) },
		}
	}
	all := []Model{SC, TSO, Weak}
	for _, c := range []struct {
		name    string
		ranks   []body
		outcome string
		allowed []Model
	}{
		{"store buffering", storeBuffering(func() {}), "0 0", []Model{TSO, Weak}},
		{"store buffering, fences", storeBuffering(func() { Fence(SeqCst) }), "0 0", nil},
		{"store buffering, weaker fences", storeBuffering(func() { Fence(AcqRel) }), "0 0", []Model{TSO, Weak}},
		{"store buffering, one membarrier", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); Barrier(); return read(&w.y, Relaxed) },
			func(w *words) any { write(&w.y, 1, Relaxed); return read(&w.x, Acquire) },
		}, "0 0", nil},
		{"store buffering, one fence", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); Fence(SeqCst); return read(&w.y, Relaxed) },
			func(w *words) any { write(&w.y, 1, Relaxed); return read(&w.x, Acquire) },
		}, "0 0", []Model{TSO, Weak}},
		{"store buffering, sync/atomic", []body{
			func(w *words) any { P(&w.x).Store(1); return P(&w.y).Load() },
			func(w *words) any { P(&w.y).Store(1); return P(&w.x).Load() },
		}, "0 0", nil},
		{"store buffering, updates", []body{
			func(w *words) any { P(&w.x).Add(1); return P(&w.y).Add(0) },
			func(w *words) any { P(&w.y).Add(1); return P(&w.x).Add(0) },
		}, "0 0", nil},
		{"store buffering, a membarrier between stores", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); Barrier(); return read(&w.y, Relaxed) },
			func(w *words) any {
				write(&w.z, 1, Relaxed)
				write(&w.z, 2, Relaxed)
				write(&w.y, 1, Relaxed)
				return read(&w.x, Acquire)
			},
		}, "0 0", nil},
		{"message passing, ordered", messagePassing(Release, Acquire), " 1 0", nil},
		{"message passing", messagePassing(Release, Acquire), " 1 1", all},
		{"message passing, published before", messagePassing(Relaxed, Acquire), " 1 0", []Model{Weak}},
		{"message passing, read before", messagePassing(Release, Relaxed), " 1 0", []Model{Weak}},
		{"message passing, fences", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); Fence(Release); write(&w.y, 1, Relaxed); return "" },
			func(w *words) any {
				seen := read(&w.y, Relaxed)
				Fence(Acquire)
				return fmt.Sprint(seen, read(&w.x, Relaxed))
			},
		}, " 1 0", nil},
		{"load, then an acquire that overtakes it", []body{
			func(w *words) any { write(&w.y, 1, Relaxed); Fence(SeqCst); write(&w.x, 1, Relaxed); return "" },
			func(w *words) any { x := read(&w.x, Relaxed); return fmt.Sprint(x, read(&w.y, Acquire)) },
		}, " 1 0", []Model{Weak}},
		{"one word is coherent", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); write(&w.x, 2, Relaxed); return "" },
			func(w *words) any { x := read(&w.x, Relaxed); return fmt.Sprint(x, read(&w.x, Relaxed)) },
		}, " 2 1", nil},
		{"own stores are seen", []body{
			func(w *words) any { write(&w.x, 1, Relaxed); return read(&w.x, Relaxed) },
			func(w *words) any { return read(&w.x, Relaxed) },
		}, "0 0", nil},
		{"load buffering, which is not modelled", []body{
			func(w *words) any { x := read(&w.x, Relaxed); write(&w.y, 1, Relaxed); return x },
			func(w *words) any { y := read(&w.y, Relaxed); write(&w.x, 1, Relaxed); return y },
		}, "1 1", nil},
		{"two stores, one update lost", []body{
			func(w *words) any { x := P(&w.x).Load(); P(&w.x).Store(x + 1); return "" },
			func(w *words) any { P(&w.x).Add(2); return P(&w.x).Load() },
		}, " 1", all},
		{"what all see of two writers", []body{ // multi-copy atomic
			func(w *words) any { write(&w.x, 1, Release); return "" },
			func(w *words) any { x := read(&w.x, Acquire); write(&w.y, x, Release); return "" },
			func(w *words) any { y := read(&w.y, Acquire); return fmt.Sprint(y, read(&w.x, Acquire)) },
		}, "  1 0", nil},
	} {
		for _, model := range all {
			r := Holds(t, model, Program[*words]{World: shared, Ranks: c.ranks})
			_, found := r.Outcomes[c.outcome]
			require.Equal(t, slices.Contains(c.allowed, model), found, "%s, %v: %v", c.name, model, r.Outcomes)
		}
	}
}

// A half of a word is stored without the other, and both are read at once.
func TestHalvesOfAWord(t *testing.T) {
	type halves struct{ a, b uint32 }
	for _, model := range []Model{SC, TSO, Weak} {
		r := Holds(t, model, Program[*halves]{
			World: func(m *Memory) *halves { h := new(halves); m.Share("", h); return h },
			Ranks: []func(*halves) any{
				func(h *halves) any { h.a = 1; Wrote(&h.a); return *Read(h) },
				func(h *halves) any { h.b = 1; Wrote(&h.b); return *Read(h) },
			},
		})
		require.Contains(t, r.Outcomes, "{1 1} {1 1}")
		require.Equal(t, model != SC, r.Outcomes["{1 0} {0 1}"] > 0)
	}
}

// A store to one half tells nothing of when the other has become what it is.
func TestAnAcquireOfAHalf(t *testing.T) {
	type halves struct {
		a, b uint32
		data uint64
	}
	Holds(t, Weak, Program[*halves]{
		World: func(m *Memory) *halves { h := new(halves); m.Share("", h); return h },
		Ranks: []func(*halves) any{
			func(h *halves) any {
				P(&h.a).With(Relaxed).Store(1)
				if P(&h.b).With(Relaxed).Load() == 1 {
					Fence(Acquire)
					Assert(*Read(&h.data) == 1, "the data are not there")
				}
				return P(&h.a).Load()
			},
			func(h *halves) any {
				h.data = 1
				Wrote(&h.data)
				P(&h.b).Release(1)
				return P(&h.a).Load()
			},
		},
	})
}

// sleeper waits for a word by a futex, and waker wakes it.
func sleeper(w *flagged) any {
	for w.ready.load() == 0 {
		FutexWait(&w.bell, 0)
	}
	return ""
}

type flagged struct {
	ready word32
	bell  atomic.Uint32
}

type word32 struct{ v uint32 }

func (w *word32) load() uint32   { return P(&w.v).Load() }
func (w *word32) store(v uint32) { P(&w.v).Store(v) }

func flags(m *Memory) *flagged {
	w := new(flagged)
	m.Share("", w)
	return w
}

func TestALostWakeUpIsFound(t *testing.T) {
	program := func(waker func(*flagged) any) Program[*flagged] {
		return Program[*flagged]{World: flags, Ranks: []func(*flagged) any{sleeper, waker}}
	}
	right := program(func(w *flagged) any {
		w.ready.store(1)
		U32(&w.bell).Store(1)
		FutexWake(&w.bell, 1)
		return ""
	})
	Holds(t, TSO, right)
	Holds(t, Weak, right)
	lost := program(func(w *flagged) any { w.ready.store(1); FutexWake(&w.bell, 1); return "" })
	r := Explore(TSO, lost)
	require.Contains(t, r.Violation, "nobody comes to an end")
	require.Contains(t, r.Violation, "rank 0 sleeps in interleave.sleeper")
	Finds(t, TSO, right, func(a Access) Mistake {
		if a.Kind == "futex wake" {
			return Drop
		}
		return No
	})
}

// Two ranks that each wait for what the other does next, spinning.
func TestALivelockIsFound(t *testing.T) {
	wait := func(mine, theirs func(*words) *uint64) func(*words) any {
		return func(w *words) any {
			for P(theirs(w)).Load() == 0 {
				Yield()
			}
			P(mine(w)).Store(1)
			return ""
		}
	}
	x, y := func(w *words) *uint64 { return &w.x }, func(w *words) *uint64 { return &w.y }
	r := Explore(SC, Program[*words]{World: shared, Ranks: []func(*words) any{wait(x, y), wait(y, x)}})
	require.Contains(t, r.Violation, "nobody comes to an end")
}

// Mistakes with single accesses, made for the tests of other packages.
func TestMistakes(t *testing.T) {
	count := Program[*words]{World: shared, Ranks: []func(*words) any{
		func(w *words) any { return P(&w.x).Add(1) },
		func(w *words) any { return P(&w.x).Add(1) },
	}, End: func(results []any) error {
		if results[0] == results[1] {
			return fmt.Errorf("both have counted to %v", results[0])
		}
		return nil
	}}
	Holds(t, Weak, count)
	Finds(t, SC, count, func(Access) Mistake { return Split })
	pass := Program[*words]{World: shared, Ranks: []func(*words) any{
		func(w *words) any { w.x = 1; Wrote(&w.x); P(&w.y).Release(1); return "" },
		func(w *words) any {
			for P(&w.y).Load() == 0 {
				Yield()
			}
			Assert(*Read(&w.x) == 1, "the data are not there")
			return ""
		},
	}}
	Holds(t, Weak, pass)
	Finds(t, Weak, pass, func(a Access) Mistake {
		if a.Word == ".y" && a.Kind == "store" {
			return Weaken
		}
		return No
	})
	r := Finds(t, TSO, pass, func(a Access) Mistake {
		if a.Word == ".x" && a.Kind == "store" {
			return Delay
		}
		return No
	})
	require.Contains(t, r.Violation, "the data are not there")
}

// A rank that dies where it likes leaves its peer waiting.
func TestADeathIsTried(t *testing.T) {
	p := Program[*words]{World: shared, MayDie: []int{0}, Ranks: []func(*words) any{
		func(w *words) any { P(&w.x).Store(1); return "" },
		func(w *words) any {
			for P(&w.x).Load() == 0 {
				Yield()
			}
			return ""
		},
	}}
	require.Contains(t, Explore(TSO, p).Violation, "nobody comes to an end")
}

// Histories that lead to the same are one.
func TestAt(t *testing.T) {
	count := func(at func(int)) *Result {
		return Holds(t, SC, Program[*words]{World: shared, Ranks: []func(*words) any{
			func(w *words) any {
				for i := range 5 {
					P(&w.x).Store(uint64(i))
				}
				P(&w.z).Load()
				return ""
			},
			func(w *words) any {
				for i := range 5 {
					w.y = P(&w.x).Load()
					P(&w.z).Add(1)
					at(i)
				}
				return ""
			},
		}})
	}
	require.Less(t, count(func(i int) { At(fmt.Sprint(i)) }).States, count(func(int) {}).States)
}
