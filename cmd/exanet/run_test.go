package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/launch"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { commands = append(commands, newShowArgs) }

// newShowArgs is a rank of the tests: it prints its arguments and its place,
// and exits with the code in EXANET_TEST_CODE.
func newShowArgs() *cobra.Command {
	return &cobra.Command{
		Use: "show-args", Hidden: true, DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			fmt.Println(os.Getenv("EXANET_RANK"), os.Getenv("EXANET_SIZE"), strings.Join(args, " "))
			var code int
			if _, err := fmt.Sscan(os.Getenv("EXANET_TEST_CODE"), &code); err == nil {
				os.Exit(code)
			}
			return nil
		},
	}
}

// What is wrong with the headers of a device is told once, before there are ranks.
func TestHeadersAreLookedAtOnce(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{1, 1, 1}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	_, box, _ := d.Blocks(0)
	for reg, says := range map[int64]string{mmio.RegUnits: "UNITS is 10995", mmio.RegStride: "misaligned",
		mmio.RegCount: "COUNT is 10995"} {
		image, err := os.ReadFile(d.Path(0))
		require.NoError(t, err)
		image[box.Offset+reg+5] = 1
		file := filepath.Join(t.TempDir(), "registers")
		require.NoError(t, os.WriteFile(file, image, 0o600))
		_, errs, code := exanet(t, "", "run", "-n", "3", "--device", "registers:"+file, self(), "demo-rank")
		require.Equal(t, exitUsage, code, errs)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Contains(t, errs, says)
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		line  string
		input string
		out   string // lines of the ranks in any order
		code  int
	}{
		{"run -n 2 echo hello", "", "hello hello", 0},
		{"run -n 2 echo -n 3 --label --help", "", "3 --label --help3 --label --help", 0},
		{"run -n 1 -- echo x --version", "", "x --version", 0},
		{"run --ranks=2 --label echo x", "", "[0] x [1] x", 0},
		{"run -n 3 cat", "in\n", "in", 0},
		{"run -n 1 --variant rtr --device prototype printenv EXANET_VARIANT EXANET_DEVICE", "", "rtr prototype", 0},
		{"run -n 2 false", "", "", 1},
		{"run -n 2 no-such-program", "", "", 127},
		{"run -n 2 /", "", "", 126},
		{"run -n 1000000 true", "", "", 2},
		{"run -n 2 --device foo true", "", "", 2},
		{"run -n 2 --variant foo true", "", "", 2},
		{"run -n 3 --device registers --nodes 2 printenv EXANET_REGISTERS", "", "5 5 5", 0},
		{"run -n 2 --nodes 2 true", "", "", 2},
		{"run -n 2 --device host --nodes 2 true", "", "", 2},
		{"run -n 2 --device registers --nodes 3 true", "", "", 2},
		{"run -n 2 --device registers --nodes 0 true", "", "", 2},
		{"run --hosts a,b --nodes 2 true", "", "", 2},
	} {
		t.Run(c.line, func(t *testing.T) {
			out, errs, code := exanet(t, c.input, strings.Fields(c.line)...)
			require.Equal(t, c.code, code, errs)
			if strings.Contains(c.line, "echo -n") {
				require.Equal(t, c.out, out)
			} else {
				require.ElementsMatch(t, strings.Fields(c.out), strings.Fields(out))
			}
			lines := 0
			if c.code != 0 {
				lines = 1
			}
			require.Equal(t, lines, strings.Count(errs, "\n"), errs)
		})
	}
}

