package explore

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/world"
)

var (
	budget = flag.Duration("budget", 60*time.Second, "time for the sampled programs and all programs of a protocol")
	deep   = flag.Bool("deep", false, "also explore all programs of three operations with writes in two pieces")
)

// check explores programs and fails the test with a counterexample. It reports
// false if time ran out.
func check(t *testing.T, cfg world.Config, part Part, end time.Time) bool {
	t.Helper()
	begun := time.Now()
	late := false
	stats, f := Run(part.configure(cfg), part.Programs, part.Exact, func() bool {
		late = time.Now().After(end)
		return late
	}, nil)
	if f != nil {
		f = Minimal(f)
		t.Fatalf("%s: %v\n\n%s", part.Name, f, f.Scenario(part.protocol))
	}
	t.Logf("%-44s %7d programs %9d states %9d transitions %6.1f s", part.Name, stats.Programs, stats.States,
		stats.Transitions, time.Since(begun).Seconds())
	require.NotZero(t, stats.Settled)
	return !late
}

// Every protocol keeps MPI's rule, and the invariants of package world, in all
// small programs.
func TestAllSmallPrograms(t *testing.T) {
	for _, p := range world.Protocols {
		t.Run(p.Name, func(t *testing.T) {
			end := time.Now().Add(*budget)
			for _, part := range Plan(p, testing.Short(), *deep) {
				if !check(t, p.Config(part.Ranks), part, end) {
					require.False(t, part.Must, "%s: not finished in %v; give it more with -budget", part.Name, *budget)
					t.Logf("%s: stopped after %v", part.Name, *budget)
					return
				}
			}
		})
	}
}

// Telling states apart by their digest loses no violation that telling them
// apart by their history finds, in programs that have one.
func TestDigestAgainstFingerprint(t *testing.T) {
	p := world.Protocols[0]
	for program := range Reduced.Programs(2) {
		e := &explorer{cfg: p.Config(2)}
		require.Nil(t, e.explore(program))
		x := &explorer{cfg: p.Config(2), exact: true}
		require.Nil(t, x.explore(program))
		require.LessOrEqual(t, e.stats.States, x.stats.States)
		require.GreaterOrEqual(t, x.stats.Settled, e.stats.Settled)
	}
}
