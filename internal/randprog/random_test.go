package randprog

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

var (
	seedFlag     = flag.Int64("seed", -1, "TestRandom plays the program of this seed only, again and again")
	firstFlag    = flag.Uint64("first", 0, "first seed")
	programsFlag = flag.Int("programs", 0, "how many programs (0: as many as the test says)")
	keepFlag     = flag.String("keep", "", "operations of -seed to play, by their numbers, separated by commas")
	shrinkFlag   = flag.Bool("shrink", false, "make the program of -seed smaller")
	hangFlag     = flag.Duration("hang", time.Minute, "how long a program may take")
)

// required are the events that a full run must contain, and how often.
var required = []string{
	"fast_receives", "crossings", "stale_rtrs", "lifted", "truncations", "cancels_granted", "cancels_refused",
	"no_credit",
}

const requiredTimes = 100

func requireCoverage(t *testing.T, n map[string]uint64) {
	t.Helper()
	for _, name := range required {
		require.GreaterOrEqual(t, n[name], uint64(requiredTimes), name)
	}
}

// Programs of ranks that are goroutines of this process.
func TestRandom(t *testing.T) {
	programs := 10000
	if underRace {
		programs = 400
	}
	if *programsFlag > 0 {
		programs = *programsFlag
	}
	if *seedFlag >= 0 {
		replay(t, startMPI(new(counters)), programs)
		return
	}
	t.Run(mpi.DefaultVariant, func(t *testing.T) {
		c := runSeeds(t, programs)
		if programs >= 10000 {
			requireCoverage(t, c.n)
		}
	})
	for _, variant := range mpi.Variants() {
		// The programs use wildcards and probes, which optimistic does not allow.
		if variant != mpi.DefaultVariant && variant != "optimistic" {
			t.Run(variant, func(t *testing.T) { runSeeds(t, programs/5, mpi.WithVariant(variant)) })
		}
	}
	// With one thread a rank envless leaves out the Env as in the thesis.
	t.Run("envless serialized", func(t *testing.T) {
		c := runSeeds(t, programs/5, mpi.WithVariant("envless"), mpi.WithThreadLevel(mpi.ThreadSerialized))
		if programs >= 10000 {
			require.GreaterOrEqual(t, c.n["fast_receives"], uint64(requiredTimes))
		}
	})
}

// runSeeds plays so many programs from -first on and returns what MPI counted.
func runSeeds(t *testing.T, programs int, opts ...mpi.Option) *counters {
	t.Helper()
	var c counters
	var total Tally
	for seed := *firstFlag; seed < *firstFlag+uint64(programs); seed += seedsPerJob {
		tally, err := Drive(startMPI(&c, opts...), Seeds(seed, seedsPerJob), *hangFlag)
		require.NoError(t, err)
		total.Add(tally)
	}
	t.Logf("%+v", total)
	t.Logf("%v", c.n)
	return &c
}

// replay plays the program of -seed up to n times, each in a world of its own.
func replay(t *testing.T, start Start, n int) {
	p := Seeds(uint64(*seedFlag), 1)[0]
	if *keepFlag != "" {
		keep := map[int]bool{}
		for id := range strings.SplitSeq(*keepFlag, ",") {
			i, err := strconv.Atoi(id)
			require.NoError(t, err)
			keep[i] = true
		}
		p = p.Keep(keep)
	}
	var last error
	fails := func(p *Program) bool {
		for range n {
			if _, err := Drive(start, []*Program{p}, *hangFlag); err != nil {
				last = err
				return true
			}
		}
		return false
	}
	if !fails(p) {
		return
	}
	if *shrinkFlag {
		p = Shrink(p, 5*time.Minute, fails)
		t.Logf("-seed=%d -keep=%s", p.Seed, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.IDs()), " ", ","), "[]"))
	}
	t.Fatal(last)
}
