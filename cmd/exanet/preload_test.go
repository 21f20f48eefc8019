package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/bench/compare"
	"github.com/exanet-mpi/exanet/internal/ldso"
	"github.com/exanet-mpi/exanet/test/elftest"
)

// fakeMPI makes the working directory one with a launcher of MPICH, of which script is
// the text, a program for it and a library in lib.
func fakeMPI(t *testing.T, script string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LD_PRELOAD", "")
	require.NoError(t, os.WriteFile("mpirun.mpich", []byte("#!/bin/sh\n"+script+"\n"), 0o777))
	elftest.File{Needed: []string{"libmpich.so.12"}}.Write(t, "app")
	require.NoError(t, os.Mkdir("lib", 0o777))
	// The launcher loads it: the C library, which it has anyway.
	sh, err := ldso.Open("/bin/sh")
	require.NoError(t, err)
	libc := ldso.NewSearch("").Libraries(sh)[0]
	require.NoError(t, os.Symlink(libc.Object.Path, "lib/libexanet-mpich.so"))
	elftest.File{Library: true, Needed: []string{"libmpich.so.12"}}.Write(t, "lib/libexanet-mpich-go.so")
	return dir
}

func TestPreload(t *testing.T) {
	dir := fakeMPI(t, `echo "$@"; cat; exit 5`)
	want := "-genv " + selfVar + " 1 -genv LD_PRELOAD " + dir + "/lib/libexanet-mpich.so -np 2 ./app -v\n"
	out, errs, code := exanet(t, "input", "preload", "--lib", "lib", "--", "mpirun.mpich", "-np", "2", "./app", "-v")
	require.Equal(t, want+"input", out)
	require.Empty(t, errs)
	require.Equal(t, 5, code)

	out, errs, code = exanet(t, "", "preload", "-v", "--lib", dir+"/lib", "mpirun.mpich", "-np", "2", "./app", "-v")
	require.Equal(t, want, out)
	require.Equal(t, "exanet: LD_PRELOAD="+dir+"/lib/libexanet-mpich.so mpirun.mpich "+want, errs)
	require.Equal(t, 5, code)
}

// The command plays the hardware while its child runs, which finds a register file for each node.
func TestPreloadOverRegisters(t *testing.T) {
	fakeMPI(t, `for node in $(echo ${EXANET_DEVICE#registers:} | tr , " "); do head -c 8 $node; done; exit 5`)
	plays := func(args ...string) {
		out, errs, code := exanet(t, "", append(append([]string{"preload", "--lib", "lib"}, args...), "--nodes", "3",
			"mpirun.mpich", "-np", "4", "./app")...)
		require.Equal(t, 5, code, errs)
		require.Empty(t, errs)
		require.Equal(t, 3, strings.Count(out, "RDXE"), "the directory's kind, EXDR, by bytes from the lowest")
	}
	plays("--device", "registers")
	t.Setenv("EXANET_DEVICE", "registers")
	plays()

	fakeMPI(t, `grep -z ^EXANET_DEVICE= /proc/$$/environ | tr '\0' '\n'`)
	out, _, _ := exanet(t, "", "preload", "--lib", "lib", "--device", "registers:/dev/exanet0", "mpirun.mpich", "./app")
	require.Equal(t, "EXANET_DEVICE=registers:/dev/exanet0\n", out, "that of the flag alone")
}

// Who signals the whole process group, as timeout and CI runners do, signals the command once: a launcher takes a
// second signal for impatience.
func TestPreloadedCommandGetsASignalOnce(t *testing.T) {
	for name, flags := range map[string][]string{
		"timeout": {"--timeout", "100s"}, "registers": {"--device", "registers"}, "neither": nil,
	} {
		t.Run(name, func(t *testing.T) {
			fakeMPI(t, "n=0; trap 'n=$((n+1))' TERM; echo ready; while read line; do :; done; while [ $n = 0 ]; do "+
				"sleep 0.1; done; sleep 0.5; exit $((40 + n))")
			cmd := exec.Command(self(), append(append([]string{"preload", "--lib", "lib"}, flags...), "mpirun.mpich",
				"./app")...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			input, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line := make([]byte, len("ready\n"))
			_, err = io.ReadFull(out, line)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM))
			require.NoError(t, input.Close())
			_ = cmd.Wait()
			require.Equal(t, 41, cmd.ProcessState.ExitCode())
		})
	}
}

func TestPreloadedCommandGetsTheSignals(t *testing.T) {
	for _, device := range []string{"host", "registers"} {
		t.Run(device, func(t *testing.T) { preloadedGetsTheSignals(t, device) })
	}
}

func preloadedGetsTheSignals(t *testing.T, device string) {
	fakeMPI(t, "trap 'exit 9' TERM; echo ready; while :; do read nothing; done")
	cmd := exec.Command(self(), "preload", "--lib", "lib", "--device", device, "mpirun.mpich", "./app")
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer input.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready := make([]byte, len("ready\n"))
	_, err = out.Read(ready)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 9, cmd.ProcessState.ExitCode())
}

