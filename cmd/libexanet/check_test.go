//go:build real

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The mistakes of testdata/mistakes.c, and what the checking mode says of each.
var mistakes = []struct {
	name  string
	finds string
}{
	{"types", `rank 1 receives from rank 0, tag 4: different types: \S+ \(mistakes.c:\d+\) sent 2 float32, ` +
		`\S+ \(mistakes.c:\d+\) expects 1 float64`},
	{"structs", `different types`},
	{"calls", `MPI_COMM_WORLD: different calls: rank 0: MPI_Bcast of 1 int32, root 0 \(mistakes.c:\d+\); ` +
		`rank 1: MPI_Barrier \(mistakes.c:\d+\)`},
	{"roots", `different roots: rank 0: MPI_Reduce Sum of 1 int32, root 0 .*; rank 1: MPI_Reduce Sum of .*, root 1`},
	{"operators", `different operators: rank 0: MPI_Allreduce Sum .*; rank 1: MPI_Allreduce Max`},
	{"counts", `different counts: rank 0: MPI_Bcast of 1 int32, .*; rank 1: MPI_Bcast of 2 int32`},
	{"reductions", `different types: rank 0: MPI_Allreduce Sum of 1 int32 .*; rank 1: MPI_Allreduce Sum of 1 float32`},
	{"overlap", `writes to memory that the pending MPI_Irecv \(mistakes.c:\d+\) writes to`},
	{"changed", `rank 0: the data of MPI_Isend \(mistakes.c:\d+\) were changed before it was waited for`},
	{"request", `rank 0: the request of MPI_Irecv \(mistakes.c:\d+\) was not waited for when Finalize was called`},
	{"message", `rank 1: a message from rank 0, tag 7, was never received: MPI_Send of 3 int16 \(mistakes.c:\d+\)`},
	{"deadlock", `deadlock: rank 0 waits in MPI_Recv from rank 1, tag 9 \(mistakes.c:\d+\); rank 1 waits in MPI_Recv`},
	{"sends", `deadlock: rank 0 waits in MPI_Send to rank 1, tag 0 .*; rank 1 waits in MPI_Send to rank 0`},
	{"barrier", `deadlock: rank 0 waits in MPI_Recv from rank 1, tag 0 .*; rank 1 waits in MPI_Barrier on MPI_COMM_W`},
}

// Each is found, once, and nothing else; a program with none of them has no finding.
func TestCheckingFindsMistakes(t *testing.T) {
	eachHost(t, func(t *testing.T, h *host) {
		program := h.build(t, filepath.Join("testdata", "mistakes.c"), "-g")
		some := mistakes
		if testing.Short() && h.mpi == "openmpi" { // which takes a second to end a job in disorder
			some = mistakes[:1]
		}
		for _, m := range some {
			out := findingsOf(h.job(t, 2, []string{h.library(t), "EXANET_CHECK=1"}, program, m.name).out)
			if assert.Len(t, out, 1, m.name) {
				assert.Regexp(t, m.finds, out[0])
			}
		}
		assert.Empty(t, findingsOf(h.job(t, 2, []string{h.library(t), "EXANET_CHECK=1"}, program).out))
		// Without its lines a program is told by addresses.
		program = h.build(t, filepath.Join("testdata", "mistakes.c"))
		out := h.job(t, 2, []string{h.library(t), "EXANET_CHECK=1"}, program, "changed").out
		assert.Regexp(t, `the data of MPI_Isend \(mistakes\+0x[0-9a-f]+\) were changed`, out)
	})
}

// findingsOf are the lines of findings in an output.
func findingsOf(out string) (lines []string) {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "exanet check: ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// The other programs see the same in the checking mode as without it. Nothing is found in them, but that messages
// are too long, which some try.
func TestCheckingFindsNothingElse(t *testing.T) {
	names := []string{"p2p", "wait", "types", "coll", "probe", "comm", "ops", "channels", "ahead", "late", "matched",
		"wild", "kept", "idup", "tests", "neighbour", "onesided", "windows", "handles", "guest", "busy", "ssend",
		"million", "threads", "idupthreads", "fortran", "rendezvous", "noted", "errors"}
	ranks := 3
	if testing.Short() {
		names, ranks = names[:4], 2
	}
	tooLong := regexp.MustCompile(`exanet check: rank \d+: a message .* is too long for .*\n`)
	eachHost(t, func(t *testing.T, h *host) {
		for _, name := range names {
			if name == "fortran" && h.abi {
				continue
			}
			program := h.compile(t, name)
			alone := h.job(t, ranks, nil, program)
			got := h.job(t, ranks, []string{h.library(t), "EXANET_CHECK=1"}, program)
			got.out = tooLong.ReplaceAllString(got.out, "")
			same(t, alone, got, name)
		}
	})
}
