//go:build real

package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dialects are those of Fortran, as testdata/fortran/dialect.h numbers them.
var dialects = []struct {
	name   string
	number int
}{{"mpif.h", 77}, {"mpi", 90}, {"mpi_f08", 8}}

// What programs print under the host alone is known by its hash, since that takes
// most of the time. If it is none of ours the host shows what it should be.
var record = flag.Bool("record", false, "record what the Fortran programs print under the host MPI alone")

const recordFile = "testdata/fortran/recorded.txt"

func recorded(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(recordFile)
	require.NoError(t, err)
	all := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, hash, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[name] = hash
	}
	return all
}

// Fortran programs, one for each family of functions, see the same under both, and
// it is ours that carries their messages: what of the host would do so ends the
// program.
func TestFortran(t *testing.T) {
	known := recorded(t)
	if *record {
		defer func() {
			var text strings.Builder
			for _, name := range slices.Sorted(maps.Keys(known)) {
				fmt.Fprintf(&text, "%s\t%s\n", name, known[name])
			}
			require.NoError(t, os.WriteFile(recordFile, []byte(text.String()), 0o644))
		}()
	}
	for _, h := range hosts {
		trap := h.build(t, "testdata/fortran/trap.c", "-shared", "-fPIC")
		sources, err := filepath.Glob("testdata/fortran/*.F90")
		require.NoError(t, err)
		require.NotEmpty(t, sources)
		for _, source := range sources {
			for _, d := range dialects {
				name := fmt.Sprint(h.name, "/", strings.TrimSuffix(filepath.Base(source), ".F90"), "/", d.name)
				lib := h.library(t, trap)
				if strings.Contains(name, "/comm/") || strings.Contains(name, "/errors/") {
					lib = h.library(t) // an intercommunicator is the host's, and wrong arguments are told by it
				}
				t.Run(name, func(t *testing.T) {
					program := h.fortran(t, source, d.number)
					for _, n := range rankCounts() {
						run := fmt.Sprint(name, "/", n)
						if *record {
							known[run] = hash(h.alone(t, n, program).out)
						}
						ours := h.job(t, n, []string{lib}, program)
						if ours.code != 0 || hash(ours.out) != known[run] {
							same(t, h.alone(t, n, program), ours, run)
						}
					}
					assert.Contains(t, h.job(t, 2, []string{lib, "EXANET_VERBOSE=1"}, program).out,
						"exanet: 2 ranks, protocol")
				})
			}
		}
	}
}

// The trap closes: without the library in front of it the program does not get far.
func TestFortranTrap(t *testing.T) {
	for _, h := range hosts {
		trap := h.build(t, "testdata/fortran/trap.c", "-shared", "-fPIC")
		for _, d := range dialects {
			program := h.fortran(t, "testdata/fortran/p2p.F90", d.number)
			got := h.job(t, 2, []string{"LD_PRELOAD=" + trap}, program)
			assert.True(t, strings.Contains(got.out, "the host carries messages by "), // MPICH 4.2.1 may return 0
				"%s, %s: %.500s", h.name, d.name, got.out)
		}
	}
}

// fortran builds a program for a dialect.
func (h *host) fortran(t *testing.T, source string, dialect int) string {
	t.Helper()
	flags := []string{"-cpp", fmt.Sprint("-DDIALECT=", dialect)}
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	for _, part := range []string{"SECTIONS", "LARGE"} { // functions for descriptors, and with large counts
		with := append(flags, "-D"+part)
		probe := append(with, "-fsyntax-only", "-J", t.TempDir(), source)
		if dialect == 8 && strings.Contains(string(text), part) &&
			exec.Command("mpifort."+h.name, probe...).Run() == nil {
			flags = with // the host has them
		}
	}
	return h.build(t, source, flags...)
}

func (h *host) alone(t *testing.T, n int, program string) outcome {
	t.Helper()
	alone := h.job(t, n, nil, program)
	require.Zero(t, alone.code, "under the host MPI alone: %.2000s", alone.out)
	return alone
}

func hash(out string) string {
	sum := sha256.Sum256([]byte(out))
	return fmt.Sprintf("%x", sum[:8])
}
