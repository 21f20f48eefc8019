//go:build real

package main

import (
	"debug/elf"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The fast path's table is not among the library's variables, where what is added elsewhere moves its cache lines.
func TestTableOfTheFastPathIsApart(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		path := strings.TrimSuffix(strings.TrimPrefix(h.library(t), "LD_PRELOAD="), ".so") + "-go.so"
		f, err := elf.Open(path)
		require.NoError(t, err)
		defer f.Close()
		symbols, err := f.Symbols()
		require.NoError(t, err)
		i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "main.fast" })
		require.NotEqual(t, -1, i)
		require.Less(t, symbols[i].Size, uint64(1024))
	})
}

// Of what the library defines a program finds what stands in for the MPI's or the C library's,
// and no name of the library's own, which might be one of the program's.
func TestExports(t *testing.T) {
	own := regexp.MustCompile(`^(exanet|fast|board|f)_`)
	eachHost(t, func(t *testing.T, h *host) {
		f, err := elf.Open(strings.TrimPrefix(h.library(t), "LD_PRELOAD="))
		require.NoError(t, err)
		defer f.Close()
		symbols, err := f.DynamicSymbols()
		require.NoError(t, err)
		found := make(map[string]bool)
		for _, s := range symbols {
			if s.Section == elf.SHN_UNDEF {
				continue
			}
			require.NotRegexp(t, own, s.Name)
			found[s.Name] = true
		}
		for _, name := range []string{"MPI_Send", "MPIX_Op_create_x", "pthread_create", "sigaction"} {
			require.True(t, found[name], name)
		}
		require.Equal(t, h != openmpi, found["setsid"], "it is for Hydra's proxy")
	})
}
