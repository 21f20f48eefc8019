package mpi

import (
	"fmt"
	"slices"
	"strings"
)

// oneOf checks a name against the known ones. tag is the build tag that has
// left only those, if there is one.
func oneOf(what, name string, known []string, tag string) error {
	if slices.Contains(known, name) {
		return nil
	}
	choose := "choose one of " + strings.Join(known, ", ")
	if len(known) == 1 {
		choose = "choose " + known[0]
	}
	if tag != "" {
		return initError(fmt.Errorf("this program was built with the tag %s and has no %s %q", tag, what, name),
			choose+", or build it without that tag")
	}
	return initError(fmt.Errorf("there is no %s %q", what, name), choose)
}
