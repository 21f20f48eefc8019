//go:build real

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The communication of well-known benchmarks (testdata/kernels.c), with more ranks than
// cores as well, and with every protocol. It checks itself.
func TestKernels(t *testing.T) {
	const all = "pairs\ngraph\ncollectives\nwavefront\nsorting\ntranspose\ngradients\nmultigrid\nfarm\n"
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "kernels")
		for _, n := range []int{2, 8} {
			ours := h.job(t, n, []string{lib}, program)
			require.Zero(t, ours.code, "%d ranks: %s", n, ours.out)
			require.Equal(t, all, ours.out, "%d ranks", n)
		}
		many := h.job(t, 32, []string{lib}, program, "short")
		require.Zero(t, many.code, many.out)
		require.Equal(t, all, many.out)
		for _, variant := range allProtocols {
			ours := h.job(t, 4, []string{lib, "EXANET_VARIANT=" + variant}, program)
			if variant == "optimistic" { // the wavefront receives from any source
				assert.NotZero(t, ours.code)
				assert.Contains(t, ours.out, refused)
				assert.Contains(t, ours.out, "pairs\n")
				continue
			}
			require.Zero(t, ours.code, "%s: %s", variant, ours.out)
			require.Equal(t, all, ours.out, variant)
		}
	})
}
