package optimistic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/host"
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/test/pairtest"
	"github.com/exanet-mpi/exanet/variants"
)

const limit = 40 // bytes; longer is long

// program is what two ranks do: rank 0 sends and rank 1 receives.
type program struct {
	*pairtest.Pair[*optimistic.Protocol]
	r    *rand.Rand
	reqs [2][]*variants.Request // in the order of posting
	tags int32
	any  bool // some receives are of any tag
	fits bool // sizes follow tags: even ones are short
	asks bool // a request was to be cancelled
}

func newProgram(t *testing.T, seed uint64) *program {
	p, err := pairtest.New(limit, func(me int, f *host.Fabric) *optimistic.Protocol { return optimistic.New(me, f) })
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(seed, 0))
	return &program{Pair: p, r: r, tags: 1 + r.Int32N(3), any: r.IntN(2) == 0, fits: r.IntN(2) == 0}
}

// step posts an operation, cancels one, delivers, or asks.
func (p *program) step() {
	i := p.r.IntN(2)
	switch n := p.r.IntN(20); {
	case n < 8:
		tag := p.r.Int32N(p.tags)
		long := p.r.IntN(2) == 1
		if p.fits {
			long = tag%2 == 1
		}
		size := 8
		if long {
			size = 2 * limit
		}
		var q *variants.Request
		if i == 0 {
			b := make([]byte, size)
			b[0] = byte(len(p.reqs[0]) + 1)
			q = p.SendMode(0, tag, b, variants.Mode(p.r.IntN(2)))
		} else {
			if p.any && !p.fits && p.r.IntN(3) == 0 {
				tag = variants.AnyTag
			}
			q = p.Recv(1, tag, make([]byte, size+p.r.IntN(2)))
		}
		p.reqs[i] = append(p.reqs[i], q)
	case n < 9 && p.any && len(p.reqs[i]) > 0:
		p.asks = true
		p.Rank[i].Cancel(p.reqs[i][p.r.IntN(len(p.reqs[i]))])
	case n < 17:
		p.Poll(i)
	default:
		p.Rank[i].Doubt()
	}
}

// matches returns the receive of each send by MPI's rule, or nil.
func (p *program) matches() map[*variants.Request]*variants.Request {
	of, taken := map[*variants.Request]*variants.Request{}, map[*variants.Request]bool{}
	for _, r := range p.reqs[1] {
		for _, s := range p.reqs[0] {
			if !r.Status.Cancelled && !s.Status.Cancelled && !taken[s] && variants.Takes(0, r.Tag, 0, s.Tag) {
				of[s], taken[s] = r, true
				break
			}
		}
	}
	return of
}

// Programs that keep to the assumption about sizes are never accused, whatever
// asks whom and when, and match as MPI says. In those that break it nobody waits
// for something that is there, with receives of any tag and cancelled requests
// too.
func TestNobodyWaitsAndNobodyIsWronglyAccused(t *testing.T) {
	programs := 200_000
	if testing.Short() {
		programs = 20_000
	}
	kept, broken, accused, cancelled := 0, 0, 0, 0
	for seed := range uint64(programs) {
		p := newProgram(t, seed)
		for range 10 + p.r.IntN(40) {
			p.step()
		}
		for range 40 {
			for i := range 2 {
				p.Rank[i].Doubt()
				p.Poll(i)
			}
		}
		of := p.matches()
		// To cancel one of two requests that match may mend a program, or not.
		legal, errs := p.fits || !p.asks, 0
		for s, r := range of {
			if (len(s.Buf) > limit) != (len(r.Buf) > limit) {
				legal = false
			}
		}
		what := func() string { return fmt.Sprintf("program %d", seed) }
		for _, reqs := range p.reqs {
			for _, q := range reqs {
				if errors.Is(q.Err, optimistic.ErrAssumption) {
					errs++
				}
				if q.Status.Cancelled {
					cancelled++
				}
			}
		}
		for _, s := range p.reqs[0] {
			for _, r := range p.reqs[1] {
				if !s.Done && !r.Done && variants.Takes(0, r.Tag, 0, s.Tag) {
					require.Fail(t, "a send and a receive that match wait for ever", what())
				}
			}
		}
		if p.asks && !p.fits {
			continue
		}
		if !legal {
			broken++
			accused += min(errs, 1)
			continue
		}
		kept++
		require.Zero(t, errs, what())
		for s, r := range of {
			require.True(t, s.Done && r.Done, what())
			require.Equal(t, s.Buf[0], r.Buf[0], what())
			require.Equal(t, variants.Status{Source: 0, Tag: s.Tag, Size: len(s.Buf)}, r.Status, what())
		}
	}
	t.Logf("%d programs keep to the assumption, %d break it, %d of them are told; %d requests cancelled", kept, broken,
		accused, cancelled)
	require.Greater(t, kept, programs/10)
	require.Greater(t, broken, programs/10)
	require.Greater(t, accused, broken/2)
	require.Greater(t, cancelled, programs/100)
}
