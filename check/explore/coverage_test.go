package explore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// protocolDirs are the packages whose statements the explorer must reach. That of
// envless has only what makes a rtr.
var protocolDirs = []string{"variants/ticket", "variants/rtr", "variants/envless", "optimistic", "variants/readbased",
	"variants/channels", "variants/auto", "variants/standing", "check/toy"}

var block = regexp.MustCompile(`^github\.com/exanet-mpi/exanet/(\S+):(\d+\.\d+),\d+\.\d+ \d+ (\d+)$`)

// TestCoverage runs the short plan with coverage and shows that every statement
// of the protocols is reached, but for those that testdata/unreached names: a
// function of a file, or a line of it, each with the reason. What is named there
// and does not exist, or is reached, must be taken out.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package with coverage")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	profile := filepath.Join(t.TempDir(), "profile")
	packages := "./" + strings.Join(protocolDirs, ",./")
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout=1h", "-short", "-run", "^TestAllSmallPrograms$",
		"-coverpkg", packages, "-coverprofile", profile, "./check/explore")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(profile)
	require.NoError(t, err)

	reached := map[string]bool{} // file:line.column at which a block begins
	for _, l := range strings.Split(string(text), "\n") {
		if m := block.FindStringSubmatch(l); m != nil {
			at := m[1] + ":" + m[2]
			reached[at] = reached[at] || m[3] != "0"
		}
	}
	excused, used := unreached(t), map[string]bool{}
	total, taken, left := map[string]int{}, map[string]int{}, map[string]int{} // blocks of statements by package
	for at, ok := range reached {
		total[filepath.Dir(at)]++
		if ok {
			taken[filepath.Dir(at)]++
			continue
		}
		file, line := where(t, root, at)
		in := function(t, root, at)
		known := false
		for _, key := range []string{"* | " + in, "* | " + line, file + " | " + in, file + " | " + line} {
			if excused[key] {
				known, used[key] = true, true
			}
		}
		if known {
			left[filepath.Dir(file)]++
		} else {
			t.Errorf("%s: not reached, in %s: %s", at, in, line)
		}
	}
	for _, dir := range protocolDirs {
		t.Logf("%-20s transitions of its state machine taken: %d of %d (%d more are excused in testdata/unreached)",
			dir, taken[dir], total[dir]-left[dir], left[dir])
	}
	for key := range excused {
		if !used[key] {
			t.Errorf("testdata/unreached names %q, which is not there or is reached", key)
		}
	}
}

// unreached reads the exceptions: file, or * for any | function or line | reason.
func unreached(t *testing.T) map[string]bool {
	text, err := os.ReadFile("testdata/unreached")
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, l := range strings.Split(string(text), "\n") {
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		cut := strings.LastIndex(l, " | ")
		require.Positive(t, cut, l)
		keys[l[:cut]] = true
	}
	return keys
}

func split(at string) (file string, line int) {
	file, number, _ := strings.Cut(at, ":")
	number, _, _ = strings.Cut(number, ".")
	line, _ = strconv.Atoi(number)
	return file, line
}

func lines(t *testing.T, root, file string) []string {
	source, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return strings.Split(string(source), "\n")
}

// where returns the file and the text of the line at which a block begins.
func where(t *testing.T, root, at string) (file, text string) {
	file, line := split(at)
	return file, strings.TrimSpace(lines(t, root, file)[line-1])
}

var funcName = regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)

// function returns the function that a block is in, as func NAME.
func function(t *testing.T, root, at string) string {
	file, line := split(at)
	source := lines(t, root, file)
	for i := line - 1; i >= 0; i-- {
		if m := funcName.FindStringSubmatch(source[i]); m != nil {
			return fmt.Sprintf("func %s", m[1])
		}
	}
	return ""
}
