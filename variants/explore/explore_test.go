package explore

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/world"
)

var deep = flag.Bool("deep", false, "twenty times the samples, and writes in two pieces in all small programs")

// Every protocol keeps MPI's rule, and the invariants of package world, in all
// small programs.
func TestAllSmallPrograms(t *testing.T) {
	for _, p := range world.Protocols {
		t.Run(p.Name, func(t *testing.T) {
			for _, part := range Plan(p, testing.Short(), *deep) {
				begun := time.Now()
				stats, f := Run(part.configure(p.Config(part.Ranks)), part.Programs, part.Exact, nil)
				if f != nil {
					f = Minimal(f)
					t.Fatalf("%s: %v\n\n%s", part.Name, f, f.Scenario(p.Name))
				}
				t.Logf("%-56s %7d programs %9d states %9d transitions %6.1f s", part.Name, stats.Programs, stats.States,
					stats.Transitions, time.Since(begun).Seconds())
				require.NotZero(t, stats.Settled)
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
