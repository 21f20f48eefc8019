//go:build real

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/unignored"
)

// Programs under the host MPI alone and with the library preloaded, which "make
// preload" has built.

func TestMain(m *testing.M) {
	unignored.Signals()
	flag.Parse()
	// UCX of MPICH 5 has a thread that looks for others in the file system. It is made before the program begins, and
	// until it ends takes signals that the program blocks.
	os.Setenv("UCX_VFS_ENABLE", "n")
	dir, err := os.MkdirTemp("", "abis")
	if err == nil {
		err = findFaults()
	}
	if err == nil {
		err = findABIs(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Every program has the same output under both.
func TestProgramsSeeTheSame(t *testing.T) {
	each := [][]string{{"0"}, {"1"}, {"2"}}
	for i, c := range []struct {
		name string
		args [][]string // when it is preloaded, each in turn
		only string     // the MPI
	}{
		{name: "p2p"}, {name: "channels"}, {name: "rendezvous"}, {name: "ahead"}, {name: "noted"}, {name: "late"},
		{name: "wait"}, {name: "probe"}, {name: "matched"}, {name: "wild"}, {name: "kept"}, {name: "types"},
		{name: "comm"}, {name: "idup"}, {name: "tests"}, {name: "newer"},
		{name: "coll", args: each}, {name: "neighbour", args: each}, {name: "ops"}, {name: "errors"},
		{name: "onesided"}, {name: "windows"},
		{name: "handles"}, {name: "guest"}, {name: "signals"}, {name: "busy"}, {name: "ssend"}, {name: "throws"},
		{name: "million"}, {name: "threads", args: [][]string{{"65536"}}}, {name: "idupthreads"},
		{name: "fortran"},
		{name: "dynamic", only: "openmpi"}, // MPICH cannot start processes
		{name: "large", only: "mpich"},     // Open MPI 4.1 does not have the functions
	} {
		t.Run(c.name, func(t *testing.T) {
			eachHost(t, func(t *testing.T, h *host) {
				if c.only != "" && c.only != h.mpi {
					return
				}
				lib, program := h.library(t), h.compile(t, c.name)
				args := c.args
				if args == nil {
					args = [][]string{nil}
				}
				for _, n := range rankCounts() {
					alone := h.job(t, n, nil, program)
					require.Zero(t, alone.code, "under the host MPI alone: %s", alone.out)
					for _, a := range args {
						ours := h.together(t, (i+n/2)%2 == 0).job(t, n, []string{lib},
							append([]string{program}, a...)...)
						same(t, alone, ours, fmt.Sprintf("%d ranks %v", n, a))
					}
				}
			})
		})
	}
}

// rankCounts are the numbers of ranks of a program's jobs.
func rankCounts() []int {
	if testing.Short() {
		return []int{2, 4}
	}
	return []int{2, 3, 4}
}

// The same where the ranks talk over the network, as those of different hosts do.
func TestOverTheNetwork(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib := h.library(t)
		for _, name := range []string{"p2p", "coll", "comm", "types", "wild", "matched", "threads", "idup"} {
			program, dir := h.compile(t, name), t.TempDir()
			alone := h.job(t, 3, nil, program)
			ours := h.job(t, 3, []string{lib, "EXANET_DEVICE=network", "EXANET_STATS=" + dir}, program)
			same(t, alone, ours, name)
			text, err := os.ReadFile(filepath.Join(dir, "rank-1.json"))
			require.NoError(t, err)
			var stats mpi.Stats
			require.NoError(t, json.Unmarshal(text, &stats))
			for what, calls := range stats.FastPath {
				assert.Zero(t, calls.N, "%s: %s", name, what)
			}
			assert.NotZero(t, stats.Control["EnvD"], name)
		}
	})
}

// The same with other protocols than the default; and with that where it copies.
func TestProtocols(t *testing.T) {
	most := []string{"readbased", "rtr", "envless", "ticket", "optimistic", "standing"}
	copying := []string{"customized", "auto"}
	eachHost(t, func(t *testing.T, h *host) {
		lib := h.library(t)
		for _, c := range []struct {
			name     string
			variants []string
		}{
			{"p2p", append(most, "customized")}, {"types", most}, {"wait", most}, {"probe", most},
			{"matched", copying}, // whose long sends come first
		} {
			program := h.compile(t, c.name)
			alone := h.job(t, 3, nil, program)
			for _, variant := range c.variants {
				dir := t.TempDir()
				ours := h.job(t, 3, []string{lib, "EXANET_VARIANT=" + variant, "EXANET_STATS=" + dir}, program)
				if variant == "optimistic" && c.name == "probe" {
					// Long messages that are probed break its assumptions (thesis 3.14).
					assert.NotZero(t, ours.code)
					assert.Contains(t, ours.out, "optimistic", "it says why")
					continue
				}
				same(t, alone, ours, c.name+", "+variant)
				copies := uint64(0)
				for _, rank := range statsOf(t, dir, 3) {
					assert.Equal(t, variant, rank.Variant)
					copies += rank.Counters["copies"]
				}
				if c.name == "matched" {
					assert.NotZero(t, copies, variant)
				}
			}
		}
	})
}

// pending is what MPICH 4.2.1 says at the end of its own calls that have failed, in the middle of other ranks' lines.
var pending = regexp.MustCompile(`MPICH: Builtin communicator \w+ has pending \d+ references\.\n`)

// same compares outcomes and tells the first line that differs.
func same(t *testing.T, want, got outcome, what string) {
	t.Helper()
	require.Zero(t, got.code, "%s: %.2000s", what, got.out)
	a := strings.Split(pending.ReplaceAllString(want.out, ""), "\n")
	b := strings.Split(pending.ReplaceAllString(got.out, ""), "\n")
	for i := range min(len(a), len(b)) {
		require.Equal(t, a[i], b[i], "%s: line %d", what, i+1)
	}
	require.Len(t, b, len(a), what)
}

// The job is ours when it says so, and only then.
func TestVerboseAndDisable(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "p2p")
		assert.Contains(t, h.job(t, 2, []string{lib, "EXANET_VERBOSE=1"}, program).out,
			"exanet: 2 ranks, protocol auto")
		assert.NotContains(t, h.job(t, 2, []string{lib, "EXANET_VERBOSE=1", "EXANET_DISABLE=1"}, program).out,
			"exanet:")
	})
}

