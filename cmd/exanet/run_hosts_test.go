package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/launch"
)

// localShell is a remote shell for --shell, which stays on this host wherever it is to go.
func localShell(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shell")
	require.NoError(t, os.WriteFile(path, []byte("shift\nexec sh -c \"$*\"\n"), 0o600))
	return "sh " + path
}

func TestRunOnHosts(t *testing.T) {
	for _, c := range []struct {
		line  string
		input string
		out   string // words of the ranks in any order
		code  int
	}{
		{"--hosts a:2,b show-args x", "", "0 3 x 1 3 x 2 3 x", 0},
		{"-n 3 --hosts a:2,b --label echo y", "", "[0] y [1] y [2] y", 0},
		{"--hosts a,b cat", "in\n", "in", 0},
		{"--hosts a,b --variant rtr printenv EXANET_VARIANT EXANET_DEVICE", "", "rtr network rtr network", 0},
		{"--hosts a,b:2 " + self() + " demo-rank --grid=16", "", "", 0},
		{"--hosts a,b --device network true", "", "", 0},
		{"--hosts a false", "", "", 1},
		{"--hosts a no-such-program", "", "", 127},
		{"--hosts a,b --timeout 300ms sleep 100", "", "", 124},
	} {
		t.Run(c.line, func(t *testing.T) {
			line := strings.Replace(c.line, " show-args", " "+self()+" show-args", 1)
			args := append([]string{"run", "--shell", localShell(t)}, strings.Fields(line)...)
			out, errs, code := exanet(t, c.input, args...)
			require.Equal(t, c.code, code, errs)
			if !strings.Contains(line, "demo-rank") {
				require.ElementsMatch(t, strings.Fields(c.out), strings.Fields(out))
			}
			if c.code == 0 {
				require.Empty(t, errs)
			} else {
				require.Equal(t, 1, strings.Count(errs, "exanet: ")-strings.Count(errs, "exanet: what"), errs)
			}
		})
	}
}

// Each host has registers, here of a model that has one node for each.
func TestRegistersOnHosts(t *testing.T) {
	d, device, err := launch.NewModel(2, 4)
	require.NoError(t, err)
	defer d.Close()
	out, errs, code := exanet(t, "", "run", "--shell", localShell(t), "--hosts", "a:2,b:2", "--device",
		strings.TrimPrefix(device, "EXANET_DEVICE="), self(), "demo-rank", "--grid=16")
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	require.Contains(t, out, `{"report":`)

	_, errs, code = exanet(t, "", "run", "--shell", localShell(t), "--hosts", "a,b", "--device", "registers:/none",
		self(), "demo-rank", "--grid=16")
	require.NotZero(t, code)
	require.Contains(t, errs, "/none: nothing there")
}

// A host that has none of the networks starts no rank.
func TestHostsWithoutTheNetwork(t *testing.T) {
	t.Setenv("EXANET_NETWORK", "nosuch0")
	out, errs, code := exanet(t, "", "run", "--shell", localShell(t), "--hosts", "a", "echo", "started")
	require.Equal(t, exitUsage, code, errs)
	require.Empty(t, out)
	require.Regexp(t, `^exanet: host a: cannot start 1 ranks: EXANET_NETWORK="nosuch0" names no address .*\n$`, errs)
}

func TestMistakesInHosts(t *testing.T) {
	for line, says := range map[string]string{
		"--hosts a:0 true":                  "want HOST:RANKS",
		"--hosts a,,b true":                 "want HOST:RANKS",
		"--hosts -oProxyCommand=x true":     "want HOST:RANKS",
		"--hosts= true":                     "HOST:RANKS",
		"-n 2 --hosts= true":                "HOST:RANKS",
		"-n 3 --hosts a:2 true":             "-n 3",
		"--device host --hosts a true":      "within one host",
		"--device registers --hosts a true": "registers:PATH",
		"--device foo --hosts a true":       "foo",
		"--variant foo --hosts a true":      "foo",
		"--hosts a":                         "which program",
		"--hosts a:1000000 true":            "too many ranks",
		"--hosts a:600000,b:600000 true":    "too many ranks",
		"--hosts a --shell= true":           "--shell",
		"--hosts a --timeout -1s true":      "not negative",
		"--hosts a --shell /no/sh/x true":   "/no/sh/x",
	} {
		t.Run(line, func(t *testing.T) {
			out, errs, code := exanet(t, "", append([]string{"run"}, strings.Fields(line)...)...)
			want := exitUsage
			if strings.Contains(line, "/no/sh") {
				want = 127
			}
			require.Equal(t, want, code, errs)
			require.Empty(t, out)
			require.Equal(t, 1, strings.Count(errs, "\n"), errs)
			require.Contains(t, errs, says)
		})
	}
}
