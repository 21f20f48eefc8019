package channels

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// spans behaves as a set of tickets that wrap around.
func TestSpansIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom([]uint32{0, 5, math.MaxUint32 - 6, 1 << 31}).Draw(t, "base")
		next := base
		var s spans
		set := map[uint32]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				v := next + rapid.Uint32Range(0, 12).Draw(t, "ahead")
				if set[v] {
					return
				}
				set[v] = true
				s.add(v)
			},
			"pass": func(t *rapid.T) {
				from := next + rapid.Uint32Range(0, 4).Draw(t, "forward")
				want := from
				for set[want] {
					want++
				}
				next = s.pass(from)
				require.Equal(t, want, next)
				for v := range set {
					if before(v, next) {
						delete(set, v)
					}
				}
				left := uint32(0)
				for i, r := range s {
					require.NotZero(t, r.n)
					left += r.n
					if i > 0 {
						require.True(t, before(s[i-1].from+s[i-1].n, r.from), "ranges must not touch")
					}
				}
				require.Equal(t, len(set), int(left))
			},
		})
	})
}
