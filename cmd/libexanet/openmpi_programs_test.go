//go:build real

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Programs of Debian's packages for Open MPI.

// refused is what is said to a program that breaks the assumptions of optimistic.
const refused = "the protocol optimistic does not allow this: use ticket"

// packaged is the path of a file of testdata/packages.
func packaged(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "packages", name))
	require.NoError(t, err)
	return path
}

// LAMMPS: a metallic solid and a chute flow, as in the evaluation of the thesis. What it
// prints of temperature, energy and pressure is the host's to twelve digits.
func TestLAMMPS(t *testing.T) {
	packageHas(t, "lammps", "/usr/bin/lmp")
	lib := openmpi.library(t)
	potentials := "LAMMPS_POTENTIALS=/usr/share/lammps/potentials"
	printed := regexp.MustCompile(`(?m)^ +\d+( +[-+.e\d]+)+ *$`)
	for _, c := range []struct {
		name     string
		protocol []string
	}{
		{"metal", allProtocols},
		{"chute", []string{"ticket", "rtr", "optimistic"}},
	} {
		input := packaged(t, c.name+".in")
		for _, n := range []int{2, 4} {
			alone := openmpi.job(t, n, []string{potentials}, "lmp", "-in", input, "-log", "none")
			require.Zero(t, alone.code, alone.out)
			want := printed.FindAllString(alone.out, -1)
			require.Len(t, want, 11)
			for _, variant := range c.protocol {
				ours := openmpi.job(t, n, []string{lib, potentials, "EXANET_VARIANT=" + variant}, "lmp", "-in", input,
					"-log", "none")
				if variant == "optimistic" && ours.code != 0 {
					assert.Contains(t, ours.out, refused, "%s, %d ranks: it says why", c.name, n)
					continue
				}
				require.Zero(t, ours.code, "%s, %s, %d ranks: %s", c.name, variant, n, ours.out)
				assert.Equal(t, want, printed.FindAllString(ours.out, -1), "%s, %s, %d ranks", c.name, variant, n)
			}
		}
	}
}

// HPC Challenge verifies what it computes: dense systems, transposed matrices, random
// updates, Fourier transforms.
func TestHPCC(t *testing.T) {
	packageHas(t, "hpcc", "/usr/bin/hpcc")
	lib, dir := openmpi.library(t), t.TempDir()
	input, err := os.ReadFile(packaged(t, "hpccinf.txt"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hpccinf.txt"), input, 0o600))
	t.Chdir(dir)
	for _, variant := range []string{"ticket", "readbased", "envless"} {
		ours := openmpi.job(t, 4, []string{lib, "EXANET_VARIANT=" + variant, "OPENBLAS_NUM_THREADS=1"}, "hpcc")
		require.Zero(t, ours.code, "%s: %s", variant, ours.out)
		written, err := os.ReadFile("hpccoutf.txt")
		require.NoError(t, err)
		report := string(written)
		require.NoError(t, os.Remove("hpccoutf.txt"))
		assert.Contains(t, report, "\nSuccess=1\n", variant)
		assert.Contains(t, report, "\nPTRANS_residual=0\n", variant)
		assert.Contains(t, report, "\nMPIRandomAccess_Errors=0\n", variant)
		assert.Contains(t, report, "\nMPIRandomAccess_LCG_Errors=0\n", variant)
		assert.Contains(t, report, "5 tests completed and passed residual checks", variant)
		assert.Contains(t, report, "1 tests completed and passed residual checks", variant)
		assert.NotContains(t, report, "FAILED", variant)
	}
}

// Every collective and mode of mpi4py, of buffers and objects, with four threads at the
// end. Python loads its MPI by dlopen, late.
func TestMPI4Py(t *testing.T) {
	packageHas(t, "python3-mpi4py", "/usr/lib/python3/dist-packages/mpi4py")
	lib := openmpi.library(t)
	for n, variant := range map[int]string{2: "envless", 3: "rtr", 4: "ticket", 5: "readbased"} {
		ours := openmpi.job(t, n, []string{lib, "EXANET_VARIANT=" + variant}, "/usr/bin/python3",
			packaged(t, "collectives.py"))
		require.Zero(t, ours.code, ours.out)
		if !slices.Contains(openmpi.flags, "-D"+noThreads) {
			alone := openmpi.job(t, n, nil, "/usr/bin/python3", packaged(t, "collectives.py"))
			require.Zero(t, alone.code, alone.out)
			same(t, alone, ours, variant)
		}
		assert.True(t, strings.HasSuffix(ours.out, "threads\ndone\n"), ours.out)
	}
}

// NetPIPE, as with MPICH.
func TestNetPIPEOpenMPI(t *testing.T) {
	packageHas(t, "netpipe-openmpi", "/usr/bin/NPopenmpi")
	lib := openmpi.library(t)
	t.Chdir(t.TempDir())
	ours := openmpi.job(t, 2, []string{lib}, "NPopenmpi", "-i", "-n", "20", "-u", "1100000")
	require.Zero(t, ours.code, ours.out)
	assert.Equal(t, 37, strings.Count(ours.out, "Integrity check passed"))
}
