package preload

import (
	"path/filepath"
	"slices"
	"strings"
)

// preloadList is the value of LD_PRELOAD with a library added to what the user
// has there. A sanitizer's runtime must be the first of all; the user's others come
// after the library, since a malloc or a tracer does not mind.
func preloadList(users, library, sanitizer string) string {
	var first, rest []string
	for _, entry := range entries(users) {
		switch {
		case entry == library:
		case isSanitizer(entry):
			first = append(first, entry)
		default:
			rest = append(rest, entry)
		}
	}
	if len(first) == 0 && sanitizer != "" {
		first = []string{sanitizer}
	}
	return strings.Join(slices.Concat(first, []string{library}, rest), ":")
}

// Without returns an environment in which the libraries of this package are not
// preloaded.
func Without(env []string) []string {
	list := slices.DeleteFunc(entries(environment(env).get("LD_PRELOAD")), func(entry string) bool {
		return slices.ContainsFunc(MPIs, func(m MPI) bool { return filepath.Base(entry) == LibraryName(m) })
	})
	return environment(env).with("LD_PRELOAD", strings.Join(list, ":"))
}

// entries are those of a value of LD_PRELOAD: colons and spaces separate them.
func entries(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ':' || r == ' ' })
}

// isSanitizer reports whether a library is the runtime of gcc's or clang's address
// sanitizer, which ends a program that has loaded another one before it.
func isSanitizer(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, "libasan.so") || strings.HasPrefix(base, "libclang_rt.asan")
}
