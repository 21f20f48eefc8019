//go:build real

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The thread of Go's runtime that looks after the others, and sleeps for 20 us again and again, is the
// one that may sleep for longer: threads.c knows it by its number.
func TestNaps(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		out := h.job(t, 2, []string{h.library(t)}, h.compile(t, "naps"))
		if strings.Contains(out.out, "does not tell") {
			t.Skip("the kernel does not say what threads wait for (/proc/self/syscall): ", out.out)
		}
		require.Equal(t, outcome{"5000000\n", 0}, out)
	})
}
