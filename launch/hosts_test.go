package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	roles["hosts"] = hostsRole
	roles["part"] = partRole
}

// Hosts of the tests are this one: the remote shell forgets which it was to go to.
const (
	localShell = `shift; exec sh -c "$*"`
	shellVar   = "EXANET_TEST_SHELL" // another remote shell: a script, whose arguments are a host and a command
	markVar    = "EXANET_TEST_MARK"  // in the environment of all processes of a job
	giveUpVar  = "EXANET_TEST_GIVE_UP"
)

// hostsRole runs a job on hosts: LIST TIMEOUT PROG ARGS.
func hostsRole(args []string) int {
	os.Unsetenv(roleVar)
	env := append(os.Environ(), "EXANET_DEVICE=network")
	os.Setenv(roleVar, "part") // for what the remote shell runs
	list, err := launch.ParseHosts(args[0])
	if err != nil {
		panic(err)
	}
	timeout, err := time.ParseDuration(args[1])
	if err != nil {
		panic(err)
	}
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if d, err := time.ParseDuration(os.Getenv(giveUpVar)); err == nil {
		launch.GiveUpSoon(d)
	}
	shell := localShell
	if s := os.Getenv(shellVar); s != "" {
		shell = s
	}
	err = launch.RunHosts(context.Background(), launch.Config{
		Prog: args[2], Args: args[3:], Env: env, Timeout: timeout,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}, launch.Hosts{List: list, Shell: []string{"sh", "-c", shell, "sh"}, Exanet: exe})
	return hostsCode(err)
}

func partRole([]string) int {
	os.Unsetenv(roleVar)
	if os.Getenv(patientVar) != "" {
		launch.BePatient(time.Hour)
	}
	return exitCode(launch.RunPart(context.Background(), os.Stdin, os.Stdout, os.Stderr))
}

// hostsCode is exitCode of a job on hosts: what has failed there has been told.
func hostsCode(err error) int {
	var host *launch.HostError
	var timeout *launch.TimeoutError
	switch {
	case errors.As(err, &host):
		return host.ExitCode()
	case errors.As(err, &timeout):
		return timeout.ExitCode()
	}
	return exitCode(err)
}

// hostsJob is a job on hosts, whose ranks are this binary in a role.
type hostsJob struct {
	*launcher
	mark string
}

func prepareHosts(t *testing.T, list, timeout, role string, args ...string) *hostsJob {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return prepareHostsShell(t, list, timeout, append([]string{"env", roleVar + "=" + role, exe}, args...)...)
}

// prepareHostsShell is a job of any program.
func prepareHostsShell(t *testing.T, list, timeout string, command ...string) *hostsJob {
	t.Helper()
	l := &launcher{
		Cmd:   exec.Command("/proc/self/exe", append([]string{list, timeout}, command...)...),
		ended: make(chan struct{}),
	}
	j := &hostsJob{l, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())}
	l.Cmd.Env = append(os.Environ(), roleVar+"=hosts", markVar+"="+j.mark)
	l.Cmd.Stdout, l.Cmd.Stderr = &l.out, &l.err
	return j
}

// run runs the job to its end, after which nothing of it may be left.
func (j *hostsJob) run(t *testing.T) int {
	t.Helper()
	j.start(t)
	return j.over(t)
}

func (j *hostsJob) over(t *testing.T) int {
	t.Helper()
	code := j.wait(t)
	j.requireGone(t)
	return code
}

// requireGone waits until no process of the job is left.
func (j *hostsJob) requireGone(t *testing.T) {
	t.Helper()
	var left []process
	eventually(t, func() bool {
		left = nil
		for _, p := range processes(t) {
			env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
			if p.state != 'Z' && bytes.Contains(env, []byte(markVar+"="+j.mark+"\x00")) {
				left = append(left, p)
			}
		}
		return len(left) == 0
	}, func() string { return fmt.Sprintf("%+v are left; errors %q", left, j.err.String()) })
}

func TestHosts(t *testing.T) {
	for _, list := range []string{"a", "a:3", "a,b", "a:2,b:2", "a:1,b:2,c:3"} {
		t.Run(list, func(t *testing.T) {
			j := prepareHosts(t, list, "0s", "good")
			require.Zero(t, j.run(t), j.err.String())
			require.Empty(t, j.err.String())
			hosts, err := launch.ParseHosts(list)
			require.NoError(t, err)
			n := 0
			for _, h := range hosts {
				n += h.Ranks
			}
			var want []string
			for rank := range n {
				want = append(want, fmt.Sprintf("%d of %d: %d", rank, n, n*(n-1)/2))
			}
			require.ElementsMatch(t, want, strings.Split(strings.TrimSuffix(j.out.String(), "\n"), "\n"))
		})
	}
}

