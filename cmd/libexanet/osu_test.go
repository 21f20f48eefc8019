//go:build real

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The benchmarks in C, which check what they receive (bench/osu).
func TestBenchmarkPrograms(t *testing.T) {
	sources, err := filepath.Glob("../../bench/osu/*.c")
	require.NoError(t, err)
	eachHost(t, func(t *testing.T, h *host) {
		program := filepath.Join(t.TempDir(), "osu")
		out, err := h.compiler(".c", append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra",
			"-Wno-stringop-overflow", "-Werror", "-o", program}, sources...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		lib := h.library(t)
		pairs := "latency,bw"
		alone := h.job(t, 2, nil, program, pairs, "-c", "-m", "4:65536", "-s", "128", "-i", "2", "-x", "1")
		require.Zero(t, alone.code, alone.out)
		for _, c := range []struct {
			ranks int
			args  string
			has   []string // of the output
		}{
			{2, pairs + " -c -m 4:65536 -s 128 -i 2 -x 1", []string{"latency", "bw"}},
			{2, pairs + " -a -c -m 4:65536 -s 128 -i 2 -x 1", nil},
			{2, "calls -m 65536 -s 128 -i 2 -x 1", []string{"calls, Recv of any tag", "calls, Iallreduce"}},
			{2, "progress -c -i 3 -u 5", []string{"progress, 9a-10", "progress, 10b"}},
			{2, "overlap -c -i 3", []string{"overlap, Irecv", "overlap, Isend"}},
			{3, "barrier,bcast,reduce,allreduce,reduce_scatter,scan,exscan,scatter,scatterv," +
				"gather,gatherv,allgather,allgatherv,alltoall,alltoallv -c -m 65536 -s 32 -i 2 -x 1",
				[]string{"barrier", "bcast", "reduce", "allreduce", "reduce_scatter", "scan", "exscan", "scatter",
					"scatterv", "gather", "gatherv", "allgather", "allgatherv", "alltoall", "alltoallv"}},
			{2, "alltoall,alltoallv,allgather -c -m 65536 -s 32 -i 2 -x 1", nil},
			{2, "alltoall,alltoallv,allgather -a -c -m 65536 -s 32 -i 2 -x 1", nil},
			{3, "idle -t 20", []string{"idle, Recv", "idle, Wait", "idle, Ssend", "idle, Barrier",
				"idle, Allreduce"}},
			{2, "initfini", []string{"initfini"}},
		} {
			ours := h.job(t, c.ranks, []string{lib}, append([]string{program}, strings.Fields(c.args)...)...)
			require.Zero(t, ours.code, "%s: %s", c.args, ours.out)
			for _, name := range c.has {
				assert.Regexp(t, "(?m)^# exanet's "+name+", [23] ranks\n# .*\n[ 0-9]+\\.", ours.out)
			}
		}
		for _, refused := range []string{"-c", "-a"} { // what the ranks cannot read are messages
			const direct = "bcast:direct,scatter:direct,gather:direct," +
				"allgather:direct,allgatherv:direct,alltoall:direct"
			ours := h.job(t, 3, []string{lib, "EXANET_COLL=" + direct},
				program, strings.ReplaceAll(direct, ":direct", ""), refused, "-c", "-m", "65536", "-s", "32", "-i", "2",
				"-x", "1")
			require.Zero(t, ours.code, "%s: %s", refused, ours.out)
		}
	})
}
