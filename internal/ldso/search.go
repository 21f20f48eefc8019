package ldso

import (
	"os"
	"path/filepath"
	"strings"
)

// Search knows where the libraries of a system are. It remembers what it has
// read. Not for several goroutines at once.
type Search struct {
	env     []string            // LD_LIBRARY_PATH
	cache   map[string][]string // by name
	objects map[string]*Object  // by path; nil: cannot be read
}

// NewSearch makes a Search for processes with that LD_LIBRARY_PATH.
func NewSearch(libraryPath string) *Search {
	s := &Search{objects: map[string]*Object{}}
	if libraryPath != "" {
		s.env = strings.FieldsFunc(libraryPath, func(r rune) bool { return r == ':' || r == ';' })
	}
	b, _ := os.ReadFile("/etc/ld.so.cache") // without it there are the default directories
	s.cache = parseCache(b)
	return s
}

// Library is a library that a program is linked to, directly or by another one.
type Library struct {
	Name   string  // as in DT_NEEDED
	Object *Object // nil if there is no such file
}

// loaded is an object with those that have led to it.
type loaded struct {
	*Object
	by *loaded
}

// Libraries returns the libraries of o in the order in which the linker loads
// them, each name once.
func (s *Search) Libraries(o *Object) []Library {
	var list []Library
	seen := map[string]bool{}
	for queue := []*loaded{{Object: o}}; len(queue) > 0; queue = queue[1:] {
		from := queue[0]
		for _, name := range from.Needed {
			if seen[name] {
				continue
			}
			seen[name] = true
			found := s.find(name, from)
			list = append(list, Library{name, found})
			if found != nil {
				queue = append(queue, &loaded{found, from})
			}
		}
	}
	return list
}

// find returns the library that name means in an object.
func (s *Search) find(name string, from *loaded) *Object {
	if strings.Contains(name, "/") {
		return s.open(name, from.Object)
	}
	for _, dir := range s.directories(from) {
		if o := s.open(filepath.Join(dir, name), from.Object); o != nil {
			return o
		}
	}
	for _, path := range s.cache[name] {
		if o := s.open(path, from.Object); o != nil {
			return o
		}
	}
	for _, lib := range libraryDirs(from.Machine) {
		for _, root := range []string{"/", "/usr"} {
			if o := s.open(filepath.Join(root, lib, name), from.Object); o != nil {
				return o
			}
		}
	}
	return nil
}

// directories are those before the cache. A RUNPATH counts for the object that
// has it alone, and makes the linker ignore RPATHs; an RPATH counts for all that
// the object brings along.
func (s *Search) directories(from *loaded) (dirs []string) {
	if len(from.runpaths) == 0 {
		for l := from; l != nil; l = l.by {
			if len(l.runpaths) == 0 {
				dirs = append(dirs, l.rpaths...)
			}
		}
	}
	dirs = append(dirs, s.env...)
	return append(dirs, from.runpaths...)
}

// open returns the object at path if one of like's architecture is there.
func (s *Search) open(path string, like *Object) *Object {
	o, known := s.objects[path]
	if !known {
		o, _ = Open(path)
		s.objects[path] = o
	}
	if o == nil || o.Class != like.Class || o.Machine != like.Machine {
		return nil
	}
	return o
}
