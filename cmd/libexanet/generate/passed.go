package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Functions that are not in the list are the host's alone. They have entry points
// for one thing: to be counted, if EXANET_STATS asks for that. mpi.h, as the
// preprocessor leaves it, says which there are. Among them are those that begin and end MPI.

// hooks are what entry points do that are more than the call of the host, which %s stands for (c/entry.c).
var hooks = map[string]string{
	"Init":        "exanet_prepare();\n\treturn exanet_initialised(%s, &(int){MPI_THREAD_SINGLE});",
	"Init_thread": "exanet_prepare();\n\treturn exanet_initialised(%s, provided);",
	"Finalize":    "int code = exanet_finish();\n\treturn code == MPI_SUCCESS ? %s : code;",
}

var (
	attribute = regexp.MustCompile(`__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)`)
	prototype = regexp.MustCompile(`\bint\s+MPI_(\w+)\s*\(([^()]*)\)\s*;`)
	parameter = regexp.MustCompile(`^(.*[\s*])(\w+)((?:\[\d*\])*)$`)
)

// declarations finds the functions of MPI that mpi.h declares, with their parameters.
func (g *generator) declarations() {
	g.parameters = make(map[string]string)
	for _, m := range prototype.FindAllStringSubmatch(g.header, -1) {
		if _, known := g.parameters[m[1]]; !known && strings.Contains(g.header, "PMPI_"+m[1]) {
			g.declared = append(g.declared, m[1])
			g.parameters[m[1]] = strings.Join(strings.Fields(m[2]), " ")
		}
	}
}

// others writes the entry points of the functions that mpi.h declares beside those
// of the list. Others in this library may define some: these are weak.
func (g *generator) others() {
	for _, name := range g.declared {
		list := g.parameters[name]
		if slices.Contains(g.emitted, "MPI_"+name) {
			continue
		}
		var names []string
		known := true
		if list != "void" {
			for _, p := range strings.Split(list, ",") {
				part := parameter.FindStringSubmatch(strings.TrimSpace(p))
				if part == nil {
					known = false // has no name, or is an ellipsis
					break
				}
				names = append(names, part[2])
			}
		}
		if known {
			host := "host(" + strings.Join(names, ", ") + ")"
			body := g.passes("MPI_"+name) + "\n\treturn " + host + ";"
			if hook := hooks[name]; hook != "" {
				body = fmt.Sprintf(hook, host)
			}
			fmt.Fprintf(g.w, "\n__attribute__((weak)) int MPI_%s(%s)\n{\n\tHOST(MPI_%s, %s);\n\t%s\n}\n",
				name, list, name, list, body)
		}
	}
}

// passes is the statement that counts a call which is passed through.
func (g *generator) passes(name string) string {
	at := slices.Index(g.counted, name)
	if at < 0 {
		at = len(g.counted)
		g.counted = append(g.counted, name)
	}
	return fmt.Sprintf("EXANET_PASSED(%d);", at)
}

// counts writes the counters and their names.
func (g *generator) counts() {
	fmt.Fprintln(g.w, "\nconst char *const exanet_names[] = {")
	for _, n := range g.counted {
		fmt.Fprintf(g.w, "\t\"%s\",\n", n)
	}
	fmt.Fprintf(g.w, "\t0\n};\nuint64_t exanet_passed[%d];\n", len(g.counted)+1)
}
