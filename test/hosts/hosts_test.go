// Package hosts tests the hosts that scripts/hosts.sh makes.
package hosts

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const script = "../../scripts/hosts.sh"

// possible skips a test where nobody can make such hosts.
func possible(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("hosts on this machine are for root")
	}
	probe := exec.Command("unshare", "--net", "--ipc", "--pid", "--uts", "--mount", "--fork", "sh", "-c",
		"ip link add name switch type bridge && mount -t tmpfs x /dev/shm && mount -t sysfs x /sys && "+
			"command -v nsenter && command -v setpriv")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody make hosts, or lacks a tool: %v: %s", err, out)
	}
}

// run returns what the script prints, and its exit code.
func run(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	cmd := exec.Command(script, args...)
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); err != nil {
		require.ErrorAs(t, err, new(*exec.ExitError))
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// Each host has a name, a network, shared memory and processes of its own, and reaches the others.
func TestHosts(t *testing.T) {
	possible(t)
	control, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	require.NoError(t, err)
	const see = "cat /proc/sys/kernel/hostname; ls /sys/class/net; touch /dev/shm/mine; ls /dev/shm | grep -c mine; " +
		"readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/pid /proc/self/ns/uts /proc/self/ns/mnt; " +
		"sed -n 's/^Cpus_allowed_list://p' /proc/self/status"
	out, errs, code := run(t, "--congestion", strings.TrimSpace(string(control)), "sh", "-c",
		`for h in host0 host1 host2; do ssh -x $h "$0"; done; exit 7`, see)
	require.Equal(t, 7, code, errs)
	lines := strings.Fields(out)
	require.Len(t, lines, 3*10, out)
	seen := map[string]bool{}
	for i, name := range []string{"host0", "host1", "host2"} {
		require.Equal(t, []string{name, "eth0", "lo", "1"}, lines[10*i:10*i+4])
		for _, ns := range lines[10*i+4 : 10*i+9] {
			require.False(t, seen[ns], out)
			seen[ns] = true
		}
	}
	if runtime.NumCPU() > 1 {
		require.NotEqual(t, lines[9], lines[19], "the first two have no core in common: %s", out)
	}
	_, errs, code = run(t, "ssh", "host3", "true")
	require.Equal(t, 255, code)
	require.Equal(t, "ssh: there is no host host3\n", errs)
	_, errs, code = run(t, "ssh", "host1", "ssh", "host2", "true")
	require.Equal(t, 255, code)
	require.Equal(t, "ssh: only host0 reaches other hosts\n", errs)
}

// Hosts talk to each other by their names.
func TestHostsMeet(t *testing.T) {
	possible(t)
	exanet := t.TempDir() + "/exanet"
	built, err := exec.Command("go", "build", "-o", exanet, "../../cmd/exanet").CombinedOutput()
	require.NoError(t, err, "%s", built)
	out, errs, code := run(t, exanet, "run", "--hosts", "host0,host2", exanet, "bench", "latency", "--sizes", "8")
	require.Zero(t, code, errs)
	require.Contains(t, out, "\n8 ")
}

func TestRefusals(t *testing.T) {
	_, errs, code := run(t)
	require.Equal(t, 2, code)
	require.Equal(t, "hosts.sh: give a command, which is run on host0\n", errs)
	_, errs, code = run(t, "--nonesuch", "true")
	require.Equal(t, 2, code)
	require.Equal(t, "hosts.sh: there is no option --nonesuch, see --help\n", errs)
	out, errs, code := run(t, "--help")
	require.Zero(t, code, errs)
	require.Regexp(t, `^Runs a command .*\n\n\thosts.sh \[--congestion NAME\] COMMAND...\n(.*\n)*.*from there.\n$`, out)
	_, errs, _ = run(t, "--congestion")
	require.Equal(t, "hosts.sh: --congestion: name one, as cubic\n", errs)
	possible(t)
	_, errs, code = run(t, "--congestion", "nonesuch", "true")
	require.Equal(t, 2, code)
	require.Regexp(t, `^hosts.sh: host0: TCP's congestion control stays \w+, not nonesuch: [^\n]*\n$`, errs)
}

// Nothing is left of the hosts when the script is killed: who runs on one has the output open.
func TestKilled(t *testing.T) {
	possible(t)
	cmd := exec.Command(script, "ssh", "host1", "setsid sh -c 'echo there; exec sleep 1000' & wait")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(out)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "there\n", line)
	require.NoError(t, cmd.Process.Kill())
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Error(t, cmd.Wait())
}
