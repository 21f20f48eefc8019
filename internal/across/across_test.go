package across

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// play passes blocks of n bytes, of which each form takes so many ticks at both ends, and counts the forms of the last half.
func play(g *Gauge, blocks, n int, f Forms, ticks func(Form) uint64) (used [forms]int) {
	for i := range blocks {
		w := g.Way(n, f)
		if w.Timed {
			took := ticks(w.Form)
			g.Note(Tell(w.Form, n, took/3), took-took/3, f)
		}
		if i >= blocks/2 {
			used[w.Form]++
		}
	}
	return used
}

func constant(of [forms]uint64) func(Form) uint64 { return func(f Form) uint64 { return of[f] } }

// The form that takes least is taken, whichever that is, but for a try now and then; and when another takes least by now, that is.
func TestTheSoonestForm(t *testing.T) {
	const n, blocks = 8 << 10, 8000
	for best := range forms {
		var g Gauge
		for _, soonest := range []Form{best, (best + 1) % forms, (best + 2) % forms} {
			all := [forms]uint64{5000, 5000, 5000, 5000}
			all[soonest] = 3000
			used := play(&g, blocks, n, OrLent|1<<Around, constant(all))
			require.Greater(t, used[soonest], blocks/2*98/100, "%d", soonest)
			require.Less(t, used[soonest], blocks/2, "others are tried")
		}
	}
}

// Where the last blocks were hot the lines are in the caches, and where they were not it is as if they were cold: what
// counts is what a block takes among others of its form.
func TestAHotBlockAmongOthers(t *testing.T) {
	for hot, first := range map[uint64]uint64{6000: 1600, 800: 1900} {
		var g Gauge
		hots := 0
		used := [forms]int{}
		for i := range 20_000 {
			w := g.Way(16<<10, Roomy)
			took := map[Form]uint64{Cold: 2000, Around: 4000}[w.Form]
			if w.Form != Hot {
				hots = 0
			} else if hots++; hots < 3 {
				took = first
			} else {
				took = hot
			}
			if w.Timed {
				g.Note(Tell(w.Form, 16<<10, took/2), took/2, Roomy)
			}
			if i >= 10_000 {
				used[w.Form]++
			}
		}
		require.Greater(t, used[map[bool]Form{true: Cold, false: Hot}[hot > 2000]], 9600, "hot: %d", hot)
	}
}

// A belt that has not been in use is in no cache: only when it has been once around cold blocks show what they are worth.
func TestABeltThatWasNotInUse(t *testing.T) {
	for _, n := range []int{64 << 10, 200_000, 1 << 20} {
		var g Gauge
		cold := 0
		used := [forms]int{}
		for i := range 1000 {
			w := g.Way(n, OrLent)
			took := map[Form]uint64{Hot: 5000, Around: 5000, Lent: 3500}[w.Form]
			if w.Form == Cold {
				if took = 6000; cold >= Belt {
					took = 2200
				}
				cold += n
			} else if w.Form == Hot {
				cold = 0
			}
			if took *= uint64(n >> 14); w.Timed {
				g.Note(Tell(w.Form, n, took/2), took/2, OrLent)
			}
			if i >= 500 {
				used[w.Form]++
			}
		}
		require.Greater(t, used[Cold], 490, "%d bytes", n)
	}
}

// Where a belt does not leave the cache of who reads, it is not gone around for each length, and seldom at all; but it is.
func TestHopeless(t *testing.T) {
	var g Gauge
	ticks := constant([forms]uint64{Hot: 20000, Cold: 20000, Around: 5000})
	f := Roomy | 1<<Around
	play(&g, 2000, 8<<10, f, ticks)
	for n := 16 << 10; n <= 1<<20; n *= 2 {
		used := play(&g, 2*(Belt/n+row), n, f, ticks)
		require.Zero(t, used[Cold], "%d bytes", n)
	}
	used := play(&g, 100_000, 16<<10, f, ticks)
	require.Less(t, used[Cold], 50_000*2/100)
	require.NotZero(t, used[Cold])
	used = play(&g, 100_000, 16<<10, f, constant([forms]uint64{Hot: 20000, Cold: 2000, Around: 5000}))
	require.Greater(t, used[Cold], 49_000, "by now it does")
}

// Interruptions, which make one block in ten take a hundred times as long, change nothing.
func TestInterruptions(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 20 {
		var g Gauge
		used := play(&g, 20_000, 4000, Roomy|1<<Around, func(f Form) uint64 {
			took := [forms]uint64{Hot: 3000, Cold: 2000, Around: 4000}[f]
			if random.Intn(10) == 0 {
				took *= 100
			}
			return took
		})
		require.Greater(t, used[Cold], 9000)
	}
}

// What is nearly as soon is not worth a change.
func TestNearlyAsSoon(t *testing.T) {
	var g Gauge
	play(&g, 2000, 4000, Roomy, constant([forms]uint64{Hot: 1000, Cold: 2000, Around: 2000}))
	used := play(&g, 8000, 4000, Roomy, constant([forms]uint64{Hot: 1000, Cold: 900, Around: 2000}))
	require.Greater(t, used[Hot], 3900)
}

