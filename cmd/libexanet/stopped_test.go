//go:build real

package main

import (
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ranks that stop in the middle of anything, and go on some time later when their peers may
// have turned to something else, lose nothing.
func TestStopped(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		for name, times := range map[string]int{"rendezvous": 40, "noted": 8, "ahead": 4} {
			if testing.Short() {
				times /= 4
			}
			program, rounds := h.compile(t, name), strconv.Itoa(times)
			alone := h.job(t, 2, nil, program, rounds)
			ended, stops := make(chan bool), make(chan int)
			go func() { stops <- stopSome(program, ended) }()
			ours := h.job(t, 2, []string{h.library(t)}, program, rounds)
			close(ended)
			require.NotZero(t, <-stops)
			same(t, alone, ours, name+", stopped now and then")
		}
	})
}

// stopSome stops processes that run a program for some milliseconds each until the job has
// ended, and returns how often.
func stopSome(program string, ended <-chan bool) (times int) {
	for {
		select {
		case <-ended:
			return times
		case <-time.After(time.Duration(rand.IntN(3000)) * time.Microsecond):
		}
		all := running(program)
		if len(all) < 2 {
			continue
		}
		pid := all[rand.IntN(len(all))]
		if syscall.Kill(pid, syscall.SIGSTOP) == nil {
			time.Sleep(time.Duration(rand.IntN(6000)) * time.Microsecond)
			_ = syscall.Kill(pid, syscall.SIGCONT)
			times++
		}
	}
}
