package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/test/unignored"
)

// The test binary is exanet itself when this variable is set: for what runs
// its own executable, and for everything about signals and exit codes.
const selfVar = "EXANET_TEST_SELF"

func TestMain(m *testing.M) {
	if os.Getenv(selfVar) != "" {
		main()
	}
	unignored.Signals()
	os.Setenv(selfVar, "1") // for what the tests start
	os.Exit(m.Run())
}

// exanet runs a command line in a process of its own.
func exanet(t *testing.T, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(self(), args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); !ok {
		require.NoError(t, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestMistakesInTheCommandLine(t *testing.T) {
	for line, says := range map[string]string{
		"frobnicate":             `"frobnicate"`,
		"rnu":                    "did you mean run?",
		"--bogus":                "--bogus",
		"-x":                     "-x",
		"run":                    "-n N",
		"run true":               "-n N",
		"run -n":                 "-n",
		"run -n 0 true":          "1 or more",
		"run -n -3 true":         "1 or more",
		"run -n x true":          "whole number",
		"run -n 1.5 true":        "whole number",
		"run -n= true":           "whole number",
		"run -n 2":               "which program",
		"run -n 2 --":            "which program",
		"run -n 2 --bogus true":  "--bogus",
		"info everything":        `"everything"`,
		"info --bogus":           "--bogus",
		"help frobnicate":        `"frobnicate"`,
		"completion foo":         `no completion for "foo"`,
		"tune a b":               `here is "b" too`,
		"device frobnicate":      `"frobnicate"`,
		"device chekc":           "did you mean check?",
		"sim bnech":              "did you mean bench?",
		"bench latnecy":          "did you mean latency?",
		"bench latnecy -n 2":     "did you mean latency?",
		"bench --sizes 8":        "unknown flag: --sizes",
		"help device chekc":      "did you mean check?",
		"device list x":          `"x"`,
		"device check a b":       `here is "b" too`,
		"device check --model a": "not both",

		"device check a,b":            "check one after the other, as exanet device check a",
		"device check --model=maybe":  "--model maybe: want true or false, or the flag alone",
		"guests --console=":           `--console "": no guest's console is there`,
		"guests --console /none":      "exanet guests says at its start where one is",
		"guests --folder /dev/null/x": `--folder "/dev/null/x"`,

		"run -n 2 --label=2 true":                        "--label 2: want true or false",
		"run -n 2 --timeout 5 true":                      "--timeout 5: want a time, as 90s or 5m",
		"run -n 2 --timeout= true":                       `--timeout "": want a time`,
		"run -n 2 --timeout 9999999999h true":            "want a time",
		"run -n 2 --shell sh true":                       "--shell sh: it is for --hosts",
		"run -n 2 --nodes /dev/exanet0 true":             "as 4; paths go into --device, as registers:",
		"run -n 2 --nodes= true":                         `--nodes "": want a number of nodes from 1 to 256`,
		"run -n 2 --nodes 257 true":                      "from 1 to 256",
		"run -n 2 --nodes 2 true":                        "it is for --device registers",
		"run --hosts a,b --nodes 2 true":                 "with --hosts each host is a node",
		"run -n 2 --nodes 2 --device registers:a,b true": "each path is a node",
		"run -n 2 --device registers:a,,b true":          "a path is empty",
		"run -n 2 --device registers:/dev/mem@zzz true":  `"zzz" is behind the @`,

		"preload --nodes /dev/exanet0 true":             "paths go into --device",
		"preload --nodes 2 --device registers:/dev/x a": "each path is a node",
		"preload --device registers:, true":             "a path is empty",

		"bench latency -n 99999999":                    "too many: one host takes up to 4096",
		"bench latency --variant rtr,auto -n 99999999": "too many: one host takes up to 4096",
		"bench latency --variant rtr,rtr":              "rtr is there twice",
		"bench latency --variant=":                     `--variant "": use all, or some of`,
		"bench coll --op bcast,bcast":                  "bcast is there twice",
		"tune --op bcast,bcast":                        "bcast is there twice",
		"demo -n 4097 --grid 1":                        "too many: one host takes up to 4096",
		"sim bench latency x":                          `here is "x" too`,
		"sim bench latency --seed -1":                  "--seed -1: want a number from 0 on",
		"chart .":                                      "is a directory",
		"chart /dev/zero":                              "/dev/zero is no scenario: it has more than 1048576 bytes",
		"chart x --svg=":                               "--svg: name the file to write",

		"chart ../../variants/testdata/fig3.05-crossing.txt --svg .": "--svg: . is there, and no file",
	} {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, 2, run(strings.Fields(line), &out, &errs))
			require.Empty(t, out.String())
			require.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
			require.Contains(t, errs.String(), says)
		})
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		path := strings.Fields(c.CommandPath())[1:]
		t.Run(c.CommandPath(), func(t *testing.T) {
			var out, errs bytes.Buffer
			require.Equal(t, 0, run(append(path, "--help"), &out, &errs), errs.String())
			require.Contains(t, out.String(), "Examples:\n  exanet ")
			require.Contains(t, out.String(), "Usage:")
			var help bytes.Buffer
			require.Equal(t, 0, run(append([]string{"help"}, path...), &help, &errs), errs.String())
			require.Equal(t, out.String(), help.String())
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

func TestVersion(t *testing.T) {
	for _, spelling := range []string{"--version", "version"} {
		var out, errs bytes.Buffer
		require.Equal(t, 0, run([]string{spelling}, &out, &errs))
		require.Regexp(t, `^exanet \S.* go1\.\S+\n$`, out.String())
	}
}

// A variable that looks like a setting is named once for all ranks, with the setting that is meant.
func TestUnknownVariables(t *testing.T) {
	t.Setenv("EXANET_VARAINT", "rtr")
	_, errs, code := exanet(t, "", "run", "-n", "2", self(), "demo-rank", "--grid=16")
	require.Zero(t, code, errs)
	require.Equal(t, "exanet: EXANET_VARAINT is not a setting; did you mean EXANET_VARIANT?\n", errs)
}

// A word that is empty is told of as such.
func TestEmptyArguments(t *testing.T) {
	for says, c := range map[string]struct {
		code int
		line []string
	}{
		"the path is empty; name one, as /dev/exanet0": {exitUsage, []string{"device", "check", ""}},
		`there is no simulated benchmark ""`:           {exitUsage, []string{"sim", "bench", ""}},
		"cannot start : its name is empty":             {127, []string{"run", "-n", "1", ""}},
		"no program: its name is empty":                {127, []string{"preload", ""}},
	} {
		out, errs, code := exanetHere(c.line...)
		require.Equal(t, c.code, code, errs)
		require.Empty(t, out)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Contains(t, errs, says)
	}
}

// Settings are looked at before a simulation begins.
func TestMistakesInTheSettingsOfSimulations(t *testing.T) {
	t.Setenv("EXANET_COLL", "x")
	for _, line := range []string{"sim bench bcast --sizes 8", "sim bench bcast --sizes 8 --variant rtr",
		"sim run -n 2 true"} {
		_, errs, code := exanetHere(strings.Fields(line)...)
		require.Equal(t, exitUsage, code)
		require.Equal(t, "exanet: EXANET_COLL: \"x\" is not collective:algorithm; see exanet info --collectives\n",
			errs)
	}
}

// A flag that wants a number says so, in its own words.
func TestFlagThatIsNoNumber(t *testing.T) {
	for value, why := range map[string]string{"x": "invalid syntax", "99999999999999999999": "value out of range"} {
		_, errs, code := exanet(t, "", "bench", "latency", "--repeat", value)
		require.Equal(t, exitUsage, code)
		require.Equal(t, "exanet: --repeat "+value+": want a number ("+why+") (see exanet bench latency --help)\n",
			errs)
	}
}
