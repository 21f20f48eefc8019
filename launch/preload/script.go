package preload

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/internal/ldso"
)

// interpreter returns the words of the #! line of a script, nil for other files.
func (p *planner) interpreter(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	first, _ := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	rest, ok := strings.CutPrefix(first, "#!")
	if words := strings.Fields(rest); ok && len(words) > 0 {
		return words
	}
	return nil
}

// script looks at what an interpreter runs with these words after it. What it finds
// out is a guess: if nothing tells, it is left to the launcher.
func (p *planner) script(name string, interpreter, args []string) (*program, error) {
	words := slices.Concat(interpreter, args)
	if filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool {
			return strings.HasPrefix(w, "-S") && len(w) == 2 || strings.Contains(w, "=")
		})
	}
	path, err := p.env.lookPath(words[0], "")
	if err != nil {
		return nil, &Error{name, err, 126}
	}
	if o, err := ldso.Open(path); err == nil && o.Machine != ldso.Native() {
		return nil, refuse(name, "its interpreter %s is built for %s", path, architecture(o.Machine))
	}
	prog := &program{name: name, runs: true}
	var objects []string
	if base := filepath.Base(path); strings.HasPrefix(base, "python") || strings.HasPrefix(base, "pypy") {
		objects = p.pythonLoads(path, words[1:])
	} else {
		objects = p.shellRuns(prog, words[1:])
	}
	for _, path := range objects {
		o, err := ldso.Open(path)
		if err != nil || o.Machine != ldso.Native() {
			continue
		}
		if p.linked(prog, o) != nil { // it has both: the launcher decides
			prog.mpi, prog.soname = "", ""
			break
		}
	}
	prog.sanitizer = "" // that of a program must not be preloaded into its shell
	return prog, nil
}

// source returns the text of the script among an interpreter's arguments, and the
// directory that it is in.
func source(args []string) (text, dir string) {
	for i, a := range args {
		switch {
		case a == "-c" && i+1 < len(args):
			return args[i+1], "."
		case a == "-m" && i+1 < len(args):
			return "import " + args[i+1] + "\n" + strings.Join(args[i+2:], " "), "."
		}
		if b, err := readStart(a); err == nil && !strings.HasPrefix(a, "-") {
			return b, filepath.Dir(a)
		}
	}
	return "", "."
}

// readStart returns as much of a file as anybody writes by hand.
func readStart(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(b), err
}

// shellRuns returns the executables among the words of a shell script. A launcher
// there says whose MPI it is, and goes into prog.
func (p *planner) shellRuns(prog *program, args []string) (paths []string) {
	text, dir := source(args)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return strings.ContainsRune(" \t\n;|&()`\"'<>", r)
	}) {
		path, err := p.env.lookPath(word, "")
		if err != nil && !strings.Contains(word, "/") {
			continue
		}
		if err != nil {
			if path, err = p.env.lookPath(word, dir); err != nil {
				continue
			}
		}
		if l := launcherAt(path); l != nil {
			if prog.mpi == "" && l.mpi != "" {
				prog.mpi = l.mpi
			}
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

// imports are the modules that Python source imports, roughly.
var imports = regexp.MustCompile(`(?m)(?:^|;)[ \t]*(?:import|from)[ \t]+([\w., \t]+)`)

// pythonLoads returns the extension modules in the packages that a Python script
// imports, itself or through modules beside it.
func (p *planner) pythonLoads(python string, args []string) (paths []string) {
	text, dir := source(args)
	var modules []string
	own := map[string]bool{}
	for queue := []string{text}; len(queue) > 0; queue = queue[1:] {
		for _, m := range imports.FindAllStringSubmatch(queue[0], -1) {
			list, _, _ := strings.Cut(m[1], " import")
			for name := range strings.SplitSeq(list, ",") {
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				name, _, _ = strings.Cut(name, ".")
				if name == "" || own[name] || slices.Contains(modules, name) {
					continue
				}
				if local, ok := localModule(dir, name); ok {
					own[name] = true
					queue = append(queue, local)
				} else {
					modules = append(modules, name)
				}
			}
		}
	}
	for _, dir := range p.pythonPackages(python, modules) {
		if info, err := os.Stat(dir); err == nil && !info.IsDir() {
			paths = append(paths, dir)
			continue
		}
		// what cannot be read is passed over
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".so" {
				paths = append(paths, path)
			}
			return nil
		})
	}
	return paths
}

func localModule(dir, name string) (string, bool) {
	for _, path := range []string{name + ".py", filepath.Join(name, "__init__.py")} {
		if text, err := readStart(filepath.Join(dir, path)); err == nil {
			return text, true
		}
	}
	return "", false
}

// whereModules prints the directory of each package, or the file of a module, that
// is named on its command line, without importing it.
const whereModules = `
import sys, importlib.util
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
        for path in spec.submodule_search_locations or [spec.origin]:
            print(path)
    except Exception:
        pass
`

// pythonPackages asks Python where modules are. A Python that does not answer
// knows nothing.
func (p *planner) pythonPackages(python string, modules []string) []string {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, python, append([]string{"-c", whereModules}, modules...)...)
	cmd.Env = p.env
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
