package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	module    = "github.com/exanet-mpi/exanet"
	directive = "//exanet:c "
)

// loader type-checks packages of the module, without the bodies of functions. Packages of
// others, but for the standard library's, are taken as empty: no layout may depend on them.
type loader struct {
	root     string
	files    *token.FileSet
	context  build.Context
	standard types.Importer
	checked  map[string]*types.Package
	syntax   map[string][]*ast.File
}

func newLoader(root string) *loader {
	// The sizes are those of every 64-bit architecture; which files are read must not depend on this one.
	build.Default.CgoEnabled, build.Default.GOARCH, build.Default.GOOS = false, "amd64", "linux"
	l := &loader{root: root, files: token.NewFileSet(), context: build.Default}
	l.checked, l.syntax = make(map[string]*types.Package), make(map[string][]*ast.File)
	l.standard = importer.ForCompiler(l.files, "source", nil)
	return l
}

// Import implements types.Importer.
func (l *loader) Import(path string) (*types.Package, error) {
	if p := l.checked[path]; p != nil {
		return p, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if dir, ours := strings.CutPrefix(path, module+"/"); ours {
		return l.check(path, filepath.Join(l.root, dir))
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return l.standard.Import(path)
	}
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	l.checked[path] = p
	return p, nil
}

func (l *loader) check(path, dir string) (*types.Package, error) {
	found, err := l.context.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range found.GoFiles {
		f, err := parser.ParseFile(l.files, filepath.Join(dir, name), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	// What is not known of other modules is an error of the checker's, which goes on: a layout that
	// needs it has a field of an invalid type.
	conf := types.Config{Importer: l, IgnoreFuncBodies: true, Sizes: sizes, Error: func(error) {}}
	p, _ := conf.Check(path, l.files, files, nil)
	l.checked[path], l.syntax[path] = p, files
	return p, nil
}

var sizes = types.SizesFor("gc", "amd64")

// marked finds the folders of packages with directives.
func marked(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")):
			return filepath.SkipDir // as the go command does
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if dir := filepath.Dir(path); bytes.Contains(text, []byte("\n"+directive)) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	return dirs, err
}

// named returns the name that a directive gives a declaration, empty if there is none.
func named(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	for _, c := range doc.List {
		if name, ok := strings.CutPrefix(c.Text, directive); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

// generate returns the header for the module in root.
func generate(root string) ([]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dirs, err := marked(root)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, errors.New("no declaration has a directive: is this the module's folder?")
	}
	slices.Sort(dirs)
	l, h := newLoader(root), newHeader()
	for _, dir := range dirs {
		rel, _ := filepath.Rel(root, dir)
		path := module + "/" + filepath.ToSlash(rel)
		p, err := l.Import(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
		for _, f := range l.syntax[path] {
			h.collect(p, f)
		}
	}
	return h.write()
}
