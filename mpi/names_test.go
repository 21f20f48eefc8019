package mpi_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared returns the exported names of a package, methods as Type.Method, and
// the comments of its files.
func declared(t *testing.T, dir string) (names map[string]bool, comments string) {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	var files []*ast.File
	var text strings.Builder
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, f)
		for _, c := range f.Comments {
			text.WriteString(c.Text())
		}
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/exanet-mpi/exanet/"+filepath.Base(dir))
	require.NoError(t, err)
	names = make(map[string]bool)
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				names[name] = true
			}
		}
	}
	functions := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			names[prefix+f.Name] = true
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions("", p.Funcs)
	for _, ty := range p.Types {
		names[ty.Name] = true
		values(ty.Consts)
		values(ty.Vars)
		functions("", ty.Funcs)
		functions(ty.Name+".", ty.Methods)
	}
	return names, text.String()
}

// docs/mpi.md says what is called how: the Go names must exist, and MPI names
// that comments give as the origin of something must be there.
func TestTheNamesOfMPI(t *testing.T) {
	names, comments := declared(t, ".")
	types, _ := declared(t, "../datatype")
	for name := range types {
		names["datatype."+name] = true
	}
	receivers := map[string]string{"c": "Comm", "q": "Request", "g": "Group", "m": "Message", "st": "Status",
		"o": "Op", "v": "Keyval", "e": "ErrorCode", "t": "datatype.Type", "nil": ""}

	page, err := os.ReadFile("../docs/mpi.md")
	require.NoError(t, err)
	quoted := regexp.MustCompile("`([^`]+)`")
	checked := 0
	for _, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, q := range quoted.FindAllStringSubmatch(line, -1) {
			name := q[1]
			if before, after, ok := strings.Cut(name, "."); ok && before != "datatype" {
				name = receivers[before] + "." + after
			} else if name == "nil" {
				continue
			}
			require.True(t, names[name], "docs/mpi.md names %s, which does not exist", q[1])
			checked++
		}
	}
	require.Greater(t, checked, 200)

	whole := regexp.MustCompile(`\bMPIX?_[A-Za-z]\w*\w`)
	there := make(map[string]bool)
	for _, name := range whole.FindAllString(string(page), -1) {
		there[name] = true
	}
	for _, name := range whole.FindAllString(comments, -1) {
		require.True(t, there[name], "docs/mpi.md does not mention %s, which a comment of package mpi does", name)
	}
}