// Short lengths have a form each, long ones one together, and as long as that is not known the one of the nearest.
func TestClasses(t *testing.T) {
	var g Gauge
	f := Roomy | 1<<Around
	play(&g, 1000, 16<<10, f, constant([forms]uint64{Hot: 9000, Cold: 2000, Around: 3000}))
	require.Equal(t, Way{Form: Cold}, g.Way(2048, f))
	play(&g, 1000, 2048, f, constant([forms]uint64{Hot: 100, Cold: 2000, Around: 3000}))
	require.Equal(t, Hot, g.Way(2048, f).Form)
	require.Equal(t, Hot, g.Way(4096, f).Form)
	require.Equal(t, Cold, g.Way(8192, f).Form)
	require.Equal(t, Cold, g.Way(16<<10, f).Form)
	require.Equal(t, Way{}, g.Way(1023, f), "too short for a choice")
}

// Where only one form is possible nothing is measured, and the first blocks of a class are hot.
func TestNothingToChoose(t *testing.T) {
	var g Gauge
	for range 1000 {
		require.Equal(t, Way{}, g.Way(4096, 1<<Hot))
	}
	for range first {
		require.Equal(t, Way{}, g.Way(4096, Roomy))
	}
}

// What no writer tells is no sample.
func TestToldNonsense(t *testing.T) {
	var g Gauge
	for _, told := range []Told{Tell(Hot, Least-1, 5), Tell(Lent, 4096, 5), Tell(Hot, 0, 5)} {
		g.Note(told, 10, Copied)
	}
	require.Zero(t, g.cost)
	require.Zero(t, g.seen)
}

// What is told says how many bytes there were, up to 16 MiB, and in how many ticks.
func TestTold(t *testing.T) {
	require.Equal(t, uint64(12345), Tell(Around, 1<<30, 12345).Ticks())
	require.NotZero(t, Tell(Hot, Least, 0))
	require.Zero(t, Told(0).Began())
	require.NotZero(t, Tell(Hot, Least, 1).Began())
}

// Data arrive, whatever the way, and what is timed is told.
func TestWrite(t *testing.T) {
	for form := range Lent {
		for _, timed := range []bool{false, true} {
			src, dst := make([]byte, 5001), make([]byte, 5001)
			for i := range src {
				src[i] = byte(i * 7)
			}
			told := Way{form, timed}.Write(dst, src)
			require.Equal(t, src, dst)
			require.Equal(t, timed, told != 0)
			if timed {
				require.Equal(t, form, Form(told&3))
			}
		}
	}
}

// Short blocks, which are soon through, are timed and tried more seldom than others, but for the first ones.
func TestShortBlocks(t *testing.T) {
	count := func(n, from, to int) (timed, tried int) {
		var g Gauge
		for class := range Classes {
			g.Ask(class, Hot)
		}
		for range from {
			g.Way(n, Roomy)
		}
		for range to - from {
			way := g.Way(n, Roomy)
			if way.Timed {
				timed++
			}
			if way.Form != Hot {
				tried++
			}
		}
		return timed, tried
	}
	shortTimed, shortTried := count(2047, 0, early)
	timed, tried := count(2048, 0, early)
	require.Equal(t, timed, shortTimed)
	require.Equal(t, tried, shortTried)
	shortTimed, shortTried = count(2047, early, 5*early)
	timed, tried = count(2048, early, 5*early)
	require.Equal(t, timed, 8*shortTimed)
	require.Equal(t, tried, 8*shortTried)
	require.Positive(t, shortTried)
}

// What the writer may have prepared is not timed: the gauge would not see what that has taken.
func TestWhatIsPreparedIsNotTimed(t *testing.T) {
	for _, n := range []int{Least, 2048, 4096, 8192, 100_000} {
		var g Gauge
		require.False(t, g.Prepares(n), "nothing is asked for")
		prepared := 0
		for i := range 4 * tried * rarely {
			g.Ask(class(n), Cold)
			if i%1000 > 900 {
				g.Ask(class(n), Hot)
				require.False(t, g.Prepares(n))
			}
			if p, w := g.Prepares(n), g.Way(n, Roomy); p {
				prepared++
				require.False(t, w.Timed, "%d bytes, block %d", n, i)
			}
		}
		require.Greater(t, prepared, 3*tried*rarely)
	}
}

// Where it is soonest to go around the caches by far, cores share none, and a belt is not tried before long.
func TestFarFromTheBeginning(t *testing.T) {
	for _, f := range []Forms{Roomy | 1<<Around, OrLent | 1<<Around} {
		var g Gauge
		ticks := constant([forms]uint64{Hot: 40000, Cold: 26000, Around: 12000, Lent: 14000})
		all := [forms]int{}
		for range 250 {
			for form, n := range play(&g, 1, 32<<10, f, ticks) {
				all[form] += n
			}
		}
		require.Zero(t, all[Cold])
		require.Greater(t, all[Around], 200)
		used := play(&g, 100_000, 32<<10, f, ticks)
		require.NotZero(t, used[Cold])
		require.Less(t, used[Cold], 50_000*2/100)

		g = Gauge{}
		play(&g, 200, 32<<10, f, ticks)
		used = play(&g, 20_000, 32<<10, f, constant([forms]uint64{Hot: 12000, Cold: 5000, Around: 13000, Lent: 14000}))
		require.Greater(t, used[Cold], 9000, "they are neighbours by now")
	}
}

// Cold blocks of who prepares its belt take less than is measured.
func TestAhead(t *testing.T) {
	ticks := constant([forms]uint64{Hot: 5000, Cold: 5500, Around: 6000})
	for _, n := range []int{8 << 10, 64 << 10} {
		var g Gauge
		used := play(&g, 2000, n, Roomy|1<<Around, ticks)
		require.Less(t, used[Cold], 200)
		g = Gauge{}
		g.Ahead()
		used = play(&g, 2000, n, Roomy|1<<Around, ticks)
		require.Greater(t, used[Cold], 900)
	}
}
