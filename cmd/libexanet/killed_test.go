//go:build real

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rank is killed at any moment, from its start on: the job ends, and nothing of it
// is left.
func TestKilled(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		lib, program := h.library(t), h.compile(t, "exchange")
		times := 38
		if h.mpi == "openmpi" { // whose launcher takes a second to end
			times = 12
		}
		if testing.Short() {
			times /= 4
		}
		for i := range times {
			before := shm(t)
			killed, over := make(chan bool, 1), make(chan struct{})
			go func() {
				killed <- killOne(program, time.Duration(rand.IntN(250))*time.Millisecond)
				endLauncher(t, program, over)
			}()
			got := h.together(t, i%2 == 0).job(t, 3, []string{lib}, program)
			close(over)
			require.True(t, <-killed, "%d: %s", i, got.out)
			require.NotZero(t, got.code, i)
			require.Eventually(t, func() bool { return len(running(program)) == 0 }, time.Minute, 5*time.Millisecond,
				i)
			for _, left := range shm(t) {
				if strings.Contains(left, "exanet") {
					assert.Contains(t, before, left)
				}
			}
		}
	})
}

// killOne kills one of the processes that run a program, some time after the first of
// them has begun.
func killOne(program string, after time.Duration) bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if len(running(program)) == 0 {
			continue
		}
		time.Sleep(after)
		all := running(program)
		return len(all) > 0 && syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL) == nil
	}
	return false
}

// endLauncher kills a launcher that goes on long after the last rank of its job has ended. Open MPI's may
// wait for itself as it ends (PMIx_server_finalize), whatever its ranks were.
func endLauncher(t *testing.T, program string, over <-chan struct{}) {
	for alone := time.Now(); time.Since(alone) < 30*time.Second; {
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if len(running(program)) > 0 {
			alone = time.Now()
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		words, _ := os.ReadFile(f)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err == nil && strings.Contains(string(words), program) {
			t.Logf("killed a launcher that did not end by itself: %q", words)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// running are the processes that run a program.
func running(program string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == program {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(l))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
