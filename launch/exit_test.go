package launch_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/test/collect"
)

func TestExitCodeIsThatOfTheFirstFailingRank(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		says   string
	}{
		{"exit 0", 0, ""},
		{"exit 3", 3, "exited with code 3"},
		{"exit 255", 255, "exited with code 255"},
		{"[ $EXANET_RANK != 1 ] || exit 7", 7, "rank 1 "},
		{"[ $EXANET_RANK != 2 ] || kill -9 $$", 137, "rank 2 "},
		{"[ $EXANET_RANK != 2 ] || kill -9 $$", 137, "SIGKILL"},
		{"kill -SEGV $$; sleep 1", 139, "SIGSEGV"},
		{"[ $EXANET_RANK = 0 ] || sleep 1000; exit $((EXANET_RANK+40))", 40, "rank 0 "},
	} {
		t.Run(c.script, func(t *testing.T) {
			cfg := shell(c.script)
			cfg.Ranks = 3
			o := runJob(t, cfg)
			require.Equal(t, c.code, exitCode(o.err))
			require.Contains(t, o.errs, c.says)
			if c.code == 0 {
				require.NoError(t, o.err)
				require.Empty(t, o.errs)
				return
			}
			require.Equal(t, 1, strings.Count(o.errs, "\n"), "not one line: %q", o.errs)
			var re *launch.RankError
			require.ErrorAs(t, o.err, &re)
			require.Contains(t, o.errs, fmt.Sprintf("rank %d (pid %d) ", re.Rank, re.Pid))
		})
	}
}

func TestEnvironment(t *testing.T) {
	cfg := shell(`echo $EXANET_RANK/$EXANET_SIZE $EXANET_VARIANT $(readlink /proc/$$/fd/$EXANET_JOB | grep -c ` +
		`memfd:) $(readlink /proc/$$/fd/$EXANET_CONTROL | grep -c socket:)`)
	cfg.Ranks = 3
	// As inside another job.
	cfg.Env = append(os.Environ(), "EXANET_RANK=77", "EXANET_JOB=99", "EXANET_VARIANT=rtr")
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	require.ElementsMatch(t, []string{"0/3 rtr 1 1", "1/3 rtr 1 1", "2/3 rtr 1 1"},
		strings.Split(strings.TrimSpace(o.out), "\n"))
}

func TestRanksInheritNothingElse(t *testing.T) {
	const list = `ls /proc/$$/fd`
	plain, err := exec.Command("sh", "-c", list).Output()
	require.NoError(t, err)
	cfg := shell(list)
	cfg.Ranks = 3
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	require.Subset(t, append(strings.Fields(string(plain)), "3", "4"), strings.Fields(o.out))
}

func TestUnstartableProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	plain := write("plain", "hello", 0o644)
	t.Chdir(dir)
	for _, c := range []struct {
		prog string
		code int
		says string
	}{
		{"no-such-program-anywhere", 127, "not found in PATH"},
		{"plain", 127, "name it ./plain"},
		{"./nothing", 127, "no such file"},
		{plain + "/x", 127, "no such file"},
		{plain, 126, "executable"},
		{dir, 126, "is a directory"},
		{write("lost", "#!/no/such/interpreter\n", 0o755), 126, "interpreter"},
		{write("noise", "\x01\x02\x03", 0o755), 126, "#!"},
		{"", 127, "empty"},
	} {
		t.Run(filepath.Base(c.prog), func(t *testing.T) {
			o := runJob(t, launch.Config{Ranks: 4, Prog: c.prog})
			var se *launch.StartError
			require.ErrorAs(t, o.err, &se)
			require.Equal(t, c.code, se.ExitCode(), se)
			require.Contains(t, se.Error(), c.says)
			require.NotContains(t, se.Error(), "\n")
			require.Empty(t, o.errs)
		})
	}
}

func TestTooManyRanks(t *testing.T) {
	for n, device := range map[int]string{0: "", -3: "", 1 << 20: "", 300: "registers"} {
		o := runJob(t, launch.Config{Ranks: n, Prog: "true", Env: []string{"EXANET_DEVICE=" + device}})
		var se *launch.StartError
		require.ErrorAs(t, o.err, &se)
		require.Equal(t, 1, se.ExitCode())
		require.NotContains(t, se.Error(), "\n")
	}
}

func TestNodesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		ranks, nodes int
		device, says string
	}{
		{2, 3, "registers", "3 nodes: want 1 to 2"},
		{2, -1, "registers", "-1 nodes"},
		{2, 2, "host", "only the device registers has nodes"},
		{2, 1, "", "only the device registers has nodes"},
	} {
		o := runJob(t, launch.Config{Ranks: c.ranks, Nodes: c.nodes, Prog: "true",
			Env: []string{"EXANET_DEVICE=" + c.device}})
		var se *launch.StartError
		require.ErrorAs(t, o.err, &se)
		require.Contains(t, se.Error(), c.says)
		require.NotContains(t, se.Error(), "\n")
	}
}

