package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func simulated(t *testing.T, line string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, 0, run(append([]string{"sim"}, strings.Fields(line)...), &out, &errs), errs.String())
	require.Empty(t, progressLines.ReplaceAllString(errs.String(), "")) // it may take some time
	return out.String()
}

func TestSimBenchmarks(t *testing.T) {
	sizes := map[string]string{"barrier": "", "halo": "4", "mpigraph": "1000"}
	for name, b := range simBenches {
		t.Run(name, func(t *testing.T) {
			line := "bench " + name + " --variant all --iterations 3"
			if !b.pair {
				line += " --ranks 9 --topology shuffled"
			}
			size, special := sizes[name]
			if !special {
				size = "8,1000"
			}
			if size != "" {
				line += " --sizes " + size
			}
			out := simulated(t, line)
			require.Equal(t, out, simulated(t, line), "the same figures each time")
			for _, v := range mpi.Variants() {
				require.Contains(t, out, v)
			}
			require.Contains(t, out, "# fast receives, in 100")
			require.Contains(t, out, "\nEnvD ")
			require.NotContains(t, out, "NaN")

			var f simFigures
			require.NoError(t, json.Unmarshal([]byte(simulated(t, line+" --json")), &f))
			require.Len(t, f.Series, len(mpi.Variants())*max(len(b.series), 1))
			for _, s := range f.Series {
				for _, r := range s.Rows {
					require.Positive(t, r.Value, "%s of %d bytes", s.Variant, r.Size)
				}
				require.NotZero(t, s.Control["EnvD"])
			}
		})
	}
}

func TestSimTopologies(t *testing.T) {
	last := ""
	for _, topology := range []string{"same-qfdb", "3-hops", "5-hops"} {
		out := simulated(t, "bench latency --sizes 8 --topology "+topology)
		require.Contains(t, out, topology)
		require.NotEqual(t, last, out)
		last = out
	}
	require.Contains(t, simulated(t, "bench barrier --ranks 512 --per-fpga 4 --iterations 1 --warmup 0"),
		"4 ranks an FPGA")
	require.Contains(t, simulated(t, "bench barrier --ranks 600 --torus 8x8x8 --iterations 1 --warmup 0"),
		"torus 8x8x8")
	slow := simulated(t, "bench latency --sizes 8 --set hop_inside=1000000")
	require.Contains(t, slow, "hop_inside=1000000")
	require.Regexp(t, `8 +100\d\.`, slow)
}

// Without --variant it is the protocol of EXANET_VARIANT that is simulated.
func TestSimVariantOfTheEnvironment(t *testing.T) {
	if len(mpi.Variants()) == 1 {
		t.Skip("there is one protocol")
	}
	const line = "bench latency --sizes 8 --iterations 1"
	readbased := simulated(t, line+" --variant readbased")
	ticket := simulated(t, line+" --variant ticket")
	require.NotEqual(t, readbased, ticket)
	t.Setenv("EXANET_VARIANT", "readbased")
	require.Equal(t, readbased, simulated(t, line))
	require.Equal(t, ticket, simulated(t, line+" --variant ticket"))
	t.Setenv("EXANET_VARIANT", "nosuch")
	var out, errs bytes.Buffer
	require.Equal(t, exitUsage, run(strings.Fields("sim "+line), &out, &errs))
	require.Contains(t, errs.String(), `"nosuch"`)
}

func TestSimConstants(t *testing.T) {
	out := simulated(t, "constants")
	require.Contains(t, out, "hop_outside")
	require.Contains(t, out, "thesis")
}

func TestSimMistakes(t *testing.T) {
	for line, says := range map[string]string{
		"sim frobnicate":                                    `"frobnicate"`,
		"sim bench":                                         "which benchmark",
		"sim bench nosuch":                                  `"nosuch"`,
		"sim bench latency --ranks 3":                       "two ranks",
		"sim bench latency --topology torus":                "same-qfdb",
		"sim bench bcast --topology 3-hops":                 "two ranks",
		"sim bench bcast --ranks 129":                       "do not fit",
		"sim bench bcast --torus 1x1":                       "4x4x2",
		"sim bench latency --topology 5-hops --torus 2x2x2": "5 hops apart",
		"sim bench barrier --sizes 8":                       "no sizes",
		"sim bench latency --set nosuch=1":                  `"nosuch"`,
		"sim bench latency --set call=x":                    "number",
		"sim bench latency --set call=-1":                   "number",
		"sim bench latency --variant nosuch":                "--variant nosuch: use all",
		"sim bench latency --iterations 0":                  "--iterations",
		"sim bench latency --warmup -1":                     "--warmup",
		"sim bench latency --set noise=2":                   "from 0 to 1",
		"sim bench halo --sizes 100000":                     "up to 512",
		"sim bench bcast --per-fpga 5":                      "4 cores",
		"sim run":                                           "-n N",
		"sim run -n 2":                                      "which program",
		"sim run -n 2 --variant all true":                   "one protocol",
	} {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, 2, run(strings.Fields(line), &out, &errs), errs.String())
			require.Empty(t, out.String())
			require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
			require.Contains(t, errs.String(), says)
		})
	}
}

func TestSimRun(t *testing.T) {
	cg := filepath.Join(t.TempDir(), "cg")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", cg, "../../examples/cg").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, variant := range mpi.Variants() {
		stdout, stderr, code := exanet(t, "", "sim", "run", "-n", "27", "--variant", variant, cg, "-grid", "4")
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, "12 x 12 x 12 on 3 x 3 x 3 ranks")
		require.Contains(t, stderr, "virtual time")
		require.Contains(t, stderr, variant)
		again, twice, _ := exanet(t, "", "sim", "run", "-n", "27", "--variant", variant, cg, "-grid", "4")
		require.Equal(t, stdout, again)
		require.Equal(t, stderr, twice)
	}
	_, stderr, code := exanet(t, "", "sim", "run", "-n", "2", "true")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "has not run in virtual time")
	_, stderr, code = exanet(t, "", "sim", "run", "-n", "2", cg, "-grid", "x")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "cg:")
	_, stderr, code = exanet(t, "", "sim", "run", "-n", "2", "./nosuch")
	require.Equal(t, 127, code)
	require.Equal(t, "exanet: cannot start ./nosuch: no such file\n", stderr)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte{0}, 0o777))
	_, stderr, code = exanet(t, "", "sim", "run", "-n", "2", text)
	require.Equal(t, 126, code)
	require.Equal(t, "exanet: cannot start "+text+": exec format error\n", stderr)
}