func TestPreloadRefuses(t *testing.T) {
	fakeMPI(t, "echo not reached")
	elftest.File{Library: true}.Write(t, "static")
	for line, want := range map[string]struct {
		says string
		code int
	}{
		"preload":                                    {"which command", 2},
		"preload --lib lib --":                       {"which command", 2},
		"preload --mpi lam ./app":                    {`"lam"`, 2},
		"preload --lib lib ./static":                 {"statically", 2},
		"preload --device foo ./app":                 {`no device "foo"`, 2},
		"preload --device host:/x ./app":             {`no device "host:/x"`, 2},
		"preload --nodes 2 ./app":                    {"--device registers", 2},
		"preload --device registers --nodes 0 ./app": {"--nodes 0", 2},
		"preload --device /dev/x ./app":              {"registers:/dev/x", 2},
		"preload --lib lib --device registers --nodes 3 mpirun.mpich -np 2 ./app": {
			"--nodes 3: each node has at least one rank, and there are 2", 2},
		"preload --device registers --lib lib ./static": {"statically", 2},
		"preload --lib empty mpirun.mpich -np 2 ./app":  {"make preload", 2},
		"preload --lib lib mpirun.mpich -np 2 ./absent": {"no such program", 127},
		"preload --lib lib ./lib":                       {"directory", 126},
		"compare":                                       {"which command", 2},
		"compare --runs 0 ./app":                        {"--runs", 2},
		"compare --lib lib ./static":                    {"statically", 2},
	} {
		t.Run(line, func(t *testing.T) {
			out, errs, code := exanet(t, "", strings.Fields(line)...)
			require.Empty(t, out)
			require.Contains(t, errs, want.says)
			require.Equal(t, 1, strings.Count(errs, "\n"), errs)
			require.Equal(t, want.code, code)
		})
	}
}

func TestCompare(t *testing.T) {
	fakeMPI(t, `printf '# Test\n# Size       Value\n'; case "$*" in *LD_PRELOAD*) echo 8 1.0;; *) echo 8 2.0;; `+
		`esac; echo $1 >>runs`)
	out, errs, code := exanet(t, "", "compare", "--lib", "lib", "mpirun.mpich", "-np", "1", "./app")
	require.Equal(t, 0, code, errs)
	require.Contains(t, errs, "warning: outputs differ, first in run 1: \"8 2.0\" without, \"8 1.0\" with\n")
	require.Regexp(t, `^# mpirun.mpich -np 1 ./app, medians of 5 runs each way\n`, out)
	require.Contains(t, out, "# Value\n# Size               without              with             ratio\n"+
		"8                       2.00              1.00              0.50\n")
	runs, err := os.ReadFile("runs")
	require.NoError(t, err)
	require.Equal(t, "-np\n-genv\n-genv\n-np\n-np\n-genv\n-genv\n-np\n-np\n-genv\n", string(runs))

	out, _, _ = exanet(t, "", "compare", "--lib", "lib", "--json", "--runs", "2", "mpirun.mpich", "-np", "1", "./app")
	var report compare.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Equal(t, []float64{2, 2}, report.Tables[0].Columns[0].Rows[0].Repeats)
	require.Equal(t, 0.5, report.Tables[0].Columns[2].Rows[0].Value)
	require.Len(t, report.Wall[1].Repeats, 2)
}

// What the library says, that it takes no part for instance, is told once.
func TestCompareTellsWhatTheLibrarySays(t *testing.T) {
	fakeMPI(t, `case "$*" in *LD_PRELOAD*) echo "exanet: rank 0 cannot take part: there is a reason";; esac >&2`)
	_, errs, code := exanet(t, "", "compare", "--lib", "lib", "--runs", "2", "mpirun.mpich", "./app")
	require.Zero(t, code)
	require.Equal(t, "exanet: rank 0 cannot take part: there is a reason\n", errs)
}

func TestCompareOfFailures(t *testing.T) {
	fakeMPI(t, `case "$*" in *LD_PRELOAD*) exit 6;; esac`)
	out, errs, code := exanet(t, "", "compare", "--lib", "lib", "--runs", "1", "mpirun.mpich", "./app")
	require.Contains(t, out, "# Wall (s)")
	require.Equal(t, "exanet: exit codes differ: [0] without, [6] with\n", errs)
	require.Equal(t, 1, code)

	fakeMPI(t, "echo no ranks >&2; exit 6")
	out, errs, code = exanet(t, "", "compare", "--lib", "lib", "mpirun.mpich", "./app")
	require.Empty(t, out)
	require.Equal(t, "exanet: the command itself exits with code 6, so there is nothing to compare; it says: no "+
		"ranks\n", errs)
	require.Equal(t, 6, code)
}

// A comparison that is interrupted ends what it runs.
func TestInterruptedCompare(t *testing.T) {
	fakeMPI(t, "echo $$ >pid; exec sleep 100")
	cmd := exec.Command(self(), "compare", "--lib", "lib", "mpirun.mpich", "./app")
	require.NoError(t, cmd.Start())
	var pid string
	for pid == "" {
		b, _ := os.ReadFile("pid")
		pid = strings.TrimSpace(string(b))
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.NoDirExists(t, "/proc/"+pid)
}
