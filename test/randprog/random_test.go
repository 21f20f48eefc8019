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
	playFlag     = flag.String("play", mpi.DefaultVariant, "which of the plays -seed is for")
	keepFlag     = flag.String("keep", "", "operations of -seed to play, by their numbers, separated by commas")
	shrinkFlag   = flag.Bool("shrink", false, "make the program of -seed smaller")
	hangFlag     = flag.Duration("hang", time.Minute, "how long a program may take")
)

// Programs of ranks that are goroutines of this process.
func TestRandom(t *testing.T) {
	if *seedFlag >= 0 {
		p := playNamed(*playFlag)
		require.NotNil(t, p, "-play=%s", *playFlag)
		n := *programsFlag
		if n == 0 {
			n = 500
		}
		replay(t, p, n)
		return
	}
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			programs, times := 1000, uint64(15)
			if p.name == mpi.DefaultVariant {
				programs, times = 10000, 100
			}
			full := !underRace && *programsFlag == 0
			if underRace {
				programs = 400
			}
			if *programsFlag > 0 {
				programs = *programsFlag
			}
			var c counters
			var total Tally
			for seed := *firstFlag; seed < *firstFlag+uint64(programs); seed += seedsPerJob {
				tally, err := Drive(startMPI(&c, seed, p.options()...), Seeds(seed, seedsPerJob, p.rules()),
					*hangFlag)
				require.NoError(t, err)
				total.Add(tally)
			}
			t.Logf("%+v", total)
			t.Logf("%v", c.n)
			if full {
				p.requireCoverage(t, c.n, times)
			}
		})
	}
}

// replay plays the program of -seed up to n times, each in a world of its own.
func replay(t *testing.T, how *play, n int) {
	p := Seeds(uint64(*seedFlag), 1, how.rules())[0]
	start := startMPI(new(counters), uint64(*seedFlag), how.options()...)
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
