package mpi

import (
	"fmt"
	"slices"
	"strings"
)

// oneOf checks a name against the known ones, and says what to do about one that is none. tag is the build tag that has
// left only those, if there is one.
func oneOf(what, name string, known []string, tag string) (do string, err error) {
	if slices.Contains(known, name) {
		return "", nil
	}
	choose := "choose one of " + strings.Join(known, ", ")
	if len(known) == 1 {
		choose = "choose " + known[0]
	}
	if tag != "" {
		return choose + ", or build it without that tag",
			fmt.Errorf("this program was built with the tag %s and has no %s %q", tag, what, name)
	}
	return choose, fmt.Errorf("there is no %s %q", what, name)
}