// All ranks know which of them share a host, so they choose the same algorithms.
func TestHostsCollectives(t *testing.T) {
	for _, list := range []string{"a:2,b:3", "a:1,b:2,c:2", "a,b,c"} {
		t.Run(list, func(t *testing.T) {
			j := prepareHosts(t, list, "120s", "collectives")
			require.Zero(t, j.run(t), j.err.String())
		})
	}
}

// What the others see of the end of a rank they see over the network as well. The launcher names the rank that was the
// first, once, and ends with its code.
func TestHostsOthersSeeTheEndOfARank(t *testing.T) {
	for _, list := range []string{"a,b,c", "a:2,b:2", "a:1,b:3"} {
		for how, c := range map[string]struct {
			code int
			says string
		}{
			"exit 0":   {1, "without Finalize"},
			"exit 5":   {5, "code 5"},
			"panic":    {2, "code 2"},
			"SIGKILL":  {137, "SIGKILL"},
			"Abort(7)": {7, "exanet: rank 1 called Abort with code 7"},
		} {
			t.Run(list+" "+how, func(t *testing.T) {
				j := prepareHosts(t, list, "0s", "end", how)
				require.Equal(t, c.code, j.run(t), j.err.String())
				require.Contains(t, j.err.String(), c.says)
				require.Regexp(t, `(?m)^exanet: rank 1 \(pid \d+ on [abc]\) `, j.err.String())
				require.Equal(t, 1, strings.Count(j.err.String(), "(pid "), "not one line: %s", j.err.String())
				require.NotContains(t, j.out.String(), unexpected)
			})
		}
	}
}

// Others that wait in Init for a rank that has ended without it are told.
func TestHostsRankThatDoesNotCallInit(t *testing.T) {
	for _, list := range []string{"a,b", "a:1,b:3", "a:2,b:1"} {
		t.Run(list, func(t *testing.T) {
			j := prepareHosts(t, list, "0s", "end", "exit without Init")
			require.NotZero(t, j.run(t))
		})
	}
}

// One that ends well without Init is no failure, but it is named where others have waited for it.
func TestHostsRankThatEndsWithoutInit(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, list := range []string{"a:2,b", "a:3"} {
		t.Run(list, func(t *testing.T) {
			j := prepareHostsShell(t, list, "0s", "sh", "-c", `[ $EXANET_RANK != 1 ] || exit 0; exec env `+roleVar+
				`=good `+exe)
			require.NotZero(t, j.run(t))
			require.Regexp(t, `(?m)^exanet: rank \d \(pid \d+ on a\) exited .*; rank 1 had ended before, without Init`,
				j.err.String())
			require.NotContains(t, j.err.String(), "EXANET_MEET")
		})
	}
	j := prepareHostsShell(t, "a:2", "0s", "sh", "-c", "[ $EXANET_RANK = 0 ] || { sleep 0.3; exit 3; }")
	require.Equal(t, 3, j.run(t))
	require.NotContains(t, j.err.String(), "Init", "nobody has called it")
}

func TestHostsInput(t *testing.T) {
	j := prepareHostsShell(t, "a:2,b:2", "0s", "sh", "-c", `sed "s/^/$EXANET_RANK /"`)
	j.Stdin = strings.NewReader("one\ntwo\n")
	require.Zero(t, j.run(t), j.err.String())
	require.Equal(t, "0 one\n0 two\n", j.out.String())

	long := strings.Repeat("0123456789abcdef\n", 1<<18) // 4 MiB, more than any pipe holds
	j = prepareHostsShell(t, "a,b", "0s", "sh", "-c", "exec cat")
	j.Stdin = strings.NewReader(long)
	require.Zero(t, j.run(t), j.err.String())
	require.True(t, long == j.out.String(), "%d bytes of %d have come", len(j.out.String()), len(long))

	j = prepareHostsShell(t, "a,b", "0s", "true") // nobody reads
	j.Stdin = strings.NewReader(long)
	require.Zero(t, j.run(t), j.err.String())

	never, w, err := os.Pipe()
	require.NoError(t, err)
	defer never.Close()
	defer w.Close()
	j = prepareHostsShell(t, "a,b", "0s", "true")
	j.Stdin = never
	require.Zero(t, j.run(t), j.err.String())
}