// A program without MPI does not notice the library.
func TestProgramWithoutMPI(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		cmd := exec.Command("sh", "-c", "echo hello; exit 7")
		cmd.Env = append(os.Environ(), h.library(t))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		assert.Equal(t, 7, exit.ExitCode())
		assert.Equal(t, "hello\n", string(out))
	})
}

// The launcher of the host ends the job if a rank dies, and nothing of ours is left.
func TestDeath(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "death")
		for _, how := range []string{"kill", "abort", "fatal"} {
			before := shm(t)
			alone, ours := h.job(t, 3, nil, program, how), h.job(t, 3, []string{lib}, program, how)
			assert.NotZero(t, ours.code, how)
			if how == "kill" { // else the launcher's code depends on who ends first
				assert.Equal(t, alone.code, ours.code)
			}
			for _, left := range shm(t) {
				if strings.Contains(left, "exanet") {
					assert.Contains(t, before, left, how)
				}
			}
		}
	})
}

// Where the launcher does not tell of a death, the ranks do: calls that wait for the dead one end with an error.
func TestDeathUnseen(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "death")
		ways := []string{"calls", "ibarrier", "barrier", "alltoall"}
		if testing.Short() {
			ways = ways[:2]
		}
		for _, way := range ways {
			learned := filepath.Join(t.TempDir(), "learned")
			got := h.job(t, 7, []string{lib}, program, "unseen", way, learned)
			assert.NotZero(t, got.code)
			assert.Contains(t, got.out, "process failed", way)
			for rank := range 6 {
				assert.FileExists(t, learned+"."+strconv.Itoa(rank), way)
			}
		}
	})
}

// An error that the library finds, and that is fatal, ends the job as the host does: by
// the launcher, which takes the rank's word for its code.
func TestFatal(t *testing.T) {
	lib, program := library(t), compile(t, "death")
	alone, ours := job(t, 2, nil, program, "truncated"), job(t, 2, []string{lib}, program, "truncated")
	assert.Equal(t, alone.code, ours.code)
	assert.NotContains(t, alone.out, "left by exit")
	assert.NotContains(t, ours.out, "left by exit")
	// Of several ranks the launcher may lose what they have said.
	assert.Contains(t, job(t, 1, []string{lib}, program, "truncated").out,
		"exanet: fatal error in MPI_Recv of rank 0: Message truncated")
	assert.NotZero(t, job(t, 4, []string{lib}, program, "apart").code)
}

// What is cancelled ends, and both ends agree.
func TestCancel(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "cancel")
		got := h.job(t, 3, []string{lib}, program)
		assert.Zero(t, got.code)
		assert.Equal(t, "rank 0\ndone\nrank 1\ndone\nrank 2\ndone\n", got.out)
	})
}

// addresses, and the numbers by which MPICH tells apart errors and Open MPI jobs.
var addresses = regexp.MustCompile(`0x[0-9a-f]+|\d{2,}`)

// Errors in arguments are told in the host's words, which name the call; a rank that ends
// before its time says what it says alone, and the job ends with the same code.
func TestWords(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "words")
		hows := []string{"return", "rank", "root", "abort", "exit"}
		if h.mpi == "openmpi" { // which takes a second to end a job in disorder
			hows = hows[:2]
		}
		for _, how := range hows {
			// Of several ranks the launcher loses words, and its code depends on who ends first.
			alone, ours := h.job(t, 1, nil, program, how), h.job(t, 1, []string{lib}, program, how)
			for n := 0; n < 3 && strings.Contains(alone.out, "Hangup (signal 1)"); n++ {
				alone = h.job(t, 1, nil, program, how) // now and then the launcher is first
			}
			assert.NotZero(t, ours.code)
			assert.Equal(t, alone.code, ours.code, how)
			if !strings.Contains(alone.out+ours.out, "ORTE_ERROR_LOG") { // it loses them of one now and then
				assert.Equal(t, addresses.ReplaceAllString(alone.out, "*"), addresses.ReplaceAllString(ours.out, "*"),
					how)
			}
		}
	})
}

func shm(t *testing.T) (names []string) {
	t.Helper()
	list, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
