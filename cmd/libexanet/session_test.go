//go:build real

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// together is MPICH with the library in its launcher as well, if that is wanted, as LD_PRELOAD in front of the command
// and exanet preload have it: then the ranks of a host share a session. Others do anyway.
func (h *host) together(t *testing.T, wanted bool) *host {
	if h.mpi != "mpich" || !wanted {
		return h
	}
	shared := *h
	shared.env = []string{h.library(t)}
	return &shared
}

// Hydra's proxy has its ranks in its own session with the library, else in one each; they have process groups
// of their own either way. Other programs get the session that they ask for.
func TestSession(t *testing.T) {
	program := compile(t, "session")
	alone := strings.Split(strings.TrimSpace(job(t, 3, []string{library(t)}, program).out), "\n")
	require.Len(t, alone, 3)
	for _, line := range alone {
		require.Regexp(t, `, leads its session, parent's not, alone, child's own too$`, line)
	}
	slices.Sort(alone)
	require.Len(t, slices.Compact(alone), 3)

	shared := strings.Split(strings.TrimSpace(mpich.together(t, true).job(t, 3, []string{library(t)}, program).out),
		"\n")
	require.Len(t, shared, 3)
	require.Regexp(t, `, leads its processes, parent's too, alone, child's own too$`, shared[0])
	require.Len(t, slices.Compact(shared), 1, "one session, and one group of the scheduler")

	off := mpich.together(t, true)
	off.env = append(off.env, "EXANET_DISABLE=1")
	require.Contains(t, off.job(t, 1, nil, program).out, ", leads its session, parent's not, alone, child's own too\n")
}

// The launcher's end is its ranks' end, whatever session they are in.
func TestLauncherIsTold(t *testing.T) {
	program := compile(t, "exchange")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for _, h := range []*host{mpich, mpich.together(t, true)} {
			cmd := exec.Command(h.launcher[0], append(h.set(library(t)), "-np", "3", program)...)
			cmd.Env = append(os.Environ(), h.env...)
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool { return len(running(program)) == 3 }, time.Minute, time.Millisecond)
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, cmd.Process.Signal(s))
			_ = cmd.Wait()
			require.Eventually(t, func() bool { return len(running(program)) == 0 }, time.Minute, 5*time.Millisecond,
				"%v, %v", s, h.env)
		}
	}
}
