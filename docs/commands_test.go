// Package docs tests what the documents tell people to type.
package docs

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command is a block of commands of a document, or one within its text.
type command struct {
	script string
	output string // what the document says that it prints; "" if it says nothing
	doc    string
}

// leftOut are the commands that are not run, and why not.
var leftOut = []struct{ script, why string }{
	{"make test", "this test is part of it"},
	{compareOSU, "it needs MPICH; make test-real compares such programs"},
	{"make build preload", "it needs MPICH or Open MPI; make test-real does it"},
	{"make bench-programs", "the same"},
	{"bin/exanet preload -- mpirun.mpich -np 4 ./app", "./app is the reader's"},
	{"exanet preload --timeout 60s -- mpirun ...", "the program is the reader's"},
	{"exanet compare -- mpirun.mpich -np 2 ./app", "./app is the reader's"},
	{"go run ./cmd/exanet reproduce --out report --quick", "it takes minutes; tests of reproduce do parts of it"},
	{"exanet explore --variant ticket --ops 3", "it takes minutes; tests of check/explore do the like"},
	{"go build -o bin/cg ./examples/cg && exanet sim run -n 64 bin/cg", "it is long; cmd/exanet has fewer ranks"},
	{"exanet bench floor", "it measures the machine; cmd/exanet runs it briefly"},
	{"exanet bench report", "it needs MPICH and takes minutes"},
	{"exanet guests", "it boots machines for a person; make test-guests has what they run"},
	{"exanet tune FILE", "it takes minutes; cmd/exanet runs it briefly"},
	{"go mod tidy", "it is in a block of commands, too"},
	{"exanet run", "it is a name in a sentence"},
	{"exanet run --timeout 60s", "the same"},
}

const compareOSU = `make build preload bench-programs
bin/exanet compare -- mpirun.mpich -np 8 bin/osu-mpich allreduce,barrier -m 8:8 -i 100 -x 0`

// begins are the words with which a line that is typed begins.
var begins = regexp.MustCompile(`^(go|make|cd|exanet|bin/exanet|\./exanet) `)

// commandsOf finds the commands of a document: fenced blocks of sh, each with the block of
// output behind it; indented blocks that begin with the name of a program; and, between
// backticks, whatever begins so.
func commandsOf(t *testing.T, doc string) (list []command) {
	text, err := os.ReadFile(filepath.Join("..", doc))
	require.NoError(t, err)
	var prose strings.Builder
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		kind, fenced := strings.CutPrefix(lines[i], "```")
		in := func(i int) bool { return i < len(lines) && strings.HasPrefix(lines[i], "    ") }
		if fenced {
			in = func(i int) bool { return lines[i] != "```" }
			i++
		} else if !in(i) {
			prose.WriteString(lines[i] + "\n")
			continue
		}
		var block []string
		for ; in(i); i++ {
			block = append(block, strings.TrimPrefix(lines[i], "    "))
		}
		switch script := strings.Join(block, "\n"); {
		case kind == "output":
			list[len(list)-1].output = script
		case kind == "sh", !fenced && begins.MatchString(script):
			list = append(list, command{script: script, doc: doc})
		}
	}
	for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(prose.String(), -1) {
		if script := strings.ReplaceAll(quoted[1], "\n", " "); begins.MatchString(script) {
			list = append(list, command{script: script, doc: doc})
		}
	}
	return list
}

// copyTree copies the checkout without what git ignores or hides.
func copyTree(t *testing.T, to string) {
	t.Helper()
	root := ".."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "bin" || rel == "report"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	}))
}

// programOf is the Go program in a document, for the reader to put into a file.
func programOf(t *testing.T, doc string) []byte {
	text, err := os.ReadFile(filepath.Join("..", doc))
	require.NoError(t, err)
	block := regexp.MustCompile(`(?m)^    package main\n(    .*\n|\n)+`).Find(text)
	require.NotEmpty(t, block)
	return append(bytes.TrimSpace(regexp.MustCompile(`(?m)^    `).ReplaceAll(block, nil)), '\n')
}

func TestProgramIsFormatted(t *testing.T) {
	program := programOf(t, "README.md")
	formatted, err := format.Source(program)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(program))
}

// What the README and the tutorial tell people to type runs as it stands, in a copy of the
// checkout, and prints what the documents say.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds everything in a copy of the checkout")
	}
	above := t.TempDir()
	tree := filepath.Join(above, "exanet")
	copyTree(t, tree)
	mine := filepath.Join(above, "mine") // the reader's program, beside it
	require.NoError(t, os.Mkdir(mine, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(mine, "main.go"), programOf(t, "README.md"), 0o644))

	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "EXANET_") {
			env = append(env, kv)
		}
	}
	// What the tests have fetched is there without a network, but for its sums.
	env = append(env, "GONOSUMDB=*", "PATH="+filepath.Join(tree, "bin")+":"+os.Getenv("PATH"))

	skipped := make(map[string]bool)
	for _, l := range leftOut {
		skipped[l.script] = false
	}
	for _, c := range append(commandsOf(t, "docs/tutorial.md"), commandsOf(t, "README.md")...) {
		if _, out := skipped[c.script]; out {
			skipped[c.script] = true
			continue
		}
		name, _, _ := strings.Cut(c.script, "\n")
		t.Run(c.doc+": "+name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-ec", c.script)
			cmd.Dir, cmd.Env = tree, env
			if name == "cd mine" {
				cmd.Dir = above
			}
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "dial tcp") {
				t.Skipf("a module cannot be fetched: %s", out)
			}
			if strings.HasSuffix(c.script, " -wrong") { // --timeout ends it
				assert.ErrorContains(t, err, "exit status 124", "%s", out)
			} else {
				assert.NoError(t, err, "%s", out)
			}
			if c.output != "" { // the lines of ranks in any order
				assert.ElementsMatch(t, linesOf(c.output), linesOf(string(out)))
			}
		})
	}
	for script, found := range skipped {
		assert.True(t, found, "no document has this command any more: %s", script)
	}
}

// linesOf are the lines of an output, without the numbers of processes.
func linesOf(out string) []string {
	return slices.Collect(strings.Lines(regexp.MustCompile(`\bpid \d+`).ReplaceAllString(strings.TrimSpace(out)+"\n",
		"pid N")))
}
