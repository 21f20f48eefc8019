package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
