package launch_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
)

func init() {
	roles["print"] = printRole
}

// printRole prints lines of random lengths in pieces of random lengths.
func printRole(args []string) int {
	rank := os.Getenv("EXANET_RANK")
	for i := range 300 {
		line := fmt.Sprintf("%s %d %s.\n", rank, i, strings.Repeat(rank, rand.IntN(1+rand.IntN(9000))))
		for len(line) > 0 {
			n := 1 + rand.IntN(len(line))
			_, _ = os.Stdout.WriteString(line[:n])
			line = line[n:]
		}
	}
	return 0
}

// self is a job whose ranks are this test binary in a role.
func self(ranks int, role string) launch.Config {
	return launch.Config{Ranks: ranks, Prog: "/proc/self/exe", Env: append(os.Environ(), roleVar+"="+role)}
}

func TestLinesOfRanksDoNotMix(t *testing.T) {
	cfg := self(4, "print")
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	whole := regexp.MustCompile(`^(\d) (\d+) (\d*)\.$`)
	next := make([]int, cfg.Ranks)
	for line := range strings.Lines(o.out) {
		m := whole.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		require.NotNil(t, m, "not a line of one rank: %.200q", line)
		require.Empty(t, strings.Trim(m[3], m[1]), "two ranks in a line")
		rank, _ := strconv.Atoi(m[1])
		require.Equal(t, strconv.Itoa(next[rank]), m[2])
		next[rank]++
	}
	require.Equal(t, []int{300, 300, 300, 300}, next)
}

func TestOutputIsUnharmed(t *testing.T) {
	random := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	for name, data := range map[string][]byte{
		"random":           random,
		"one long line":    bytes.Repeat([]byte("x"), 3<<20),
		"many short lines": bytes.Repeat([]byte("\n\n1\n"), 1<<18),
		"no newline":       []byte("end"),
		"nothing":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := runJob(t, launch.Config{Ranks: 1, Prog: "cat", Stdin: bytes.NewReader(data), Stdout: &out})
			require.NoError(t, o.err)
			require.True(t, bytes.Equal(data, out.Bytes()), "%d bytes in, %d out", len(data), out.Len())
		})
	}
}

func TestUnfinishedLastLines(t *testing.T) {
	cfg := shell(`printf "end of $EXANET_RANK,"; printf "errors of $EXANET_RANK," >&2`)
	cfg.Ranks = 3
	o := runJob(t, cfg)
	for rank := range 3 {
		require.Contains(t, o.out, fmt.Sprintf("end of %d,", rank))
		require.Contains(t, o.errs, fmt.Sprintf("errors of %d,", rank))
	}
	require.Len(t, o.out, 3*len("end of 0,"))
}

func TestLabel(t *testing.T) {
	cfg := shell(`echo one; echo; printf three; echo four >&2`)
	cfg.Ranks, cfg.Label = 2, true
	o := runJob(t, cfg)
	for rank := range 2 {
		require.Contains(t, o.errs, fmt.Sprintf("[%d] four\n", rank))
	}
	require.ElementsMatch(t, []string{"[0] one\n", "[0] \n", "[1] one\n", "[1] \n"},
		regexp.MustCompile(`\[\d\] (one)?\n`).FindAllString(o.out, -1))
	require.Contains(t, o.out, "[0] three")
	require.Contains(t, o.out, "[1] three")
}

// A process that leaves the job may keep its output open.
func TestStrangersDoNotHoldTheJob(t *testing.T) {
	o := runJob(t, shell(`setsid sleep 1000 & echo $!; echo last words`))
	require.NoError(t, o.err)
	require.Contains(t, o.out, "last words\n")
	first, _, _ := strings.Cut(o.out, "\n")
	stranger, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(stranger, syscall.SIGKILL), "it has gone on")
}

func TestOutputThatNobodyReads(t *testing.T) {
	for name, command := range map[string][]string{"closed": {"yes"},
		"closed, below a shell": {"sh", "-c", "yes; exit $?"}} {
		t.Run(name, func(t *testing.T) {
			l := pipeline(t, 2, command[0], command[1:]...)
			b := make([]byte, 4)
			_, err := io.ReadFull(l.reader, b)
			require.NoError(t, err)
			require.NoError(t, l.reader.Close())
			require.Equal(t, 141, l.wait(t)) // SIGPIPE, as in any pipeline
			require.Empty(t, l.err.String())
		})
	}
	t.Run("stuck", func(t *testing.T) {
		l := pipeline(t, 2, "sh", "-c", "[ $EXANET_RANK = 1 ] && { sleep 0.3; exit 5; }; exec yes")
		require.Equal(t, 5, l.wait(t))
		require.Contains(t, l.err.String(), "exited with code 5")
	})
}

type pipelined struct {
	*launcher
	reader *os.File
}

// pipeline starts a launcher that writes to a pipe.
func pipeline(t *testing.T, n int, prog string, args ...string) pipelined {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	l := prepareLauncher(n, prog, args...)
	l.Cmd.Stdout = w
	l.start(t)
	require.NoError(t, w.Close())
	return pipelined{l, r}
}

func TestSlowReaderGetsEverything(t *testing.T) {
	l := pipeline(t, 1, "sh", "-c", "seq 1 200000")
	time.Sleep(300 * time.Millisecond) // the rank has long ended, but for the full pipe
	got, err := io.ReadAll(l.reader)
	require.NoError(t, err)
	want, err := exec.Command("seq", "1", "200000").Output()
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%d bytes of %d", len(got), len(want))
	require.Equal(t, 0, l.wait(t))
}
