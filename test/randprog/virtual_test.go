package randprog

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

// Programs in virtual time, on prototypes with constants and mailboxes at random: those
// whose ranks have a thread each.
func TestVirtual(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			programs := uint64(60)
			if *programsFlag > 0 {
				programs = uint64(*programsFlag)
			}
			var rules Rules
			if p.paired {
				rules = Rules{Eager: packetizer.PayloadLimit, Counted: p.counted}
			}
			var total Tally
			for seed := range programs {
				program := Generate(seed, RanksOf(seed), rules)
				if !singleThreaded(program) {
					continue
				}
				tally, err := Drive(startVirtual(seed, p.options()...), []*Program{program}, *hangFlag)
				require.NoError(t, err, "seed %d", seed)
				total.Add(tally)
			}
			t.Logf("%+v", total)
			require.NotZero(t, total.Programs)
		})
	}
}

func singleThreaded(p *Program) bool {
	for rank := range p.Ranks {
		if len(p.threadsOf(rank)) > 1 {
			return false
		}
	}
	return true
}

func startVirtual(seed uint64, opts ...mpi.Option) Start {
	return func(n int, rank func(World) error) error {
		r := rand.New(rand.NewPCG(seed, 9))
		m := sim.Prototype()
		m.Costs.MailboxDepth = float64(1 + r.IntN(4))
		m.Costs.Noise = 0.9 * r.Float64()
		for _, c := range m.Costs.Table() {
			if c.Unit == "ns" {
				*c.Value *= 2 * r.Float64()
			}
		}
		p, err := m.Shuffled(n, 1+r.IntN(sim.Cores), seed)
		if err != nil {
			return err
		}
		_, err = virtual.Run(virtual.Config{Machine: m, Placement: p, Seed: seed, Options: opts},
			func(world *mpi.Comm) error {
				return rank(overMPI{world, false})
			})
		return err
	}
}
