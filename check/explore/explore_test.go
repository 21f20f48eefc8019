package explore

import (
	"flag"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/world"
)

var deep = flag.Bool("deep", false, "twenty times the samples, and writes in two pieces in all small programs")

// Every protocol keeps MPI's rule, and the invariants of package world, in all
// small programs. The parts of the short plan are left to TestCoverage, unless it
// does not run (-short) or runs others (-deep).
func TestAllSmallPrograms(t *testing.T) {
	for _, p := range world.Protocols {
		t.Run(p.Name, func(t *testing.T) {
			parts := Plan(p, testing.Short(), *deep)
			if !testing.Short() && !*deep {
				parts = parts[len(Plan(p, true, false)):] // what only the long plan has comes last
			}
			for _, part := range parts {
				begun := time.Now()
				stats, f := Run(part.configure(p.Config(part.Ranks)), part.Programs, false, nil)
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

// Telling states apart by their digest loses no settled state that telling them
// apart by their history finds, and what is remembered is right, of digests and of
// what actions do: for every protocol, with full mailboxes, probes and three ranks too, of which one dies.
func TestDigests(t *testing.T) {
	for _, p := range world.Protocols {
		full, mixed := Full.Without(p.Config(2)), Mixed.Without(p.Config(3))
		for i, part := range []Part{
			{Ranks: 2, Pieces: 1, Programs: Reduced.Without(p.Config(2)).Programs(p.Config(2), 2)},
			{Ranks: 2, Pieces: 2, Capacity: 1, Programs: Singles(Allowed(p.Config(2), full.Sample(3, 20, 5)))},
			{Ranks: 3, Pieces: 1, Capacity: 2, Programs: Singles(Allowed(p.Config(3), mixed.Sample(2, 50, 6)))},
			{Ranks: 3, Pieces: 1, Mortal: 1, Programs: Singles(Allowed(p.Config(3), bereft(p.Config(3))))},
		} {
			cfg := part.configure(p.Config(2))
			e := &explorer{cfg: cfg, distrust: func() { t.Fatal(p.Name + ": a remembered digest is wrong") }}
			for f := range part.Programs {
				require.Nil(t, e.explore(f))
			}
			require.NotZero(t, e.stats.Settled)
			if i == 0 {
				exact, f := Run(cfg, part.Programs, true, nil)
				require.Nil(t, f)
				require.LessOrEqual(t, e.stats.States, exact.States)
				require.GreaterOrEqual(t, exact.Settled, e.stats.Settled)
			}
		}
	}
}

// bereft are programs of three ranks in which the first has much pending, in both communicators, when the last one
// dies.
func bereft(cfg world.Config) iter.Seq[world.Program] {
	both := Mixed.Without(cfg)
	for r, ops := range both.Ranks {
		for _, o := range ops {
			both.Ranks[r] = append(both.Ranks[r], in(1, o))
		}
	}
	return func(yield func(world.Program) bool) {
		lifted := world.Program{ // the death ends the wildcards, so both receives from rank 1 are advertised
			{recv(anySource, 2, Large), recv(1, 1, Large), in(1, recv(anySource, 2, Large)), in(1, recv(1, 1, Large))},
			{send(2, 1, Long)}, {recv(1, 1, Large)}}
		if !cfg.NoAnySource && !yield(lifted) {
			return
		}
		for p := range both.Sample(5, 10, 19) {
			if !yield(world.Program{p[0], p[1][:1], p[2][:1]}) {
				return
			}
		}
	}
}
