package explore

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// Every protocol is right over a device that promises what it needs and no more, and is not without any of that.
func TestOrder(t *testing.T) {
	for _, p := range world.Protocols {
		t.Run(p.Name, func(t *testing.T) {
			needed := world.New(p.Config(2), nil).Protocol(0).NeedsOrder()
			explore := func(o rdmaeng.Order) *Failure {
				cfg := p.Config(2)
				cfg.Order = o
				for _, a := range []Alphabet{Reduced, Reused} {
					if _, f := Run(cfg, a.Without(cfg).Programs(cfg, 2), false, nil); f != nil {
						return Minimal(f)
					}
				}
				return nil
			}
			if f := explore(needed); f != nil {
				t.Fatalf("%v\n\n%s", f, f.Scenario(p.Name))
			}
			for needs := needed; needs != 0; needs &= needs - 1 {
				without := rdmaeng.Order(1) << bits.TrailingZeros8(uint8(needs))
				f := explore(needed &^ without)
				require.NotNil(t, f, "it does not need that %v", without)
				t.Logf("without %v: %v", without, f)
			}
		})
	}
}
