package preload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/exanet-mpi/exanet/internal/ldso"
)

// The library for an MPI is two files side by side: the part that is preloaded, and
// the part in Go, which needs the MPI that it was built for.

// LibraryName is the name of the part that is preloaded.
func LibraryName(m MPI) string { return "libexanet-" + string(m) + ".so" }

func goPartName(m MPI) string { return "libexanet-" + string(m) + "-go.so" }

// Dirs returns where the libraries may be: beside the executable, in bin beside it,
// and, for "go run", in bin of the checkout that dir is in.
func Dirs(executable, dir string) []string {
	here := filepath.Dir(executable)
	dirs := []string{here, filepath.Join(here, "bin")}
	for d := dir; ; d = filepath.Dir(d) {
		if b, err := os.ReadFile(filepath.Join(d, "go.mod")); err == nil {
			if strings.HasPrefix(string(b), "module github.com/exanet-mpi/exanet\n") {
				dirs = append(dirs, filepath.Join(d, "bin"))
			}
			break
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return dirs
}

// library returns the path of the library for an MPI that fits the programs.
func (p *planner) library(m MPI, programs []*program) (string, error) {
	for _, dir := range p.Dirs {
		path, err := filepath.Abs(filepath.Join(dir, LibraryName(m)))
		if err != nil {
			return "", &Error{dir, err, 1}
		}
		if _, err := ldso.Open(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", refuse(path, "cannot be used: %w", err)
		}
		if strings.ContainsAny(path, ": ") {
			return "", refuse(path, "LD_PRELOAD takes no paths with spaces or colons: move the library, and say "+
				"--lib DIR")
		}
		return path, p.fits(m, path, programs)
	}
	return "", refuse(LibraryName(m), "not found in %s: make preload builds it (or say --lib DIR)",
		strings.Join(p.Dirs, ", "))
}

// fits checks that the Go part is there and made for the very library that the
// programs use: different versions of an MPI may differ in their handles.
func (p *planner) fits(m MPI, path string, programs []*program) error {
	part := filepath.Join(filepath.Dir(path), goPartName(m))
	o, err := ldso.Open(part)
	if err != nil {
		return refuse(part, "its other half cannot be used: %w (make preload builds both)", err)
	}
	hosts := slices.DeleteFunc(slices.Clone(o.Needed), func(name string) bool { return mpiOf(name, nil) == "" })
	for _, prog := range programs {
		if o.Machine != prog.machine && prog.machine != 0 {
			return refuse(path, "is built for %s, %s for %s", architecture(o.Machine), prog.name,
				architecture(prog.machine))
		}
		if p.MPI != "" && prog.mpi != "" && prog.mpi != p.MPI {
			return refuse(prog.name, "uses %v (%s), but --mpi says %v: leave that out", prog.mpi,
				prog.soname, p.MPI)
		}
		if prog.soname != "" && len(hosts) > 0 && !slices.Contains(hosts, prog.soname) {
			return refuse(prog.name, "uses %s, but %s is made for %s: build it with the headers of that MPI",
				prog.soname, path, strings.Join(hosts, ", "))
		}
	}
	return nil
}