// What every rank would refuse is said once, and no rank starts.
func TestSettingsAreCheckedBeforeRanksStart(t *testing.T) {
	for _, c := range []struct{ name, value, choice string }{
		{"EXANET_VARIANT", "nonsense", mpi.DefaultVariant},
		{"EXANET_DEVICE", "nonsense", mpi.Devices()[0]},
		{"EXANET_DEVICE", "/dev/null", "registers:/dev/null"},
		{"EXANET_DEVICE", "registers:/no/device", "open /no/device: nothing there (no such file or directory); check "},
		{"EXANET_DEVICE", "registers:/dev/null", "can be mapped"},
		{"EXANET_DEVICE", "registers:/", "name the file in it"},
		{"EXANET_COLL", "allreduce:nonsense", "ring"},
		{"EXANET_COLL", "@/no/such/table", "/no/such/table"},
		{"EXANET_BANDS", "12K", "12K,40K"},
		{"EXANET_SILENCE", "1s", "30s"},
		{"EXANET_NETWORK", "eth1,", "as eth1,10.77.2.0/24,fd00::5"},
		{"EXANET_NETWORK", "10.77.2.0/33", "as eth1,10.77.2.0/24,fd00::5"},
		{"EXANET_NETWORK", "nosuch0", "names no address of its host "},
		{"EXANET_STATS", "/dev/null", "a folder that can be written"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			switch c.name {
			case "EXANET_BANDS":
				t.Setenv("EXANET_VARIANT", "customized")
			case "EXANET_SILENCE", "EXANET_NETWORK":
				t.Setenv("EXANET_DEVICE", "network")
			}
			t.Setenv(c.name, c.value)
			for _, line := range []string{"run -n 4 echo started", "bench barrier -n 2"} {
				out, errs, code := exanet(t, "", strings.Fields(line)...)
				require.Equal(t, exitUsage, code, errs)
				require.Empty(t, out)
				require.Equal(t, 1, strings.Count(errs, "\n"), errs)
				require.Contains(t, errs, c.choice)
			}
		})
	}
	// The ranks of others may run on other hosts.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, filepath.Join(file, "in-it")} {
		t.Setenv("EXANET_STATS", path)
		for _, line := range []string{"run --hosts a,b --shell false echo started", "preload -- mpirun echo started",
			"run -n 2 echo started"} {
			out, errs, code := exanet(t, "", strings.Fields(line)...)
			require.Equal(t, exitUsage, code, errs)
			require.Empty(t, out)
			require.Regexp(t, `^exanet: the statistics cannot be written: EXANET_STATS=`+path+
				`: .*; name a folder that can be written\n$`, errs, line)
		}
	}
	require.NoError(t, os.Unsetenv("EXANET_STATS"))
	t.Setenv("EXANET_VARIANT", "nonsense") // a flag comes before it
	_, errs, code := exanet(t, "", "run", "-n", "1", "--variant", mpi.DefaultVariant, "true")
	require.Zero(t, code, errs)
}

func TestRunWithATimeout(t *testing.T) {
	out, errs, code := exanet(t, "", "run", "-n", "2", "--timeout", "200ms", "sleep", "100")
	require.Equal(t, 124, code)
	require.Empty(t, out)
	require.Regexp(t, `^exanet: what the ranks wait for:
  rank 0 \(pid \d+\) is running and has not called Init
  rank 1 \(pid \d+\) is running and has not called Init
exanet: the job has not ended within 200ms, and is ended\n$`, errs)
	_, errs, code = exanet(t, "", "run", "-n", "2", "--timeout", "-1s", "true")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "not negative")
}

func TestDeathOfARankEndsTheJob(t *testing.T) {
	cmd := exec.Command(self(), "run", "-n", "4", "sleep", "1000")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	var children []string
	for end := time.Now().Add(time.Minute); len(children) < 4; time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "only %v have started", children)
		children = nil
		// A child belongs to the thread that has made it.
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", cmd.Process.Pid))
		require.NoError(t, err)
		for _, task := range tasks {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", cmd.Process.Pid, task.Name()))
			children = append(children, strings.Fields(string(b))...)
		}
	}
	var victim int
	_, err := fmt.Sscan(children[2], &victim)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	require.Error(t, cmd.Wait()) // long before the others have slept enough
	require.Equal(t, 137, cmd.ProcessState.ExitCode())
	require.Regexp(t, fmt.Sprintf(`^exanet: rank \d \(pid %d\) was killed by SIGKILL .*\n$`, victim), errs.String())
	for _, pid := range children {
		require.NoDirExists(t, "/proc/"+pid)
	}
}

func TestLaunchSelf(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, launchSelf(t.Context(), 3, []string{"show-args", "-n", "x"}, []string{"EXANET_TEST_NOTHING=1"},
		&out))
	require.ElementsMatch(t, []string{"0 3 -n x", "1 3 -n x", "2 3 -n x"},
		strings.Split(strings.TrimSpace(out.String()), "\n"))

	err := launchSelf(t.Context(), 2, []string{"show-args"}, []string{"EXANET_TEST_CODE=9"}, &out)
	var re *launch.RankError
	require.ErrorAs(t, err, &re)
	require.Equal(t, 9, exitCode(err))
}
