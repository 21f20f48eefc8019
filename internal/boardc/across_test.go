//go:build cgo

package boardc_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/internal/across"
	"github.com/exanet-mpi/exanet/internal/boardc"
)

// A gauge in C is one in Go, word by word, whatever is written and read, and whoever does.
func TestGaugesInCAndInGoAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var inC, inGo across.Gauge
		forms := rapid.SampledFrom([]across.Forms{across.Copied, across.Roomy, across.OrLent}).Draw(t, "forms")
		size := rapid.SampledFrom([]int{1, 2047, 2048, 3000, 4095, 4096, 100_000, 1 << 18, 1 << 20, 1 << 25})
		ticks := rapid.Uint64Range(0, 1<<20)
		for range rapid.IntRange(1, 2000).Draw(t, "blocks") {
			n := size.Draw(t, "n")
			way := inGo.Way(n, forms)
			require.Equal(t, way, boardc.Way(&inC, n, forms))
			if way.Timed {
				told := across.Tell(way.Form, n, ticks.Draw(t, "written in"))
				if rapid.IntRange(0, 20).Draw(t, "told") == 0 {
					told = across.Told(rapid.Uint64().Draw(t, "anything"))
				}
				read := ticks.Draw(t, "read in")
				inGo.Note(told, read, forms)
				boardc.Note(&inC, told, read, forms)
			}
			require.Equal(t, *(*[across.Size]byte)(unsafe.Pointer(&inGo)), *(*[across.Size]byte)(unsafe.Pointer(&inC)))
		}
	})
}