func TestHostsSignals(t *testing.T) {
	for s, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		t.Run(s.String(), func(t *testing.T) {
			j := prepareHostsShell(t, "a:2,b", "0s", "sh", "-c", "echo ready; exec sleep 1000")
			j.start(t)
			j.await(t, "ready", 3)
			j.signal(t, s)
			require.Equal(t, code, j.over(t), j.err.String())
			require.Empty(t, j.err.String())
		})
	}
	j := prepareHostsShell(t, "a:2,b", "0s", "sh", "-c",
		`trap 'echo got it; exit 0' USR2; echo ready; while :; do sleep 0.02; done`)
	j.start(t)
	j.await(t, "ready", 3)
	j.signal(t, syscall.SIGUSR2)
	require.Zero(t, j.over(t), j.err.String())
	require.Equal(t, 3, strings.Count(j.out.String(), "got it\n"))
}

// What the ranks wait for comes before the line that says why, also from a host that is slow to say it.
func TestHostsTimeout(t *testing.T) {
	const slow = `if [ "$1" = b ]; then exec 3>&1; { ` + localShell +
		`; } 2>&1 >&3 | { sleep 9; cat; } >&2; else ` + localShell + `; fi`
	j := prepareHosts(t, "a,b:2", "5s", "end", "for ever")
	j.Env = append(j.Env, shellVar+"="+slow)
	require.Equal(t, 124, j.run(t), j.err.String())
	require.Regexp(t, `(?m)^exanet: what the ranks on a wait for:\n`+
		`  rank 0 \(pid \d+\) receive from rank 1, tag 42, [^\n]*$`, j.err.String())
	require.Regexp(t, `(?m)^  rank 1 \(pid \d+\) waits for nothing$`, j.err.String())
	require.Regexp(t, `(?m)^  rank 2 \(pid \d+\) receive from rank 1, tag 42, [^\n]*$`, j.err.String())
	require.Regexp(t, `exanet: the job has not ended within 5s, and is ended\n$`, j.err.String())
}

func TestHostsReport(t *testing.T) {
	j := prepareHosts(t, "a,b:2", "0s", "end", "for ever")
	j.start(t)
	j.await(t, "ready", 1)
	eventually(t, func() bool {
		j.signal(t, syscall.SIGUSR1)
		time.Sleep(50 * time.Millisecond)
		said := j.err.String()
		return regexp.MustCompile(`  rank 0 \(pid \d+\) receive from rank 1, tag 42`).MatchString(said) &&
			regexp.MustCompile(`  rank 1 \(pid \d+\) waits for nothing`).MatchString(said) &&
			regexp.MustCompile(`  rank 2 \(pid \d+\) receive from rank 1, tag 42`).MatchString(said)
	}, j.err.String)
	j.signal(t, syscall.SIGTERM)
	require.Equal(t, 143, j.over(t), j.err.String())
}

