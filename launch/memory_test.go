package launch_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	limit   = 300 << 20 // bytes of memory of a control group
	ballast = 150 << 20 // of the launcher
)

func init() { roles["eat"] = eatRole }

// eatRole is a rank; number 1 takes memory until there is none.
func eatRole([]string) int {
	for os.Getenv("EXANET_RANK") == "1" {
		eaten = append(eaten, touched(1<<20))
	}
	time.Sleep(time.Minute)
	return 0
}

var eaten [][]byte

// touched returns memory that is really there, and none of Go's: the race detector would have some of
// its own beside that.
func touched(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		panic(err)
	}
	return b
}

// limitedGroup makes a control group whose processes get little memory, and returns the file that
// takes processes in.
func limitedGroup(t *testing.T) string {
	for _, g := range []struct{ parent, limit, swap string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max", "memory.swap.max"},
	} {
		dir := filepath.Join(g.parent, fmt.Sprintf("exanet-test-%d", os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			require.Eventually(t, func() bool { return os.Remove(dir) == nil }, time.Minute, 10*time.Millisecond)
		})
		if os.WriteFile(filepath.Join(dir, g.limit), []byte(strconv.Itoa(limit)), 0) == nil {
			_ = os.WriteFile(filepath.Join(dir, g.swap), []byte("0"), 0) // there may be no swap
			return filepath.Join(dir, "cgroup.procs")
		}
	}
	t.Skip("no control group with a limit of memory can be made (mkdir and write were tried)")
	return ""
}

// Where memory runs out in a container the kernel kills a rank, although the launcher may have as
// much, and the launcher says which one and why.
func TestOutOfMemory(t *testing.T) {
	group := limitedGroup(t)
	self, err := os.Executable()
	require.NoError(t, err)
	l := prepareLauncher(2, "env", roleVar+"=eat", self)
	enter := exec.Command("sh", append([]string{"-c", `echo $$ >"$0" && exec "$@"`, group, self}, l.Cmd.Args[1:]...)...)
	enter.Env = append(l.Cmd.Env, ballastVar+"="+strconv.Itoa(ballast))
	enter.Stdout, enter.Stderr = l.Cmd.Stdout, l.Cmd.Stderr
	l.Cmd = enter
	l.start(t)
	require.Equal(t, 128+9, l.wait(t), l.err.String())
	require.Regexp(t, `^exanet: rank 1 \(pid \d+\) was killed by SIGKILL, because memory ran out: `, l.err.String())
}
