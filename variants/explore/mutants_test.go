package explore

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants/world"
)

// mutant is a fault that can be put into a source file.
type mutant struct {
	name, protocol, file string
	was, is              []string
}

func mutants(t *testing.T) (list []mutant) {
	text, err := os.ReadFile("testdata/mutants")
	require.NoError(t, err)
	for _, block := range strings.Split(string(text), "\n\n") {
		var m mutant
		for _, l := range strings.Split(strings.TrimSpace(block), "\n") {
			switch {
			case strings.HasPrefix(l, "< "):
				m.was = append(m.was, l[2:])
			case strings.HasPrefix(l, "> "):
				m.is = append(m.is, l[2:])
			case l != "" && !strings.HasPrefix(l, "#"):
				f := strings.Split(l, " | ")
				require.Len(t, f, 3, l)
				m.name, m.protocol, m.file = f[0], f[1], f[2]
			}
		}
		if m.name != "" {
			list = append(list, m)
		}
	}
	return list
}

// huntVariable names the protocol that TestHunt explores. Only the mutants'
// processes set it.
const huntVariable = "EXANET_HUNT"

// found begins the line in which TestHunt says what it has found.
const found = "violation: "

// TestMutants puts each fault into the source, with go test -overlay, and shows
// that the explorer finds it.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package once for each mutant")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range mutants(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(root, m.file)
			source, err := os.ReadFile(path)
			require.NoError(t, err)
			text := string(source)
			require.Equal(t, len(m.was), len(m.is))
			for i := range m.was {
				require.Contains(t, text, m.was[i]+"\n", "the mutant must be brought up to date with %s", m.file)
				text = strings.Replace(text, m.was[i]+"\n", m.is[i]+"\n", 1)
			}
			changed := filepath.Join(dir, "mutant.go")
			require.NoError(t, os.WriteFile(changed, []byte(text), 0o600))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			require.NoError(t, err)
			file := filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(file, overlay, 0o600))
			cmd := exec.Command("go", "test", "-vet=off", "-overlay", file, "-count=1", "-timeout", "120s", "-run", "^TestHunt$", "-v", ".")
			cmd.Env = append(os.Environ(), huntVariable+"="+m.protocol)
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

// TestHunt explores the short plan for the protocol that a mutant is of.
func TestHunt(t *testing.T) {
	name, ok := os.LookupEnv(huntVariable)
	if !ok {
		t.Skip(huntVariable + " is not set: TestMutants runs this in processes of its own")
	}
	p, err := world.ProtocolNamed(name)
	require.NoError(t, err)
	for _, part := range Plan(p, true, false) {
		if part.Exact {
			continue
		}
		if _, f := Run(part.configure(p.Config(part.Ranks)), part.Programs, false, nil); f != nil {
			f = Minimal(f)
			file := f.Scenario(p.Name)
			t.Logf("%s", file)
			require.Contains(t, file, "✗", "the scenario does not show the violation")
			t.Fatalf("%s%v", found, f)
		}
	}
}