// A host that cannot be reached is told in one line, and the others do not wait for it.
func TestHostsShellThatFails(t *testing.T) {
	for name, script := range map[string]string{
		"all":   `exit 255`,
		"one":   `[ "$1" != b ] || exit 255; ` + localShell,
		"first": `[ "$1" != a ] || exit 255; ` + localShell,
		"later": `[ "$1" != b ] || { sleep 1; exit 255; }; ` + localShell,
	} {
		t.Run(name, func(t *testing.T) {
			j := prepareHosts(t, "a,b", "0s", "good")
			j.Env = append(j.Env, shellVar+"="+script)
			require.Equal(t, 255, j.run(t), j.err.String())
			require.Regexp(t, `^exanet: host [ab]: the remote shell has ended with 255: .*\n$`, j.err.String())
		})
	}
	for name, script := range map[string]string{
		"all":   `exit 0`,
		"one":   `[ "$1" != b ] || exit 0; ` + localShell,
		"later": `[ "$1" != b ] || { sleep 1; echo done; exit 0; }; ` + localShell,
	} {
		t.Run(name+", nothing is run", func(t *testing.T) {
			j := prepareHosts(t, "a,b:2", "0s", "good")
			j.Env = append(j.Env, shellVar+"="+script)
			require.Equal(t, 1, j.run(t), j.err.String())
			require.Regexp(t, `^exanet: host [ab]: the remote shell has ended with 0 and has run nothing of .*\n$`,
				j.err.String())
		})
	}
	for name, script := range map[string]string{
		"all":           `exit 127`,
		"one":           `[ "$1" != b ] || exit 127; ` + localShell,
		"all, and says": `echo no shell here >&2; exit 127`,
	} {
		t.Run(name+", 127", func(t *testing.T) {
			j := prepareHosts(t, "a,b", "0s", "good")
			j.Env = append(j.Env, shellVar+"="+script)
			require.Equal(t, 127, j.run(t), j.err.String())
			require.Regexp(t, `^(no shell here\n)*exanet: host [ab]: the remote shell has ended with 127: see whether `+
				`exanet is there.*\n(no shell here\n)*$`, j.err.String())
		})
	}
	j := prepareHostsShell(t, "a,b:2", "0s", "./no-such-program")
	require.Equal(t, 127, j.run(t), j.err.String())
	require.Regexp(t, `^(host [ab]: cannot start \./no-such-program: no such file\n)+$`, j.err.String())
}

// What a shell of the remote host prints before is passed on, and the line by which a part begins is not.
func TestHostsShellThatTalks(t *testing.T) {
	j := prepareHostsShell(t, "a,b", "0s", "sh", "-c", `printf "$EXANET_RANK "`)
	j.Env = append(j.Env, shellVar+"=printf 'news of '; echo $1; "+localShell)
	require.Zero(t, j.run(t), j.err.String())
	words := regexp.MustCompile(`news of .\n|\d `).FindAllString(j.out.String(), -1)
	require.ElementsMatch(t, []string{"news of a\n", "news of b\n", "0 ", "1 "}, words)
	require.Equal(t, j.out.String(), strings.Join(words, ""))
}

// How a part has ended it says itself: some remote shells end with 0 whatever the command does.
func TestHostsShellWithoutCodes(t *testing.T) {
	const shell = `shift; sh -c "$*"; exit 0`
	for how, c := range map[string]struct {
		code int
		says string
	}{
		"true":          {0, `^$`},
		"exit 7":        {7, `^exanet: rank \d \(pid \d+ on [ab]\) exited with code 7\n$`},
		"exit 253":      {253, `exited with code 253`},
		"exit 254":      {254, `exited with code 254`},
		"exit 255":      {255, `exited with code 255`},
		"kill -9 $$":    {137, `SIGKILL`},
		"kill -9 $PPID": {1, `(?m)^exanet: host [ab]: the remote shell has ended with 0 before its part of the job: `},
	} {
		t.Run(how, func(t *testing.T) {
			j := prepareHostsShell(t, "a,b", "0s", "sh", "-c", `[ $EXANET_RANK = 0 ] && sleep 0.3; `+how)
			j.Env = append(j.Env, shellVar+"="+shell)
			require.Equal(t, c.code, j.run(t), j.err.String())
			require.Regexp(t, c.says, j.err.String())
			require.NotContains(t, j.err.String(), "network between them")
			if c.code != 1 {
				require.NotContains(t, j.err.String(), "exanet: host")
			}
		})
	}
}

// Output that cannot be written is what is told, and not what becomes of those who write.
func TestHostsOutputIsLost(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	j := prepareHostsShell(t, "a,b", "0s", "sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' '\\n'")
	j.Stdout = full
	require.NotZero(t, j.run(t))
	require.Regexp(t, `^part of the ranks' output is lost: .*no space left on device\n$`, j.err.String())
}

// There is a shell before there is anything else.
func TestHostsNoShell(t *testing.T) {
	err := launch.RunHosts(t.Context(), launch.Config{Prog: "true"},
		launch.Hosts{List: []launch.HostRanks{{Host: "a", Ranks: 1}}, Shell: []string{"no-such-shell", "-x"}})
	var start *launch.StartError
	require.ErrorAs(t, err, &start)
	require.Equal(t, 127, start.ExitCode())
	require.EqualError(t, err, "cannot start no-such-shell: not found in PATH")
}

