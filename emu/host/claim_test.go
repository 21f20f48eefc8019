package host

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A claim against a model: which end has taken each unit of the present use, and
// which are done. Ends of earlier uses go on trying, and an end may die or give up
// with units taken.
func TestAClaimSharesOutEveryUnitOnce(t *testing.T) {
	type end struct {
		gen   uint32
		units int
		back  bool
		held  []int // numbers of units of each portion taken and not finished
	}
	const nobody = -1
	rapid.Check(t, func(t *rapid.T) {
		var c claim
		c.Store(uint64(rapid.Uint32().Draw(t, "generation")) << claimGen)
		var ends []*end // the last two are of the present use
		var owner []int // by unit
		var done int
		broken, lasts := false, 0
		begin := func() {
			units := rapid.IntRange(1, claimUnits).Draw(t, "units")
			gen := c.begin()
			ends = append(ends, &end{gen: gen, units: units}, &end{gen: gen, units: units, back: true})
			owner, done, broken, lasts = make([]int, units), 0, false, 0
			for i := range owner {
				owner[i] = nobody
			}
		}
		begin()
		pick := func() (e *end, i int) {
			i = rapid.IntRange(0, len(ends)-1).Draw(t, "end")
			return ends[i], i
		}
		present := func(i int) bool { return i >= len(ends)-2 }
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				e, i := pick()
				first, n := c.take(e.gen, e.units, rapid.IntRange(1, claimUnits).Draw(t, "want"), e.back)
				if !present(i) || broken {
					require.Zero(t, n, "a portion of what is over")
					return
				}
				for u := first; u < first+n; u++ {
					require.Equal(t, nobody, owner[u], "unit %d is given twice", u)
					owner[u] = i
				}
				if n > 0 {
					e.held = append(e.held, n)
				}
			},
			"finish": func(t *rapid.T) {
				e, i := pick()
				if len(e.held) == 0 {
					return
				}
				n := e.held[0]
				e.held = e.held[1:]
				last := c.finish(e.gen, e.units, n)
				if present(i) && !broken {
					done += n
					require.Equal(t, done == e.units, last)
				}
				if last {
					require.True(t, present(i) && !broken)
					lasts++
				}
			},
			"give up": func(t *rapid.T) {
				e, i := pick()
				if len(e.held) == 0 {
					return
				}
				e.held = nil
				c.giveUp(e.gen)
				broken = broken || present(i)
			},
			"die": func(t *rapid.T) { // what it holds is never finished
				e, _ := pick()
				e.held = nil
			},
			"next use": func(*rapid.T) { begin() },
			"": func(t *rapid.T) {
				now := ends[len(ends)-1]
				s, left := c.look(now.gen, now.units), 0
				for _, o := range owner {
					if o == nobody {
						left++
					}
				}
				require.Equal(t, claimState{broken: broken, left: left, done: done}, s)
				require.LessOrEqual(t, lasts, 1)
				if old := ends[0]; len(ends) > 2 {
					require.True(t, c.look(old.gen, old.units).over)
				}
			},
		})
	})
}

// Two ends at the same time take every unit once, and one of them is the last.
func TestAClaimBetweenTwoThreads(t *testing.T) {
	var c claim
	for use := range 2000 {
		units := 1 + use%claimUnits
		gen := c.begin()
		var copied [2][claimUnits]int
		var last [2]bool
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				for {
					first, n := c.take(gen, units, 1+use%3, i == 1)
					if n == 0 {
						return
					}
					for u := first; u < first+n; u++ {
						copied[i][u]++
					}
					last[i] = c.finish(gen, units, n) || last[i]
				}
			})
		}
		wg.Wait()
		for u := range units {
			require.Equal(t, 1, copied[0][u]+copied[1][u])
		}
		require.NotEqual(t, last[0], last[1])
	}
}

func TestUnitsCoverACopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(DefaultLimit+1, 1<<21), rapid.IntRange(DefaultLimit+1, 1<<40)).Draw(t, "size")
		unit, units := unitOf(n)
		require.LessOrEqual(t, units, claimUnits)
		require.GreaterOrEqual(t, unit*units, n)
		require.Less(t, unit*(units-1), n)
		require.Positive(t, want(unit, units))
		require.LessOrEqual(t, want(unit, units), (units+1)/2)
	})
}
