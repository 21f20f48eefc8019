//go:build real

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/randc"
)

var (
	programs  = flag.Int("programs", 100, "random programs to run")
	firstSeed = flag.Uint64("seed", 0, "the seed of the first of them; the others follow")
)

// randomProgram is one that has been compiled.
type randomProgram struct {
	seed  uint64
	host  *host
	ranks int
	path  string
	err   error
}

// Random programs see the same, with one host and the other in turn. A line of
// EXANET_TEST_KEEP in the environment is a directory where they are kept.
func TestRandomPrograms(t *testing.T) {
	dir := t.TempDir()
	if keep := os.Getenv("EXANET_TEST_KEEP"); keep != "" {
		dir = keep
	}
	// The next is compiled while one runs.
	ready := make(chan randomProgram)
	go func() {
		defer close(ready)
		for i := range uint64(*programs) {
			select {
			case ready <- generated(dir, *firstSeed+i):
			case <-t.Context().Done():
				return
			}
		}
	}()
	for p := range ready {
		t.Run(fmt.Sprintf("%d %s", p.seed, p.host.title()), func(t *testing.T) {
			require.NoError(t, p.err)
			alone := p.host.job(t, p.ranks, nil, p.path)
			require.Zero(t, alone.code, "under the host MPI alone: %.2000s", alone.out)
			assert.NotContains(t, alone.out, "\nt[", "the generator knows the types")
			// The argument says that persistent collectives work.
			ours := p.host.together(t, p.seed%4 == 0).job(t, p.ranks, []string{p.host.library(t)}, p.path, "persistent")
			same(t, alone, ours, fmt.Sprintf("seed %d, %d ranks", p.seed, p.ranks))
		})
		if os.Getenv("EXANET_TEST_KEEP") == "" {
			os.Remove(p.path)
		}
	}
}

// wrong are programs with which Open MPI alone gives other results from run to run (Alltoallw in 55), or wrong ones:
// 5.0.7 with long messages into types that it must fill in pieces, 6 without the error of a message that is too long.
// MPICH 4.2.1 aborts in 98.
var wrong = map[string][]uint64{"openmpi": {11, 55, 62, 73, 83, 91}, "mpich": {98}}

func generated(dir string, seed uint64) randomProgram {
	all := slices.DeleteFunc(append(slices.Clone(hosts), abis...), func(h *host) bool {
		return slices.Contains(h.flags, "-D"+noRandom)
	})
	p := randomProgram{seed: seed, host: all[seed%uint64(len(all))]}
	if slices.Contains(wrong[p.host.mpi], seed) {
		p.seed += 1000 // another program
	}
	p.path = filepath.Join(dir, fmt.Sprint("random", p.seed))
	var text string
	p.ranks, text = randc.Program(p.seed)
	if p.err = os.WriteFile(p.path+".c", []byte(text), 0o644); p.err != nil {
		return p
	}
	if out, err := p.host.compiler(".c", "-O0", "-w", "-pthread", "-o", p.path,
		p.path+".c").CombinedOutput(); err != nil {
		p.err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return p
}
