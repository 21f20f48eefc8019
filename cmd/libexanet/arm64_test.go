//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Programs for ARM64 in qemu's user mode, whose ranks the launcher of this machine
// starts: under the host MPI alone and with the library that "make preload ARCH=arm64" has
// built. qemu has no cross-memory attach, so all data go through shared memory. It
// does not show the weak memory order of the architecture.

// arm64 is where things for ARM64 are.
type arm64 struct {
	host      *host
	root      string // the file system that its programs see
	libraries string // in that
	preload   string // ours
}

// onARM64 skips a test where there is no ARM64.
func onARM64(t *testing.T, h *host) arm64 {
	t.Helper()
	for _, tool := range []string{"qemu-aarch64", "aarch64-linux-gnu-gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no ARM64: %v (scripts/arm64.sh says what to install)", err)
		}
	}
	abs := func(path string) string {
		path, err := filepath.Abs(path)
		require.NoError(t, err)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("no ARM64: %v (make preload ARCH=arm64)", err)
		}
		return path
	}
	root := os.Getenv("ARM64_ROOT")
	if root == "" {
		root = "../../bin/arm64/_root"
	}
	return arm64{h, abs(root), "/usr/lib/aarch64-linux-gnu", abs("../../bin/arm64/libexanet-" + h.name + ".so")}
}

// compile builds a program of testdata.
func (a arm64) compile(t *testing.T, name string) string {
	t.Helper()
	program, libraries := filepath.Join(t.TempDir(), name), a.root+a.libraries
	flags := map[*host][]string{
		mpich:   {"-I" + a.root + "/usr/include/aarch64-linux-gnu/mpich", "-lmpich"},
		openmpi: {"-I" + libraries + "/openmpi/include", "-L" + libraries + "/openmpi/lib", "-lmpi"},
	}[a.host]
	out, err := exec.Command("aarch64-linux-gnu-gcc",
		append([]string{"-O1", "-w", "-pthread", "-o", program, "testdata/" + name + ".c",
			"-L" + libraries, "-Wl,-rpath-link," + libraries, "-Wl,--allow-shlib-undefined"},
			flags...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// job runs a program on n ranks, with a list of NAME=VALUE in its environment.
func (a arm64) job(t *testing.T, n int, env []string, program ...string) outcome {
	t.Helper()
	command := []string{"qemu-aarch64", "-L", a.root, "-E", "LD_LIBRARY_PATH=" + a.libraries + "/blas:" + a.libraries +
		"/lapack"}
	for _, e := range env {
		command = append(command, "-E", e)
	}
	// TCP, of which UCX makes a little use beside shared memory, sometimes waits for
	// ever in qemu, with MPICH alone too. Open MPI complains of what qemu has not.
	tame := map[*host]string{mpich: "UCX_TLS=posix,self",
		openmpi: "OMPI_MCA_btl_vader_single_copy_mechanism=none"}[a.host]
	return a.host.job(t, n, []string{tame}, append(command, program...)...)
}

// ours is the environment that preloads the library.
func (a arm64) ours(env ...string) []string { return append(env, "LD_PRELOAD="+a.preload) }

// The C programs have the same output under both. (Not guest and signals: the
// programs that they start are those of this machine.)
func TestARM64(t *testing.T) {
	a := onARM64(t, mpich)
	for _, c := range []struct {
		name string
		args []string // when it is preloaded, one time after the other
	}{
		{"p2p", []string{""}}, {"wait", []string{""}}, {"probe", []string{""}}, {"types", []string{""}},
		{"comm", []string{""}}, {"coll", []string{"0", "1", "2"}}, {"neighbour", []string{"1"}},
		{"ops", []string{""}}, {"errors", []string{""}}, {"onesided", []string{""}}, {"large", []string{""}},
		{"threads", []string{"65536"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := a.compile(t, c.name)
			alone := a.job(t, 2, nil, program)
			require.Zero(t, alone.code, "under the host MPI alone: %s", alone.out)
			for _, args := range c.args {
				same(t, alone, a.job(t, 2, a.ours(), append([]string{program}, strings.Fields(args)...)...), args)
			}
		})
	}
}

func TestOpenMPIOnARM64(t *testing.T) {
	a := onARM64(t, openmpi)
	for _, name := range []string{"p2p", "wait"} {
		program := a.compile(t, name)
		alone := a.job(t, 2, nil, program)
		require.Zero(t, alone.code, "under the host MPI alone: %s", alone.out)
		same(t, alone, a.job(t, 2, a.ours(), program), name)
	}
}

func TestProtocolsOnARM64(t *testing.T) {
	a := onARM64(t, mpich)
	program := a.compile(t, "p2p")
	assert.Contains(t, a.job(t, 3, a.ours("EXANET_VERBOSE=1"), program).out, "exanet: 3 ranks, protocol auto")
	alone := a.job(t, 3, nil, program)
	for _, variant := range []string{"readbased", "rtr", "envless", "optimistic"} {
		same(t, alone, a.job(t, 3, a.ours("EXANET_VARIANT="+variant), program), variant)
	}
}

func TestScalapackOnARM64(t *testing.T) {
	a := onARM64(t, mpich)
	t.Chdir(filepath.Join(a.root, a.libraries, "scalapack/mpich-tests")) // where the input is
	ours := a.job(t, 4, a.ours("OPENBLAS_NUM_THREADS=1"), "./xdgblu")
	assert.Zero(t, ours.code)
	assert.Contains(t, ours.out, "   24 tests completed and passed residual checks.")
	assert.Contains(t, ours.out, "    0 tests completed and failed residual checks.")
}