// The process limit of a user does not bind root, so the launcher runs as
// somebody who has no other processes.
func TestProcessLimit(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	exe, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "exanet-limit")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	prog := filepath.Join(dir, "launcher")
	require.NoError(t, os.WriteFile(prog, exe, 0o755))

	const user = 54321
	cmd := exec.Command(prog, "200", "sleep", "100")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), roleVar+"=launch", processLimitVar+"=60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	var ee *exec.ExitError
	require.ErrorAs(t, err, &ee)
	require.Equal(t, 1, ee.ExitCode(), string(out))
	require.Contains(t, string(out), "ulimit -u")
	require.Equal(t, 1, strings.Count(string(out), "\n"), string(out))
	for _, p := range processes(t) {
		st, err := os.Stat(fmt.Sprintf("/proc/%d", p.pid))
		if err == nil {
			require.NotEqual(t, uint32(user), st.Sys().(*syscall.Stat_t).Uid, "%+v is left", p)
		}
	}
}

func TestDeathOfOneRankEndsTheOthers(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"meek", "exec sleep 1000"},
		{"stubborn", "trap '' TERM INT HUP; while :; do sleep 1; done"},
		{"stopped", "kill -STOP $$; exec sleep 1000"},
		{"wrapped", "sleep 1000; true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := shell("echo ready; " + c.script)
			cfg.Ranks = 4
			var out, errs collect.Buffer
			cfg.Stdout, cfg.Stderr = &out, &errs
			j, err := launch.Start(t.Context(), cfg)
			require.NoError(t, err)
			eventually(t, func() bool { return strings.Count(out.String(), "ready") == 4 }, out.String)
			require.NoError(t, syscall.Kill(j.Pid(2), syscall.SIGKILL))
			err = waitJob(t, j, &errs)
			var re *launch.RankError
			require.ErrorAs(t, err, &re)
			require.Equal(t, 2, re.Rank)
			require.Equal(t, syscall.SIGKILL, re.Signal)
			require.Equal(t, 137, re.ExitCode())
			require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
			requireNoChildren(t)
		})
	}
}

func TestOthersHaveTimeToEnd(t *testing.T) {
	defer launch.KillLate(time.Hour)()
	cfg := shell(`
		[ $EXANET_RANK = 0 ] && exit 9
		trap 'echo saved $EXANET_RANK; exit 0' TERM
		while :; do sleep 0.05; done`)
	cfg.Ranks = 3
	o := runJob(t, cfg)
	require.Equal(t, 9, exitCode(o.err))
	require.Contains(t, o.out, "saved 1\n")
	require.Contains(t, o.out, "saved 2\n")
}

func TestRanksThatEndWellAreNoReasonToHurry(t *testing.T) {
	cfg := shell(`[ $EXANET_RANK = 0 ] || sleep 1.5; echo done $EXANET_RANK`)
	cfg.Ranks = 2
	o := runJob(t, cfg)
	require.NoError(t, o.err)
	require.Equal(t, "done 0\ndone 1\n", o.out)
}

func TestNothingOfARankOutlivesTheJob(t *testing.T) {
	cfg := shell(`sleep 100 & echo $!; exit 0`)
	cfg.Ranks = 2
	o := runJob(t, cfg)
	require.NoError(t, o.err)
	for _, line := range strings.Fields(o.out) {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		eventually(t, func() bool { return !alive(t, pid) }, func() string { return line })
	}
}

func TestContextEndsTheJob(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	j, err := launch.Start(ctx, launch.Config{Ranks: 2, Prog: "sleep", Args: []string{"100"}})
	require.NoError(t, err)
	time.AfterFunc(200*time.Millisecond, func() { cancel(os.ErrDeadlineExceeded) })
	require.ErrorIs(t, j.Wait(), os.ErrDeadlineExceeded)
	requireNoChildren(t)
}

// On a host without /dev/null it is not the program that is missing.
func TestNoInput(t *testing.T) {
	err := launch.InputError(&fs.PathError{Op: "open", Path: "/dev/null", Err: syscall.ENOENT})
	require.EqualError(t, err, "cannot start 2 ranks: their input: open /dev/null: no such file or directory")
	err = launch.InputError(&fs.PathError{Op: "open", Path: "/dev/null", Err: syscall.EMFILE})
	require.ErrorIs(t, err, launch.ErrLimit)
}
