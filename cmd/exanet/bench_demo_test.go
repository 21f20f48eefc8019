package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// program is the command line as users have it.
type program struct {
	path string
	tmp  string // its temporary directory, which must stay empty
}

func buildProgram(t *testing.T) *program {
	t.Helper()
	p := &program{path: filepath.Join(t.TempDir(), "exanet"), tmp: t.TempDir()}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return p
}

func (p *program) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), p.path, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+p.tmp)
	return cmd
}

func (p *program) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := p.command(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	left, err := os.ReadDir(p.tmp)
	require.NoError(t, err)
	require.Empty(t, left, "temporary files are left")
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// ok is run for a command that must succeed in silence.
func (p *program) ok(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := p.run(t, args...)
	require.Zero(t, code, "%s%s", out, errs)
	require.Empty(t, progressLines.ReplaceAllString(errs, ""))
	return out
}

// progressLines are what a command says of itself every few seconds, on a slow machine.
var progressLines = regexp.MustCompile(`(?m)^exanet: .*, after [0-9hms.]+\n`)

func TestBenchAndDemoAsCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the command line")
	}
	p := buildProgram(t)

	t.Run("demo", func(t *testing.T) {
		out := p.ok(t, "demo", "--grid=40")
		require.Contains(t, out, "80 x 80 x 40 points, 4 processes")
		require.Contains(t, out, "\nOK: ")
		for _, row := range []string{"halo exchange", "allreduce", "compute", "RTS", "CTS", "RTR", "Env", "EnvD",
			"EnvDS", "Ack", "RDMA writes", "receives", "fast receives"} {
			require.Regexp(t, `(?m)^  `+row+` +[0-9.]+`, out)
		}
		// Faces of 40 x 40 numbers are long messages.
		require.NotRegexp(t, `(?m)^  RDMA writes +0 `, out)
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\r")
	})
	t.Run("demo of other shapes", func(t *testing.T) {
		for _, args := range [][]string{{"-n1", "--grid=5"}, {"-n3", "--grid=5x6x7"},
			{"-n8", "--grid=12", "--iterations=7"}} {
			require.Contains(t, p.ok(t, append([]string{"demo"}, args...)...), "\nOK: ")
		}
	})
	t.Run("interrupted demo leaves nothing", func(t *testing.T) {
		for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			cmd := p.command(t, "demo", "--grid=100", "--iterations=100000")
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				left, err := os.ReadDir(p.tmp)
				return err == nil && len(left) > 0
			}, time.Minute, time.Millisecond)
			time.Sleep(100 * time.Millisecond) // the ranks are on their way
			require.NoError(t, cmd.Process.Signal(end))
			require.Error(t, cmd.Wait())
			require.Equal(t, 128+int(end), cmd.ProcessState.ExitCode())
		}
		left, err := os.ReadDir(p.tmp)
		require.NoError(t, err)
		require.Empty(t, left)
	})
	t.Run("latency and bw", func(t *testing.T) {
		for _, name := range []string{"latency", "multi_lat", "bw", "bibw"} {
			out := p.ok(t, "bench", name, "--sizes", "1:4", "--iterations=20", "--warmup=2", "--repeat=3")
			require.Regexp(t, `^# exanet bench `+name+`, 2 ranks, medians of 3\n# Size .*\n1 +[0-9.]+\n2 `+
				`+[0-9.]+\n4 +[0-9.]+\n$`, out)
		}
	})
	t.Run("TCP alone", func(t *testing.T) {
		for _, name := range []string{"latency", "bw"} {
			out := p.ok(t, "bench", name, "--tcp", "--sizes", "8,100000", "--iterations=20", "--warmup=2")
			require.Regexp(t, `^# exanet bench `+name+`, 2 ranks, TCP alone\n# Size .*\n8 +[0-9.]+\n100000 +`+
				`[0-9.]+\n$`, out)
			out = p.ok(t, "bench", name, "--tcp", "--sizes=8", "--iterations=20", "--warmup=2", "--json")
			require.Contains(t, out, `"tcp": true`)
		}
	})
	t.Run("protocols side by side", func(t *testing.T) {
		few := []string{"--sizes=8,20000", "--iterations=20", "--warmup=2"}
		for _, name := range []string{"latency", "bw"} {
			out := p.ok(t, append([]string{"bench", name, "--variant=all", "--repeat=2"}, few...)...)
			n := fmt.Sprint(len(mpi.Variants()))
			table := `# Size +` + strings.Join(mpi.Variants(), " +") + `\n8( +[0-9.]+){` + n + `}\n20000( +[0-9.]+){` +
				n + `}\n`
			want := `^# exanet bench ` + name + `, 2 ranks, medians of 2\n# (Latency \(us\)|Bandwidth \(MB/s\))\n` +
				table
			if slices.Contains(mpi.Variants(), variantBase) && len(mpi.Variants()) > 1 {
				want += `# as a multiple of readbased's\n` + table
			}
			require.Regexp(t, want+`$`, out)
		}
		var got comparedFigures
		last := mpi.Variants()[len(mpi.Variants())-1]
		out := p.ok(t, append([]string{"bench", "latency", "--variant", last, "-n3", "--repeat=3", "--json"},
			few...)...)
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		require.Equal(t, "latency", got.Benchmark)
		require.Equal(t, "us", got.Unit)
		require.Equal(t, 3, got.Ranks)
		require.Len(t, got.Variants, 1)
		require.Equal(t, last, got.Variants[0].Name)
		require.Len(t, got.Variants[0].Rows, 2)
		for i, size := range []int{8, 20000} {
			row := got.Variants[0].Rows[i]
			require.Equal(t, size, row.Size)
			require.Len(t, row.Repeats, 3)
			require.Positive(t, row.Value)
		}
	})
	t.Run("as ranks of a job", func(t *testing.T) {
		out := p.ok(t, "run", "-n", "3", p.path, "bench", "latency", "--sizes=0,8", "--iterations=20", "--repeat=2",
			"--json")
		var got figures
		require.NoError(t, json.Unmarshal([]byte(out), &got))
		require.Equal(t, 3, got.Ranks)
		require.Equal(t, "us", got.Unit)
		require.Len(t, got.Rows, 2)
		require.Equal(t, 8, got.Rows[1].Size)
		require.Len(t, got.Rows[1].Repeats, 2)
		require.Positive(t, got.Rows[1].Value)
	})
	t.Run("barrier", func(t *testing.T) {
		out := p.ok(t, "bench", "barrier", "-n", "5", "--iterations=20")
		require.Regexp(t, `^# exanet bench barrier, 5 ranks\n# Avg Latency\(us\)\n +[0-9.]+\n# context switch, `+
			`sched_yield: [0-9.]+ us\n# A barrier .*\n$`, out)
		var got barrierFigures
		require.NoError(t, json.Unmarshal([]byte(p.ok(t, "bench", "barrier", "-n", "2", "--iterations=20", "--json")),
			&got))
		require.Positive(t, got.PerRank)
		require.Len(t, got.Repeats, 1)
	})
	t.Run("pairs and collectives", func(t *testing.T) {
		few := []string{"-n4", "--iterations=5", "--warmup=1", "--sizes=8,5000"}
		require.Regexp(t, `^# exanet bench mbw_mr, 4 ranks\n# Size +MB/s +Messages/s\n8( +[0-9.]+){2}\n5000( `+
			`+[0-9.]+){2}\n$`, p.ok(t, append([]string{"bench", "mbw_mr"}, few...)...))
		out := p.ok(t, append([]string{"bench", "coll", "--op=allreduce,alltoallv"}, few...)...)
		require.Regexp(t, `^# exanet bench coll, 4 ranks, allreduce\n(.*\n){4}# exanet bench coll, 4 ranks, `+
			`alltoallv\n(.*\n){3}$`, out)
	})
	t.Run("report", func(t *testing.T) {
		require.Contains(t, p.ok(t, "bench", "report", "--list"), "\nbandwidth     Bandwidth\n")
		out, errs, code := p.run(t, "bench", "report", "--out", filepath.Join(t.TempDir(), "page"),
			"--programs="+t.TempDir())
		require.NotZero(t, code)
		require.Empty(t, out)
		require.Contains(t, errs, "make bench-programs")
		text := filepath.Join(t.TempDir(), "text")
		require.NoError(t, os.WriteFile(text, []byte("text"), 0o666))
		for file, why := range map[string]string{text: text + " is no file of figures",
			text + ".none": "there are no figures: " + text + ".none is not there"} {
			_, errs, code = p.run(t, "bench", "report", "--render", "--out", text, "--results", file)
			require.Equal(t, 1, code)
			require.Contains(t, errs, why)
		}
	})
	t.Run("idle", func(t *testing.T) {
		out := p.ok(t, "bench", "idle", "-n", "3", "--time=50ms")
		require.Regexp(t, `(?m)^Recv +[0-9.]+ +[0-9.]+ +[0-9.]+\nProbe .*\nBarrier .*\n$`, out)
	})
	t.Run("floor", func(t *testing.T) {
		var got floorFigures
		require.NoError(t, json.Unmarshal([]byte(p.ok(t, "bench", "floor", "--repeat=1", "--with=latency,bw",
			"--json")), &got))
		require.Len(t, got.MPI, 2)
		for _, c := range got.MPI {
			require.Positive(t, c.Value)
			for _, l := range got.Lines {
				if l.Name == c.Against && l.Refused == "" {
					require.Positive(t, c.Ratio)
				}
			}
		}
	})
	t.Run("mistakes", func(t *testing.T) {
		missing := filepath.Join(t.TempDir(), "missing")
		for _, args := range []string{
			"demo -n 0", "demo -n x", "demo --grid 0", "demo --grid 1x2", "demo --grid 4096", "demo --iterations 0",
			"demo rest", "demo --unknown",
			"bench nonsense", "bench latency -n 1", "bench latency --sizes 8:1", "bench latency --sizes=",
			"bench bw --sizes 1k",
			"bench bw --iterations -1", "bench bw --warmup -2", "bench bw --repeat 0", "bench latency rest",
			"bench latency --variant tickets", "bench bw --variant=", "bench bw --variant ticket,",
			"bench latency --variant all,ticket", "bench bw --variant ticket,ticket",
			"bench latency --variant all --repeat 0", "bench bw --tcp --variant all", "bench bibw --tcp",
			"bench barrier -n 0", "bench barrier --sizes 1", "bench idle -n 1", "bench idle --time 0s",
			"bench multi_lat -n 3", "bench mbw_mr -n 3", "bench coll --op sums", "bench floor --sizes x",
			"bench floor --sizes 8388608", "bench floor --sizes 8 --json",
			"bench report rest", "bench report --only nothing", "bench report --only=", "bench report --out=",
			"bench report --hosts a,b", "bench report --hosts a,b,a", "bench report --hosts a:2,b:2,c:2",
			"bench report --hosts=", "bench report --hosts a,b,-c", "bench report --shell x",
			"bench report --hosts a,b,c --only applications",
			"bench report --rounds -1", "bench report --baseline " + missing, "bench floor --with nothing",
			"bench floor --repeat 0", "bench floor rest", "bench floor --ranks 4",
			"bench floor --ranks 99 --sizes 8", "bench floor --ranks 4 --sizes 131072",
			"bench floor --ranks 4 --sizes 8 --json",
		} {
			out, errs, code := p.run(t, strings.Fields(args)...)
			require.Equal(t, exitUsage, code, "%s: %s", args, errs)
			require.Empty(t, out, args)
			require.Regexp(t, `^exanet: [^\n]+\n$`, errs, args)
		}
	})
	t.Run("commands that start ranks refuse to be ranks", func(t *testing.T) {
		for _, args := range [][]string{{"demo"}, {"bench", "floor"}, {"bench", "report"},
			{"bench", "bw", "--variant=all"}} {
			cmd := p.command(t, args...)
			cmd.Env = append(cmd.Env, "EXANET_RANK=0")
			out, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, exitUsage, cmd.ProcessState.ExitCode())
			require.Regexp(t, `^exanet: [^\n]*outside a job[^\n]*\n$`, string(out))
		}
	})
	t.Run("help", func(t *testing.T) {
		for _, args := range []string{"demo", "demo-rank", "bench", "bench latency", "bench bw", "bench barrier",
			"bench idle", "bench floor", "bench floor-peer", "bench report", "bench mbw_mr"} {
			out := p.ok(t, append(strings.Fields(args), "--help")...)
			require.Regexp(t, regexp.MustCompile(`(?m)^Examples:\n  exanet `), out, args)
		}
	})
}
