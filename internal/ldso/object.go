// Package ldso finds the shared libraries that a program is linked to, without
// running it: what the dynamic linker would load, by the rules of ld.so(8).
//
//	object.go   what a file says of itself: architecture, DT_NEEDED, RPATH, RUNPATH
//	search.go   where the linker looks for a name
//	cache.go    /etc/ld.so.cache
//
// What a program loads later by dlopen is not found.
package ldso

import (
	"debug/elf"
	"path/filepath"
	"runtime"
	"strings"
)

// Object is an executable or a shared library.
type Object struct {
	Path    string
	Class   elf.Class
	Machine elf.Machine
	Needed  []string // DT_NEEDED: names, rarely paths

	interpreted      bool // it names a dynamic linker
	rpaths, runpaths []string
}

// Open reads an ELF file. The error is that of the system or an
// *elf.FormatError.
func Open(path string) (*Object, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o := &Object{Path: path, Class: f.Class, Machine: f.Machine}
	for _, p := range f.Progs {
		o.interpreted = o.interpreted || p.Type == elf.PT_INTERP
	}
	// A file without a dynamic section has none of these: that is no error here.
	o.Needed, _ = f.DynString(elf.DT_NEEDED)
	o.rpaths = o.directories(f, elf.DT_RPATH)
	o.runpaths = o.directories(f, elf.DT_RUNPATH)
	return o, nil
}

// Static reports whether an executable is loaded without a dynamic linker, so
// that nothing can be preloaded into it.
func (o *Object) Static() bool { return !o.interpreted }

// directories returns those of a tag, with the names that the linker knows
// replaced.
func (o *Object) directories(f *elf.File, tag elf.DynTag) (dirs []string) {
	lists, _ := f.DynString(tag)
	here := filepath.Dir(o.Path)
	if real, err := filepath.EvalSymlinks(o.Path); err == nil {
		here = filepath.Dir(real)
	}
	if absolute, err := filepath.Abs(here); err == nil {
		here = absolute
	}
	for _, list := range lists {
		for dir := range strings.SplitSeq(list, ":") {
			for _, lib := range libraryDirs(o.Machine) {
				d := strings.NewReplacer("$ORIGIN", here, "${ORIGIN}", here, "$LIB", lib, "${LIB}", lib,
					"$PLATFORM", platform(o.Machine), "${PLATFORM}", platform(o.Machine)).Replace(dir)
				if len(dirs) == 0 || dirs[len(dirs)-1] != d {
					dirs = append(dirs, d)
				}
			}
		}
	}
	return dirs
}

// Native is the architecture that this program was built for.
func Native() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

// platform is the kernel's name of an architecture.
func platform(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_AARCH64:
		return "aarch64"
	}
	return ""
}

// libraryDirs are what $LIB may stand for, and where libraries are by default,
// below / and /usr.
func libraryDirs(m elf.Machine) []string {
	if p := platform(m); p != "" {
		return []string{"lib/" + p + "-linux-gnu", "lib64", "lib"}
	}
	return []string{"lib"}
}
