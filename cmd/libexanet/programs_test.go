//go:build real

package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Programs of Debian's packages, and programs of ours on top of the libraries in
// them, with the library preloaded. They verify their own results.

// allProtocols are the values of EXANET_VARIANT, but for standing, which has a test of its own.
var allProtocols = []string{"readbased", "rtr", "envless", "ticket", "optimistic", "customized", "auto"}

// inRoot reports whether the tests run in a root that scripts/root.sh has filled.
func inRoot() bool {
	_, err := os.Stat("/.packages")
	return err == nil
}

// packageHas is where a file of a package is. In a root that scripts/root.sh has filled, it skips the
// test where the package is not installed: newer versions of Debian do not have all.
func packageHas(t *testing.T, name, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	if inRoot() {
		if out, err := exec.Command("dpkg-query", "-W", name).CombinedOutput(); err != nil {
			t.Skipf("this root has no %s: %s", name, out)
		}
	}
	require.Len(t, found, 1, "the package %s has it", name)
	return found[0]
}

// scalapack is where the tests of ScaLAPACK are, with their input.
func scalapack(t *testing.T) string {
	t.Helper()
	return packageHas(t, "scalapack-mpi-test", "/usr/lib/*/scalapack/mpich-tests")
}

// ScaLAPACK's own tests, on the grids of processes that they choose. The host alone
// takes minutes for some of them; they compute their own residuals. xdllt is not among
// them, and xdlu does without the routines that estimate condition numbers: these do not
// always end under the host alone either (docs/host-faults.md).
func TestScalapack(t *testing.T) {
	lib, folder := library(t), scalapack(t)
	inputs, err := filepath.Glob(filepath.Join(folder, "*.dat"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, input := range inputs {
		text, err := os.ReadFile(input)
		require.NoError(t, err)
		if filepath.Base(input) == "LU.dat" {
			estimates := regexp.MustCompile(`(?m)^T\b`)
			require.True(t, estimates.Match(text))
			text = estimates.ReplaceAll(text, []byte("F"))
		}
		require.NoError(t, os.WriteFile(filepath.Base(input), text, 0o644))
	}
	for i, name := range []string{
		"xdbrd", "xddblu", "xdgblu", "xdhrd", "xdlu", "xdnep", "xdptllt", "xdtrd", "xcinv", "xsqr", "xzevc", "xzgblu",
	} {
		variant := allProtocols[i%len(allProtocols)]
		program, what := filepath.Join(folder, name), name+", "+variant
		ours := job(t, 4, []string{lib, "OPENBLAS_NUM_THREADS=1", "EXANET_VARIANT=" + variant}, program)
		if variant == "optimistic" && ours.code != 0 {
			assert.Contains(t, ours.out, refused, what+": it says why")
			ours = job(t, 4, []string{lib, "OPENBLAS_NUM_THREADS=1"}, program)
		}
		assert.Zero(t, ours.code, what)
		assert.Contains(t, ours.out, "    0 tests completed and failed residual checks.", what)
		assert.NotContains(t, ours.out, "    0 tests completed and passed residual checks.", what)
	}
}

// The tests of the BLACS: messages and combining operations between two ranks, in
// rows, in columns and among all, in all topologies. The last one is an abort.
func TestBLACS(t *testing.T) {
	lib := library(t)
	t.Chdir(filepath.Join(scalapack(t), "BLACS"))
	ours := job(t, 4, []string{lib}, "./xFbtest")
	summaries := regexp.MustCompile(`TESTS: *\d+ TESTS; *([1-9]\d*) PASSED, *\d+ SKIPPED, *(\d+) `+
		`FAILED`).FindAllStringSubmatch(ours.out, -1)
	assert.Len(t, summaries, 22) // messages of five kinds of data and combinations of four
	for _, s := range summaries {
		assert.Equal(t, "0", s[2], s[0])
	}
	assert.Contains(t, ours.out, "DONE BLACS_GRIDEXIT")
	assert.NotZero(t, ours.code, "the abort")
}

// NetPIPE checks each byte of what goes to and fro, in its modes that end under the
// host alone.
func TestNetPIPE(t *testing.T) {
	packageHas(t, "netpipe-mpich2", "/usr/bin/NPmpich2")
	lib := library(t)
	t.Chdir(t.TempDir()) // where it writes its table
	for i, mode := range [][]string{{}, {"-a"}, {"-S"}, {"-a", "-2"}, {"-I"}} {
		variant := allProtocols[i]
		args := append([]string{"NPmpich2", "-i", "-n", "20", "-u", "1100000"}, mode...)
		ours := job(t, 2, []string{lib, "EXANET_VARIANT=" + variant}, args...)
		require.Zero(t, ours.code, "%v, %s: %s", mode, variant, ours.out)
		assert.Equal(t, 37, strings.Count(ours.out, "Integrity check passed"), "%v, %s", mode, variant)
	}
	ours := job(t, 2, []string{lib}, "NPmpich2", "-n", "50", "-u", "200000")
	assert.Zero(t, ours.code)
	assert.Regexp(t, `196611 bytes +50 times --> +\d+`, ours.out)
}

// build compiles a program on top of a package's library.
func build(t *testing.T, compiler, source string, args ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	path := filepath.Join("testdata", "packages", source)
	out, err := exec.Command(compiler, append([]string{"-O1", "-o", program, path}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// The images' puts, gets, locks and events go by way of the host, their collectives
// by ours.
func TestCoarrays(t *testing.T) {
	found := packageHas(t, "libcoarrays-mpich-dev", "/usr/lib/*/open-coarrays/mpich/lib")
	h := mpich
	if needed, err := elf.Open(filepath.Join(found, "libcaf_mpich.so")); assert.NoError(t, err) {
		defer needed.Close()
		libraries, err := needed.ImportedLibraries()
		require.NoError(t, err)
		if slices.Contains(libraries, "libmpi.so.40") {
			h = openmpi // as Debian's 2.10.3, whatever its name says
		}
	}
	library, job := h.library(t), h.job
	program := build(t, "mpifort."+h.mpi, "coarray.f90", "-fcoarray=lib", "-L"+found, "-lcaf_mpich")
	for n := 2; n <= 3; n++ { // the host's one-sided communication takes its time on more ranks than cores
		alone := job(t, n, nil, "timeout", "-s", "KILL", "120", program)
		if inRoot() && !strings.Contains(alone.out, "done") { // the run without the library is the probe
			t.Skipf("coarrays do not come to an end in this root without the library: %.2000s", alone.out)
		}
		ours := job(t, n, []string{library}, program)
		if alone.code == 0 {
			assert.Equal(t, byImage(alone), byImage(ours), n)
		} else { // MPICH 4.2.1 alone aborts at the end of a right run
			assert.Subset(t, byImage(alone), byImage(ours), n)
			assert.Contains(t, ours.out, "done", n)
		}
		assert.Zero(t, ours.code)
	}
}

// byImage are the lines of a coarray program in order, without what the host's network
// says of its library's last messages.
func byImage(o outcome) (lines []string) {
	for line := range strings.Lines(o.out) {
		if !strings.Contains(line, "UCX  WARN  unexpected") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// A file that several ranks write is the host's, byte for byte.
func TestParallelHDF5(t *testing.T) {
	found := packageHas(t, "libhdf5-mpich-dev", "/usr/lib/*/hdf5/mpich")
	program := build(t, "mpicc.mpich", "hdf5.c", "-I/usr/include/hdf5/mpich", "-L"+found, "-lhdf5")
	for n := 2; n <= 4; n++ {
		theirs, mine := filepath.Join(t.TempDir(), "theirs"), filepath.Join(t.TempDir(), "mine")
		same(t, job(t, n, nil, program, theirs), job(t, n, []string{library(t)}, program, mine), "its output")
		a, err := os.ReadFile(theirs)
		require.NoError(t, err)
		b, err := os.ReadFile(mine)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), "%d ranks", n)
	}
}
