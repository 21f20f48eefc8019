//go:build real

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// ranks runs a job whose parts mpirun is told itself, separated by ":".
func ranks(t *testing.T, args ...string) outcome {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "timeout",
		append([]string{fmt.Sprint(inTime.Seconds()), "mpirun.mpich"}, args...)...).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return outcome{string(out), exit.ExitCode()}
	}
	require.NoError(t, err)
	return outcome{string(out), 0}
}

// A rank that waits in Init for ranks without the library says so, once, whichever those are.
func TestSomeWithoutTheLibrary(t *testing.T) {
	lib, program := library(t), compile(t, "p2p")
	_, path, _ := strings.Cut(lib, "=")
	for name, preload := range map[string][2]string{"first": {"", path}, "rest": {path, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			require.NoError(t, err)
			defer out.Close()
			cmd := exec.Command("mpirun.mpich", "-np", "1", "-env", "LD_PRELOAD", preload[0], program, ":",
				"-np", "2", "-env", "LD_PRELOAD", preload[1], program)
			cmd.Stdout, cmd.Stderr = out, out
			require.NoError(t, cmd.Start())
			says := func() int {
				text, err := os.ReadFile(out.Name())
				require.NoError(t, err)
				return strings.Count(string(text), "exanet: MPI_Init has waited for 10 seconds ")
			}
			assert.Eventually(t, func() bool { return says() > 0 }, inTime, 100*time.Millisecond)
			time.Sleep(500 * time.Millisecond) // for what another might say
			assert.Equal(t, 1, says())
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			assert.Error(t, cmd.Wait())
		})
	}
}

