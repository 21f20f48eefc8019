package explore

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/check/world"
)

// mutant is a fault that can be put into a source file.
type mutant struct {
	number          int // from one
	name, protocols string
	file            string
	was, is         []string
}

func mutants(t *testing.T) (list []*mutant) {
	text, err := os.ReadFile("testdata/mutants")
	require.NoError(t, err)
	for _, block := range strings.Split(string(text), "\n\n") {
		m := &mutant{number: len(list) + 1}
		for _, l := range strings.Split(strings.TrimSpace(block), "\n") {
			switch {
			case strings.HasPrefix(l, "< "):
				m.was = append(m.was, l[2:])
			case strings.HasPrefix(l, "> "):
				m.is = append(m.is, l[2:])
			case l != "" && !strings.HasPrefix(l, "#"):
				f := strings.Split(l, " | ")
				require.Len(t, f, 3, l)
				m.name, m.protocols, m.file = f[0], f[1], f[2]
			}
		}
		if m.name != "" {
			require.Equal(t, len(m.was), len(m.is), m.name)
			list = append(list, m)
		}
	}
	return list
}

// huntVariable names the protocol that TestHunt explores, and mutantVariable the
// fault that is switched on in it. Only the mutants' processes set them.
const (
	huntVariable   = "EXANET_TEST_HUNT"
	mutantVariable = "EXANET_TEST_MUTANT"
)

// found begins the line in which TestHunt says what it has found.
const found = "violation: "

// TestMutants puts all faults into the source at once, each with a switch, and
// shows that the explorer finds each. The files are changed with go build's
// -overlay, so the sources need no hooks.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("explores every protocol with each fault")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	list := mutants(t)
	binary := filepath.Join(dir, "hunt")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay(t, root, dir, list), "-o", binary, ".")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, m := range list {
		for _, protocol := range strings.Split(m.protocols, ",") {
			t.Run(protocol+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(binary, "-test.run", "^TestHunt$", "-test.v", "-test.timeout", "15m",
					"-test.cpu", "1")
				cmd.Env = append(os.Environ(), huntVariable+"="+protocol,
					fmt.Sprintf("%s=%d", mutantVariable, m.number))
				begun := time.Now()
				out, err := cmd.CombinedOutput()
				require.Error(t, err, "the fault has not been found")
				_, what, ok := strings.Cut(string(out), found)
				require.True(t, ok, "%s", out)
				what, _, _ = strings.Cut(what, "\n")
				t.Logf("%4.1f s: %s", time.Since(begun).Seconds(), what)
			})
		}
	}
}

// overlay writes the changed files and returns the name of the file that go
// build's -overlay wants.
func overlay(t *testing.T, root, dir string, list []*mutant) string {
	changed := map[string][]string{} // lines, by file
	for _, m := range list {
		if changed[m.file] == nil {
			text, err := os.ReadFile(filepath.Join(root, m.file))
			require.NoError(t, err)
			changed[m.file] = strings.Split(string(text), "\n")
		}
	}
	originals := map[string][]string{}
	for file, lines := range changed {
		originals[file] = slices.Clone(lines)
	}
	for _, m := range list {
		for i, was := range m.was {
			at := slices.Index(originals[m.file], was)
			for n := range i { // the same line again: where it occurs next
				if m.was[n] == was && at >= 0 {
					next := slices.Index(originals[m.file][at+1:], was)
					require.GreaterOrEqual(t, next, 0, "%s: %q does not occur that often", m.name, was)
					at += 1 + next
				}
			}
			require.GreaterOrEqual(t, at, 0, "%s must be brought up to date with %s: %q", m.name, m.file, was)
			changed[m.file][at] = switched(t, changed[m.file][at], was, m.is[i], m.number)
		}
	}
	replace := map[string]string{}
	write := func(path, text string) {
		name := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		replace[path] = name
	}
	for file, lines := range changed {
		write(filepath.Join(root, file), strings.Join(lines, "\n"))
		pkg := filepath.Dir(file)
		if s := filepath.Join(root, pkg, "mutant.go"); replace[s] == "" {
			write(s, fmt.Sprintf(switchFile, filepath.Base(pkg), mutantVariable))
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	name := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// switchFile is added to each changed package.
const switchFile = `package %s

import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv(%q))

func mutant(n int) bool { return mutantNumber == n }
`

// switched returns a line, which may have been switched for other mutants, that
// does what the mutant's does if it is on. Lines that begin a block change their
// condition.
func switched(t *testing.T, line, was, is string, n int) string {
	for _, k := range [][2]string{{"if ", " {"}, {"} else if ", " {"}, {"for ", " {"}, {"case ", ":"}} {
		old, ok := condition(line, k)
		if !ok {
			continue
		}
		cond, ok := condition(is, k)
		if strings.TrimSpace(is) == "default:" {
			cond, ok = "true", true
		}
		require.True(t, ok, "%q for %q", is, was)
		before, old := clause(old)
		_, cond = clause(cond)
		return k[0] + before + fmt.Sprintf("mutant(%d) && (%s) || !mutant(%d) && (%s)", n, cond, n, old) + k[1]
	}
	if head, body, ok := strings.Cut(line, " { "); ok && strings.HasPrefix(was, "func ") { // in one line
		_, instead, _ := strings.Cut(is, " { ")
		return fmt.Sprintf("%s {\nif mutant(%d) { %s\n%s", head, n, instead, body)
	}
	if name, _, ok := strings.Cut(is, " := "); ok { // the variable must outlive the switch
		return line + fmt.Sprintf("\nif mutant(%d) { %s = %s }", n, name, is[len(name)+4:])
	}
	return fmt.Sprintf("if mutant(%d) { %s\n} else { %s\n}", n, is, line)
}

// condition returns what is between the keyword and the end of a line.
func condition(line string, k [2]string) (string, bool) {
	s, ok := strings.CutPrefix(strings.TrimSpace(line), k[0])
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, k[1])
}

// clause splits the condition of an if from the statement before it.
func clause(s string) (before, cond string) {
	if i := strings.Index(s, "; "); i >= 0 {
		return s[:i+2], s[i+2:]
	}
	return "", s
}

// TestHunt explores the short plan for the protocol that a mutant is of.
func TestHunt(t *testing.T) {
	name, ok := os.LookupEnv(huntVariable)
	if !ok {
		t.Skip(huntVariable + " is not set: TestMutants runs this in processes of its own")
	}
	p, err := world.ProtocolNamed(name)
	require.NoError(t, err)
	for _, part := range Plan(p, true, false) {
		if _, f := Run(part.configure(p.Config(part.Ranks)), part.Programs, false, nil); f != nil {
			f = Minimal(f)
			file := f.Scenario(p.Name)
			t.Logf("%s", file)
			require.Contains(t, file, "✗", "the scenario does not show the violation")
			t.Fatalf("%s%v", found, f)
		}
	}
}
