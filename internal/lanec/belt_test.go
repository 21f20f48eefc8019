//go:build cgo

package lanec_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/test/pairtest"
)

// Rings with belts, and what is asked of who writes to them: package across.

// belted are players of a job whose rings have belts.
func belted(t *testing.T) [2]*player {
	pair, err := pairtest.NewShared(limit, protocol)
	require.NoError(t, err)
	ps := playersOf(pair)
	lend(ps)
	require.Greater(t, ps[0].table.Bulk, uint32(1<<20))
	return ps
}

// ask has the peer ask for a form of each class of lengths, in the gauge behind the three lines of its ring's ends, and the consumer's.
func (p *player) ask(form func() across.Form) {
	for class := range across.Classes {
		mem.Deref[across.Gauge](p.port.Out+4*mem.CacheLine).Ask(class, form())
	}
}

// Whatever is asked for, and whatever is prepared, messages come out of the ring as they went in, and an empty ring takes one.
func TestAnEmptyRingTakesAMessage(t *testing.T) {
	ps := belted(t)
	random := rand.New(rand.NewSource(1))
	a, b := ps[0], ps[1]
	var under [][]byte
	in := make([]byte, limit)
	refused := 0
	for i := range 300_000 {
		if i%50 == 0 {
			a.ask(func() across.Form { return across.Form(random.Intn(3)) })
		}
		a.credits()
		if random.Intn(3) == 0 {
			a.lane.Prepare(a.port)
		}
		if len(under) > 0 && random.Intn(9) < i/1000%9 { // now the one is behind, now the other
			n, ok, _ := b.lane.Receive(handle, in, int32(a.me), 0)
			require.True(t, ok)
			require.Equal(t, under[0], in[:n])
			under = under[1:]
			continue
		}
		out := make([]byte, 2000+random.Intn(limit-2000))
		fill(out, i)
		if sent, _ := a.lane.Send(handle, out, int32(b.me), 0); sent {
			under = append(under, out)
		} else {
			require.NotEmpty(t, under)
			refused++
		}
	}
	require.Positive(t, refused)
}

// Cold copies go around the belt, which is all but the front of the bulk space.
func TestAroundTheBelt(t *testing.T) {
	ps := belted(t)
	var most uint64
	onStage := 0
	for range 4000 {
		ps[0].ask(func() across.Form { return across.Cold }) // the peer would find out that another form is sooner
		ps[0].credits()
		pass(t, ps, 0, limit)
		end := ps[0].taken()
		most = max(most, end)
		if end < across.Stage {
			onStage++
			require.Zero(t, end%((limit+mem.CacheLine-1)/mem.CacheLine*mem.CacheLine), "a message lies beyond the end of the bulk space")
		}
	}
	require.Greater(t, most, uint64(ps[0].table.Bulk)-2*limit)
	require.Less(t, onStage, 4000/10, "other forms are tried now and then, and there is no room for a moment")
}

// Who waits prepares the place on the belt of a message as long as the last one, which goes there, unless that will be timed.
func TestPreparingTheBelt(t *testing.T) {
	ps := belted(t)
	var prepared uint64
	hit := 0
	cold := func() across.Form { return across.Cold }
	for range 4000 {
		ps[0].ask(cold)
		ps[0].credits()
		pass(t, ps, 0, limit)
		ps[0].ask(cold) // the peer may have found out that another form is sooner
		if end := ps[0].taken(); end == prepared && end > across.Stage {
			hit++
		}
		onBelt := ps[0].taken() > across.Stage
		prepares := mem.Deref[across.Gauge](ps[0].port.Out + 4*mem.CacheLine).Prepares(limit)
		end, ok := ps[0].lane.Prepare(ps[0].port)
		if prepared = end % uint64(ps[0].table.Bulk); onBelt {
			require.Equal(t, prepares, ok)
		}
	}
	require.Greater(t, hit, 4000*9/10)
}

// Who receives on the lane asks for a form.
func TestWhoReceivesAsks(t *testing.T) {
	ps := belted(t)
	for range 200 {
		pass(t, ps, 0, limit)
	}
	require.NotZero(t, *mem.Deref[uint32](ps[0].port.Out + 4*mem.CacheLine))
}
