// Command rewrite makes copies of the Go files of packages in which what reads and
// writes memory goes through package interleave, and an overlay that has the compiler
// take them: rewrite -o DIR PACKAGE..., then go test -overlay DIR/overlay.json.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	dir := flag.String("o", "", "folder to write to")
	flag.Parse()
	if err := run(*dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "rewrite:", err)
		os.Exit(1)
	}
}

// pkg is what go list tells of a package.
type pkg struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

func run(dir string, patterns []string) error {
	if dir == "" || len(patterns) == 0 {
		return errors.New("give a folder and packages: rewrite -o DIR PACKAGE...")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	all, err := list(patterns)
	if err != nil {
		return err
	}
	exports := make(map[string]string)
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(fset, "gc", open)
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for _, p := range all {
		if p.DepOnly {
			continue
		}
		files, err := rewritePackage(fset, imports, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.ImportPath, err)
		}
		for name, text := range files {
			to := filepath.Join(dir, fmt.Sprintf("%d-%s", len(overlay.Replace), filepath.Base(name)))
			if err := os.WriteFile(to, text, 0o666); err != nil {
				return err
			}
			overlay.Replace[name] = to
		}
	}
	text, err := json.MarshalIndent(overlay, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o666)
}

func list(patterns []string) (all []pkg, err error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}
	cmd := exec.Command("go", append(args, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(out); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return all, cmd.Wait()
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

func rewritePackage(fset *token.FileSet, imports types.Importer, p pkg) (map[string][]byte, error) {
	sources := make(map[string][]byte)
	for _, name := range p.GoFiles {
		name = filepath.Join(p.Dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources[name] = text
	}
	return rewriteSources(fset, imports, p.ImportPath, sources)
}

func rewriteSources(
	fset *token.FileSet, imports types.Importer, path string, sources map[string][]byte,
) (map[string][]byte, error) {
	var files []*ast.File
	for name, text := range sources {
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object),
		Selections: make(map[*ast.SelectorExpr]*types.Selection),
	}
	if _, err := (&types.Config{Importer: imports}).Check(path, fset, files, info); err != nil {
		return nil, err
	}
	out := make(map[string][]byte)
	for _, f := range files {
		name := fset.File(f.Pos()).Name()
		text, err := rewrite(fset, info, f, sources[name])
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}
