package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The remote shell of a report is found, and refused, as that of run.
func TestTheShellOfAReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "new", "page")
	for shell, code := range map[string]int{"": exitUsage, "/no/sh/x": 127, "/no/sh/x -p 2": 127} {
		_, want, ran := exanet(t, "", "run", "--hosts", "a,b,c", "--shell", shell, "true")
		require.Equal(t, code, ran, want)
		out, errs, code := exanet(t, "", "bench", "report", "--hosts", "a,b,c", "--shell", shell, "--out", page)
		require.Equal(t, ran, code, errs)
		require.Equal(t, want, errs)
		require.Empty(t, out)
	}
	require.NoDirExists(t, filepath.Dir(page))
}

// A launcher that takes the name of a program has it called with all words.
func TestShellsWithArguments(t *testing.T) {
	for _, words := range []string{"echo", "echo -p it's", "echo $HOME * \""} {
		path, remove, err := shellFlag(words).program()
		require.NoError(t, err)
		require.Equal(t, "echo", filepath.Base(path))
		out, err := exec.Command(path, "host", "a  b").Output()
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(words+" host a  b\n", "echo "), string(out))
		remove()
		_, err = os.Stat(path)
		require.Equal(t, words == "echo", err == nil)
	}
}

// A baseline without libraries is refused before anything is run, and not because of --lib.
func TestABaselineWithoutLibraries(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "osu-mpich"), nil, 0o700))
	for _, baseline := range []string{dir, filepath.Join(dir, "nosuch")} {
		out, errs, code := exanet(t, "", "bench", "report", "--programs", dir, "--baseline", baseline, "--out",
			filepath.Join(dir, "new", "page"))
		require.Equal(t, exitUsage, code, errs)
		require.Empty(t, out)
		require.Regexp(t, `^exanet: --baseline: stat `+regexp.QuoteMeta(baseline)+`.*: name the directory .*\n$`, errs)
	}
	require.NoDirExists(t, filepath.Join(dir, "new"))
}
