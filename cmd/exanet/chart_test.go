package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/world"
)

// A scenario is drawn as text, and as SVG.
func TestChart(t *testing.T) {
	var out, errs bytes.Buffer
	file := "../../variants/testdata/fig3.05-crossing.txt"
	require.Zero(t, run([]string{"chart", file}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "RTR T1 #1, 100 B")
	svg := filepath.Join(t.TempDir(), "x.svg")
	require.Zero(t, run([]string{"chart", file, "--svg", svg}, &out, &errs), errs.String())
	text, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(text), "<svg ")
}

// What is no scenario gives one line and exit code 2.
func TestChartOfSomethingElse(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "prose": "Dear all,\n\nhello\n", "go": "package main\n\nfunc main() {}\n",
		"no ranks": "play\nS send\n----\n", "bad rank": "ranks S R\n----\n\nplay\nX send to=R tag=T1 size=1\n----\n",
		"bad size": "ranks S R\n----\n\nplay\nS send to=R tag=T1 size=-1\n----\n", "one rank": "ranks S\n----\n",
		"nothing to deliver": "ranks S R\n----\n\nplay\ndeliver S->R\n----\n", "binary": "\x00\x01\x02\n----\n",
		"no variant": "ranks S R variant=none\n----\n", "short": "ranks S R\n----\n\nplay\nt1:\n----\n",
	} {
		path := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var out, errs bytes.Buffer
		require.Equal(t, exitUsage, run([]string{"chart", path}, &out, &errs), name)
		require.Equal(t, 1, bytes.Count(errs.Bytes(), []byte("\n")), "%s: %s", name, errs.String())
		require.Empty(t, out.String(), name)
	}
	var out, errs bytes.Buffer
	require.Equal(t, exitUsage, run([]string{"chart", filepath.Join(dir, "absent")}, &out, &errs))
	require.Equal(t, exitUsage, run([]string{"chart"}, &out, &errs))
}

func TestExplore(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explore", "--ops", "1", "--variant", "rtr"}, &out, &errs), errs.String())
	require.Contains(t, out.String(), "nothing wrong")
	require.Zero(t, run([]string{"explore", "--ops", "2", "--ranks", "3", "--sample", "5", "--pieces", "2"}, &out,
		&errs), errs.String())
	for _, args := range [][]string{{"--variant", "none"}, {"--ops", "0"}, {"--ops", "4"}, {"--ranks", "4"},
		{"--pieces", "3"},
		{"--alphabet", "latin"}, {"--sample", "-1"}, {"--capacity", "99"}, {"extra"}} {
		require.Equal(t, exitUsage, run(append([]string{"explore"}, args...), &out, &errs), "%v", args)
	}
}

// The help says which protocols there are, and that the default is not that of jobs.
func TestExploreHelp(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"explore", "--help"}, &out, &errs), errs.String())
	for _, name := range world.ProtocolNames() {
		require.Regexp(t, `(?m)^  (.*, )?`+name+`[,.]`, out.String())
	}
	require.Contains(t, out.String(), "Without --variant it is "+world.Protocols[0].Name+",")
	require.Contains(t, out.String(), "It is not auto,\nthe default of exanet run")
}

// The commands of docs/adding-a-protocol.md do what it says, as they stand but for where the picture goes.
func TestAddingAProtocol(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-a-protocol.md")
	require.NoError(t, err)
	t.Chdir("../..")
	commands := 0
	for line := range strings.Lines(string(page)) {
		words, ok := strings.CutPrefix(line, "    exanet ")
		if !ok {
			continue
		}
		commands++
		var out, errs bytes.Buffer
		args := strings.Fields(strings.ReplaceAll(words, "/tmp", t.TempDir()))
		require.Zero(t, run(args, &out, &errs), "%s%s", line, errs.String())
		switch {
		case args[0] == "explore":
			require.Contains(t, out.String(), "toy, ")
			require.Contains(t, out.String(), "nothing wrong")
		case len(args) == 2:
			require.Contains(t, out.String(), "ok: everything has completed as MPI says")
		}
	}
	require.Greater(t, commands, 4)
}