// A host that answers no more is given up: here, one whose remote shell takes no orders and does not end.
func TestHostsGivenUp(t *testing.T) {
	const silent = `[ "$1" != b ] || { sleep 1000; exit; }; ` + localShell
	for list, input := range map[string]string{"a,b": "", "b,a": strings.Repeat("x", 1<<20)} {
		t.Run(list, func(t *testing.T) {
			j := prepareHostsShell(t, list, "0s", "sh", "-c", "exit 5")
			j.Env = append(j.Env, shellVar+"="+silent, giveUpVar+"=300ms")
			j.Stdin = strings.NewReader(input)
			require.Equal(t, 5, j.run(t), j.err.String())
			require.Regexp(t, `(?m)^exanet: host b: it has not answered for 300ms and is given up: .*$`, j.err.String())
		})
	}
	j := prepareHostsShell(t, "b,a", "0s", "sh", "-c", "echo ready; sleep 1000")
	j.Env = append(j.Env, shellVar+"="+silent, giveUpVar+"=5s")
	j.start(t)
	j.await(t, "ready", 1)
	j.signal(t, syscall.SIGTERM)
	require.NotZero(t, j.over(t), j.err.String())
	require.Regexp(t, `^exanet: host b: it has not answered for 5s and is given up: .*\n$`, j.err.String())
}

// A remote shell that stays when its part has ended is ended, and what the part has printed is passed on.
func TestHostsShellThatStays(t *testing.T) {
	const killed = `^exanet: host b: the remote shell has not ended with its part of the job, and is killed: .*\n$`
	for _, list := range []string{"a,b", "b,a", "b"} {
		for name, stays := range map[string]string{
			"sleeps": "sleep 1000",
			"reads":  "cat", // its input, which comes to an end
		} {
			t.Run(list+" "+name, func(t *testing.T) {
				j := prepareHostsShell(t, list, "0s", "sh", "-c", "echo $EXANET_RANK")
				j.Env = append(j.Env, giveUpVar+"=2s",
					shellVar+`=host=$1; shift; sh -c "$*"; [ $host != b ] || `+stays)
				require.Zero(t, j.run(t), j.err.String())
				require.Equal(t, strings.Count(list, ",")+1, strings.Count(j.out.String(), "\n"))
				if name == "reads" {
					require.Empty(t, j.err.String())
					return
				}
				require.Regexp(t, killed, j.err.String())
			})
		}
	}
}

// Nothing of a job outlives its first launcher.
func TestHostsGoWithAKilledLauncher(t *testing.T) {
	for name, command := range map[string][]string{
		"MPI":      nil,
		"stubborn": {"sh", "-c", "trap '' TERM INT HUP; echo ready; while :; do sleep 0.1; done"},
	} {
		t.Run(name, func(t *testing.T) {
			j := prepareHosts(t, "a:2,b:2", "0s", "end", "for ever")
			ready := 1
			if command != nil {
				j, ready = prepareHostsShell(t, "a:2,b:2", "0s", command...), 4
			}
			j.start(t)
			j.await(t, "ready", ready)
			require.NoError(t, j.Process.Kill())
			j.requireGone(t)
		})
	}
}

// A part whose launcher is killed is lost, and the others end.
func TestHostsPartKilled(t *testing.T) {
	j := prepareHostsShell(t, "a:2,b:2", "0s", "sh", "-c", `echo $EXANET_RANK $PPID.; exec sleep 1000`)
	j.start(t)
	j.await(t, ".", 4)
	part, err := strconv.Atoi(regexp.MustCompile(`(?m)^3 (\d+)\.$`).FindStringSubmatch(j.out.String())[1])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(part, syscall.SIGKILL))
	require.NotZero(t, j.over(t))
	require.Contains(t, j.err.String(), "host b")
	require.Equal(t, 1, strings.Count(j.err.String(), "\n"), "not one line: %s", j.err.String())
}

func TestParseHosts(t *testing.T) {
	list, err := launch.ParseHosts("node1:2,10.0.0.1,node2:16")
	require.NoError(t, err)
	require.Equal(t, []launch.HostRanks{{Host: "node1", Ranks: 2}, {Host: "10.0.0.1", Ranks: 1},
		{Host: "node2", Ranks: 16}}, list)
	for _, text := range []string{"", ",", "a,", "a:0", "a:-1", "a:x", "a:", ":2", "-oProxyCommand=x:2"} {
		_, err := launch.ParseHosts(text)
		require.ErrorContains(t, err, "want HOST:RANKS", text)
	}
}