// Either all ranks are ours or none, whatever some of them are told; one line says
// why.
func TestAllOrNone(t *testing.T) {
	lib, program := library(t), compile(t, "p2p")
	alone := job(t, 3, nil, program)
	_, path, _ := strings.Cut(lib, "=")
	entry, err := os.ReadFile(path)
	require.NoError(t, err)
	half := filepath.Join(t.TempDir(), "half.so")
	require.NoError(t, os.WriteFile(half, entry, 0o700))
	with := func(library string, more ...string) []string {
		return append([]string{"-env", "LD_PRELOAD", library}, more...)
	}
	for _, c := range []struct {
		name        string
		first, rest []string // environment of rank 0 and of the others
		says        string
	}{
		{"disabled first", with(path, "-env", "EXANET_DISABLE", "1"), with(path),
			"rank 0 has EXANET_DISABLE set, and not all have"},
		{"disabled rest", with(path), with(path, "-env", "EXANET_DISABLE", "1"),
			"rank 1 has EXANET_DISABLE set, and not all have"},
		{"no Go part first", with(half), with(path), "the Go part cannot be loaded"},
		{"no Go part rest", with(path), with(half), "the Go part cannot be loaded"},
		{"protocols", with(path), with(path, "-env", "EXANET_VARIANT", "rtr"), "ranks 0 and 1 have different settings"},
		{"no such protocol first", with(path, "-env", "EXANET_VARIANT", "x"), with(path),
			`rank 0 cannot take part: mpi: Init: cannot begin or end MPI: there is no protocol "x"`},
		{"no such protocol rest", with(path), with(path, "-env", "EXANET_VARIANT", "x"),
			`rank 1 cannot take part: mpi: Init: cannot begin or end MPI: there is no protocol "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(append([]string{"-np", "1"}, c.first...), program, ":", "-np", "2")
			got := ranks(t, append(append(args, c.rest...), program)...)
			var said, rest []string
			for line := range strings.Lines(got.out) {
				if strings.HasPrefix(line, "exanet:") {
					said = append(said, line)
				} else {
					rest = append(rest, line)
				}
			}
			if assert.Len(t, said, 1, got.out) {
				assert.Contains(t, said[0], c.says)
			}
			assert.Equal(t, alone.out, strings.Join(rest, ""))
			assert.Zero(t, got.code)
		})
	}
}

// A rank that waits for others without the library says so, once, and ends the job when they do not come.
func TestAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("a rank waits for a minute before it ends the job")
	}
	eachHost(t, func(t *testing.T, h *host) {
		t.Parallel()
		program := h.compile(t, "alone")
		got := h.job(t, 1, nil, "env", h.library(t), program, ":", "-np", "1", program)
		assert.Equal(t, 2, got.code, got.out)
		for _, says := range []string{": is it on each host", ", and ends the job: put it on each host"} {
			assert.Equal(t, 1, strings.Count(got.out, "libexanet-"+h.name+".so, too"+says), got.out)
		}
	})
}

// Ranks in namespaces of their own, as in containers: the job is ours where memory
// can be shared, and else the host's.
func TestNamespaces(t *testing.T) {
	lib, program := library(t), compile(t, "p2p")
	_, path, _ := strings.Cut(lib, "=")
	alone := job(t, 2, nil, program)
	for _, c := range []struct{ unshare, says string }{
		{"--net", "rank 1 cannot take part: its host has no address that other hosts could reach"},
		{"--ipc", "2 ranks"},
		{"--uts", "2 ranks"},
		{"--mount", "2 ranks"},
	} {
		if err := exec.Command("unshare", c.unshare, "true").Run(); err != nil {
			t.Skipf("unshare %s: %v", c.unshare, err)
		}
		got := ranks(t, "-genv", "LD_PRELOAD", path, "-genv", "EXANET_VERBOSE", "1", "-np", "1", program, ":", "-np",
			"1", "unshare", c.unshare, program)
		ours := regexp.MustCompile(`(?m)^exanet: .*\n`) // of one rank, or of all that are told why not
		said, rest := ours.FindString(got.out), ours.ReplaceAllString(got.out, "")
		assert.Contains(t, said, c.says, c.unshare)
		assert.Equal(t, alone.out, rest, c.unshare)
		assert.Zero(t, got.code, c.unshare)
	}
}

// What limits leave no room for is left to the host, with a line.
func TestLimits(t *testing.T) {
	lib, program := library(t), compile(t, "p2p")
	_, path, _ := strings.Cut(lib, "=")
	alone := job(t, 2, nil, program)
	descriptors := "ulimit -n $(($(ls /proc/$$/fd | wc -l) + 17))" // beside those that it has inherited
	for limit, says := range map[string]string{"ulimit -v 900000": "ulimit -v", "ulimit -v 1450000": "ulimit -v",
		"ulimit -f 20000": "ulimit -f", "ulimit -d 100000": "-d or -l leaves less", descriptors: "ulimit -n"} {
		got := ranks(t, "-np", "2", "-genv", "LD_PRELOAD", path, "sh", "-c", limit+"; exec "+program)
		said, rest, _ := strings.Cut(got.out, "\n")
		assert.Contains(t, said, says)
		assert.Equal(t, alone.out, rest)
		assert.Zero(t, got.code)
	}
	without := mpich.build(t, filepath.Join("testdata", "nothreads.c"), "-shared", "-fPIC")
	got := job(t, 2, []string{library(t, without)}, program)
	said, rest, _ := strings.Cut(got.out, "\n")
	assert.Contains(t, said, "no room for its threads")
	assert.Equal(t, alone.out, rest)
	assert.Zero(t, got.code)
}

// A process ends when its last thread of the program's does; a child that calls MPI is
// told that it cannot.
func TestEnds(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "ends")
		runs := [][]string{{program}}
		if h.mpi == "openmpi" { // UCX, which MPICH brings, fails without a main thread
			runs = append(runs, []string{program, "late"})
		}
		for _, args := range runs {
			alone := h.job(t, 2, nil, args...)
			require.Zero(t, alone.code, alone.out)
			same(t, alone, h.job(t, 2, []string{lib}, args...), h.title())
		}
		got := h.job(t, 2, []string{lib}, program, "fork")
		assert.Zero(t, got.code)
		assert.Equal(t, 2, strings.Count(got.out, "a child process calls MPI"), got.out)
		assert.Equal(t, 2, strings.Count(got.out, "child 1\n"), got.out)
	})
}

// Ranks whose sizes make them go different ways are told, where hosts alone may wait for ever.
func TestApart(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		got := h.job(t, 2, []string{h.library(t)}, h.compile(t, "apart"))
		assert.Zero(t, got.code)
		for _, rank := range []string{"0", "1"} {
			assert.Contains(t, got.out, "rank "+rank+": 0 wrong, 18 told\n")
		}
	})
}

// A debugger stops where it is told, and nowhere else.
func TestDebugger(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program := h.compile(t, "p2p")
		got := h.job(t, 2, nil, "gdb", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex",
			"set environment "+h.library(t), "-ex", "set environment EXANET_VERBOSE 1",
			"-ex", "break MPI_Finalize", "-ex", "run", "-ex", "bt", "-ex", "delete", "-ex", "continue", "--args",
			program)
		assert.Zero(t, got.code, got.out)
		// What two debuggers print may be mixed, not only line by line.
		for _, words := range []string{"Breakpoint 1", "in main", "exited normally", "exanet: 2 ranks"} {
			assert.Contains(t, got.out, words)
		}
	})
}

// What the kernel does at once for a process of one thread, and else in some 10 ms, is
// done while there is one; and Go's poller, whose thread is of no use here, is not there.
func TestStart(t *testing.T) {
	program := mpich.build(t, filepath.Join("testdata", "startup.c"), "-rdynamic")
	alone, got := job(t, 2, nil, program), job(t, 2, []string{library(t)}, program)
	assert.Zero(t, got.code)
	if strings.Contains(alone.out, "registrations:") {
		t.Skip("the kernel does not say what is registered for membarrier: ", alone.out)
	}
	assert.NotContains(t, alone.out, "registered") // PMPI_Init is not called
	assert.Equal(t, 2, strings.Count(got.out, "registered: 1"), got.out)
	for _, n := range regexp.MustCompile(`pollers: \d+`).FindAllString(got.out, -1) {
		assert.Contains(t, alone.out, n)
	}
}

// A program with the other MPI's library does not begin.
func TestLibraryOfTheOtherMPI(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program := h.compile(t, "p2p")
		for _, other := range append(hosts, abis...) {
			if other.name == h.name {
				continue
			}
			got := h.job(t, 2, []string{other.library(t)}, program)
			assert.NotZero(t, got.code)
			assert.Contains(t, got.out, "exanet: libexanet-"+other.name+".so is preloaded")
			assert.Contains(t, got.out, "preload libexanet-"+h.name+".so")
		}
	})
}

// Statistics that cannot be written are not the program's business.
func TestStatisticsThatCannotBeWritten(t *testing.T) {
	program := compile(t, "p2p")
	alone := job(t, 2, nil, program)
	taken := t.TempDir() // found out at the end, the others at the beginning
	require.NoError(t, os.Mkdir(filepath.Join(taken, "rank-0.json"), 0o777))
	for _, dir := range []string{"/dev/null/stats", "/proc", taken} {
		got := job(t, 2, []string{library(t), "EXANET_STATS=" + dir}, program)
		assert.Zero(t, got.code, got.out)
		assert.Contains(t, got.out, "EXANET_STATS")
		for _, line := range strings.Split(strings.TrimSpace(alone.out), "\n") {
			require.Contains(t, got.out, line)
		}
	}
}

// While something of the host's exists, it makes progress in our waits; then they
// sleep again. Requests of files are waited for with ours.
func TestProgress(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program, file := h.library(t), h.compile(t, "progress"), filepath.Join(t.TempDir(), "file")
		for n := 2; n <= 3; n++ {
			alone := h.job(t, n, nil, program, file)
			require.Zero(t, alone.code, "under the host MPI alone: %s", alone.out)
			same(t, alone, h.job(t, n, []string{lib}, program, file), h.title())
		}
		asked := h.job(t, 2, []string{lib}, program, file, "asks")
		require.Zero(t, asked.code, asked.out)
		assert.Contains(t, asked.out, "a late window: slept")
		assert.Contains(t, asked.out, "again 1")
		assert.NotContains(t, asked.out, "polled")
	})
}

// A send to a rank that computes returns, whatever form it has and wherever its receive has
// been posted.
func TestComputing(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		got := h.job(t, 2, []string{h.library(t)}, h.compile(t, "computing"), filepath.Join(t.TempDir(), "file"))
		require.Zero(t, got.code, got.out)
		assert.Equal(t, 90, strings.Count(got.out, ": sent"), got.out)
	})
}

// The same for what is made in Fortran.
func TestProgressFortran(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		got := h.job(t, 2, []string{h.library(t)}, h.compile(t, "objects"))
		assert.Zero(t, got.code)
		assert.Equal(t, "slept", strings.TrimSpace(got.out))
	})
}

// EXANET_STATS tells of calls that were left to the host, whether they are
// intercepted or not.
func TestPassed(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		dir, program := t.TempDir(), h.compile(t, "onesided")
		ours := h.job(t, 2, []string{h.library(t), "EXANET_STATS=" + dir}, program)
		require.Zero(t, ours.code, ours.out)
		text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
		require.NoError(t, err)
		var stats mpi.Stats
		require.NoError(t, json.Unmarshal(text, &stats))
		assert.EqualValues(t, 1, stats.Passed["MPI_Win_free"])
		assert.EqualValues(t, 1, stats.Passed["MPI_Put"])
		assert.EqualValues(t, 1, stats.Passed["MPI_Accumulate"])
		assert.NotContains(t, stats.Passed, "MPI_Barrier")
		assert.NotContains(t, stats.Passed, "MPI_Send")
	})
}

// A test of a request that waits for any message enters Go now and then only.
func TestTestsStayInC(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		dir, program := t.TempDir(), h.compile(t, "tests")
		ours := h.job(t, 2, []string{h.library(t), "EXANET_STATS=" + dir}, program)
		require.Zero(t, ours.code, ours.out)
		text, err := os.ReadFile(filepath.Join(dir, "rank-0.json"))
		require.NoError(t, err)
		var stats mpi.Stats
		require.NoError(t, json.Unmarshal(text, &stats))
		assert.Less(t, stats.Calls["Test"].N, uint64(10000), "of 30,000 and more")
		assert.Less(t, stats.Calls["TestAny"].N, uint64(10000), "of as many")
	})
}

// What Comm_idup makes is ours; its request is the host's.
func TestIdupIsOurs(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		dir, program := t.TempDir(), h.compile(t, "idup")
		ours := h.job(t, 2, []string{h.library(t), "EXANET_STATS=" + dir}, program)
		require.Zero(t, ours.code, ours.out)
		text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
		require.NoError(t, err)
		var stats mpi.Stats
		require.NoError(t, json.Unmarshal(text, &stats))
		for _, name := range []string{"MPI_Comm_idup", "MPI_Irecv", "MPI_Allreduce"} {
			assert.NotContains(t, stats.Passed, name)
		}
		assert.EqualValues(t, 1, stats.Passed["MPI_Send"],
			"the one to a rank that is not there, of which the host tells")
	})
}
