// Command generate writes the entry points of the preload library, in C, for the
// functions of a list: generate functions.txt mpi.i >entries.c. Those of Fortran are
// in the same file, and those of the functions that mpi.i declares beside them.
//
// An entry point calls ours, which is in Go and returns PASS for what concerns
// the host MPI, or else a code and the communicator whose error handler is to be
// called. The last arguments of ours, which the entry points of a family share,
// are the form of the call, where there are several, whether the arrays are those
// of the MPI-4 forms, where there are any, and the request of those forms that
// make one.
package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("give the list of functions, and mpi.h as the preprocessor leaves it"))
	}
	f, err := os.Open(os.Args[1])
	if err != nil {
		fail(err)
	}
	header, err := os.ReadFile(os.Args[2])
	if err != nil {
		fail(err)
	}
	g := generator{w: bufio.NewWriter(os.Stdout), header: attribute.ReplaceAllString(string(header), "")}
	g.abi = strings.Contains(g.header, "MPI_ABI_Comm")
	g.declarations()
	include := "fortran.h"
	if g.abi {
		include = "entry.h"
	}
	fmt.Fprintf(g.w, "/* Generated from the list of functions: change that. */\n#include \"%s\"\n", include)
	for _, t := range [][2]string{
		{"MPI_User_function_c", "(void *, void *, MPI_Count *, MPI_Datatype *)"},
		{"MPIX_User_function_x", "(void *, void *, MPI_Count, MPI_Datatype, void *)"},
		{"MPIX_Destructor_function", "(void *)"},
	} {
		if !strings.Contains(g.header, t[0]) { // older headers do not have it
			fmt.Fprintf(g.w, "typedef void %s%s;\n", t[0], t[1])
		}
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		fn, err := parse(line)
		if err == nil {
			err = g.family(fn)
		}
		if err != nil {
			fail(fmt.Errorf("%q: %w", line, err))
		}
	}
	g.others()
	g.table()
	g.counts()
	if err := g.w.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "generate:", err)
	os.Exit(1)
}

// function is a line of the list.
type function struct {
	kind   string
	prefix string // of its name: MPI_, or that which the list gives
	name   string
	params []param
}

// param is a parameter: its type, without the brackets of arrays.
type param struct {
	typ, name string
	array     bool
}

func parse(line string) (fn function, err error) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return fn, fmt.Errorf("give a kind, a name and parameters")
	}
	fn.kind, fn.prefix, fn.name = fields[0], "MPI_", fields[1]
	if name, ok := strings.CutPrefix(fn.name, "MPIX_"); ok {
		fn.prefix, fn.name = "MPIX_", name
	}
	for _, text := range strings.Split(strings.Join(fields[2:], " "), ",") {
		var p param
		text, p.array = strings.CutSuffix(strings.TrimSpace(text), "[]")
		at := strings.LastIndexAny(text, " *") + 1
		p.typ, p.name = strings.TrimSpace(text[:at]), text[at:]
		if p.typ == "" || p.name == "" {
			return fn, fmt.Errorf("%q is no parameter", text)
		}
		fn.params = append(fn.params, p)
	}
	return fn, nil
}

// forms of types: as C has them before MPI-4 and in the forms of MPI-4.
var sized = map[string][2]string{
	"COUNT":        {"int", "MPI_Count"},
	"UNIT":         {"int", "MPI_Aint"},
	"COUNTS":       {"const int *", "const MPI_Count *"},
	"DISPLS":       {"const int *", "const MPI_Aint *"},
	"COUNTOUT":     {"int *", "MPI_Count *"},
	"USERFUNCTION": {"MPI_User_function *", "MPI_User_function_c *"},
	"ADDRESS":      {"void *", "void *"},
	"STATE":        {"void *", "void *"},
}

// declare writes a parameter as it is declared.
func (p param) declare(large int) string {
	typ := p.typ
	if s, ok := sized[typ]; ok {
		typ = s[large]
	}
	if p.array {
		return typ + " " + p.name + "[]"
	}
	return typ + " " + p.name
}

// requests reports whether a parameter is an array of them.
func (p param) requests() bool {
	return p.array && strings.TrimPrefix(p.typ, "const ") == "MPI_Request"
}

// pass returns the type of the parameter of ours for p, and the argument.
func (p param) pass() (typ, arg string) {
	switch {
	case p.typ == "USERFUNCTION" || p.typ == "ADDRESS":
		return "const void *", "(const void *)" + p.name
	case p.typ == "STATE":
		return "int64_t", "(int64_t)(uintptr_t)" + p.name
	case p.typ == "const void *" || p.typ == "void *":
		return "const void *", "exanet_buffer(" + p.name + ")"
	case p.array || strings.HasSuffix(p.typ, "*") || p.typ == "COUNTS" || p.typ == "DISPLS" || p.typ == "COUNTOUT":
		return "const void *", "exanet_address(" + p.name + ")"
	case p.typ == "COUNT":
		return "int64_t", p.name
	case p.typ == "int":
		return "int32_t", p.name
	}
	return "exanet_handle", "(exanet_handle)" + p.name
}

// receives reports whether a call that is not of the forms with a request gives a status back.
func (fn *function) receives() bool { return fn.kind == "recv" || fn.kind == "pair" }

func (fn *function) uses(types ...string) bool {
	for _, p := range fn.params {
		for _, t := range types {
			if p.typ == t {
				return true
			}
		}
	}
	return false
}

// generator writes entry points and collects what is ours.
type generator struct {
	w      *bufio.Writer
	header string // mpi.h, as the preprocessor leaves it, without attributes
	abi    bool   // it is that of the standard ABI, which not all hosts have for Fortran
	// What it declares: names without MPI_, in order, and parameters.
	declared   []string
	parameters map[string]string
	ours       []string
	emitted    []string // functions that have entry points
	counted    []string // functions whose calls are counted when they are passed through
}

// entry is one function of MPI.
type entry struct {
	name   string
	params []param
	large  int    // 1: with large counts
	prefix string // of the name
	kind   string
	ours   string // the function of ours
	args   []param
	extra  []string // more arguments of ours, of type int32_t
	made   string   // a request that is made
}

func (g *generator) family(fn function) error {
	status, request, info := param{typ: "MPI_Status *", name: "status"}, param{typ: "MPI_Request *", name: "request"},
		param{typ: "MPI_Info", name: "info"}
	larges := 1
	if fn.uses("COUNT", "COUNTS", "UNIT", "COUNTOUT", "USERFUNCTION") {
		larges = 2
	}
	emit := func(e entry) {
		e.prefix, e.ours, e.args = fn.prefix, "exanet_"+fn.name, fn.params
		for e.large = range larges {
			g.entry(e, fn)
		}
	}
	switch fn.kind {
	case "send", "recv", "pair", "coll":
		g.declare(fn)
		with := func(more ...param) []param { return append(append([]param{}, fn.params...), more...) }
		one := entry{name: fn.name, params: fn.params, kind: "call", extra: []string{"EXANET_DO"}}
		if fn.receives() {
			one.params = with(status)
		}
		emit(one)
		emit(entry{name: "I" + strings.ToLower(fn.name[:1]) + fn.name[1:], params: with(request), kind: "call",
			extra: []string{"EXANET_BEGIN"}, made: "request"})
		if fn.kind == "pair" {
			break
		}
		init := entry{name: fn.name + "_init", params: with(request), kind: "call", extra: []string{"EXANET_INIT"},
			made: "request"}
		if fn.kind == "coll" {
			init.params = with(info, request)
			old := init
			old.prefix = "MPIX_" // of Open MPI's name before MPI-4
			old.ours, old.args = "exanet_"+fn.name, fn.params
			g.entry(old, fn)
		}
		emit(init)
	case "call", "begin", "after", "before":
		g.declare(fn)
		kind := fn.kind
		if kind == "begin" {
			kind = "call"
		}
		emit(entry{name: fn.name, params: fn.params, kind: kind})
	case "comm", "note", "gone":
		emit(entry{name: fn.name, params: fn.params, kind: fn.kind})
	default:
		return fmt.Errorf("there is no kind %q", fn.kind)
	}
	return nil
}

// declare declares ours for a family.
func (g *generator) declare(fn function) {
	var types []string
	for _, p := range fn.params {
		t, _ := p.pass()
		types = append(types, t)
	}
	switch fn.kind {
	case "send", "coll":
		types = append(types, "int32_t", "const void *")
	case "recv", "pair":
		types = append(types, "int32_t", "const void *", "const void *")
	}
	if fn.arrays() {
		types = append(types, "int32_t")
	}
	fmt.Fprintf(g.w, "\nstatic int64_t (*exanet_%s)(%s);\n", fn.name, strings.Join(types, ", "))
	g.ours = append(g.ours, fn.name)
}

func (fn *function) arrays() bool { return fn.uses("COUNTS", "DISPLS", "COUNTOUT", "USERFUNCTION") }

// entry writes one entry point.
func (g *generator) entry(e entry, fn function) {
	name := e.full() + large[e.large]
	if e.prefix != fn.prefix {
		fmt.Fprintln(g.w, "#ifdef OPEN_MPI")
		defer fmt.Fprintln(g.w, "#endif")
	}
	var decl, names, args []string
	declared := strings.Split(g.parameters[strings.TrimPrefix(name, "MPI_")], ",")
	for i, p := range e.params {
		d := p.declare(e.large)
		if len(declared) == len(e.params) && !strings.Contains(declared[i], "const") {
			d = strings.TrimPrefix(d, "const ") // older headers are not as strict as the standard
		}
		if len(declared) == len(e.params) && p.typ == "MPI_Count" && !strings.Contains(declared[i], p.typ) {
			d = "int " + p.name // as MPICH 5's header of the standard ABI has it in Psend_init
		}
		decl = append(decl, d)
		names = append(names, p.name)
	}
	for _, p := range e.args {
		_, a := p.pass()
		args = append(args, a)
	}
	args = append(args, e.extra...)
	if len(e.extra) > 0 {
		made := "0"
		if e.made != "" {
			made = e.made
		}
		args = append(args, made)
		if fn.receives() {
			status := "0"
			if e.made == "" {
				status = "exanet_address(status)"
			}
			args = append(args, status)
		}
	}
	if fn.arrays() {
		args = append(args, fmt.Sprint(e.large))
	}
	g.emitted = append(g.emitted, name)
	fmt.Fprintf(g.w, "\nint %s(%s)\n{\n\tHOST(%s, %s);\n", name, strings.Join(decl, ", "), name,
		strings.Join(decl, ", "))
	host, ours := "host("+strings.Join(names, ", ")+")", e.ours+"("+strings.Join(args, ", ")+")"
	switch e.kind {
	case "call":
		// Where there is none the host says what is wrong, but of requests that it does
		// not know.
		requests, results := e.places()
		if e.isShared() {
			fmt.Fprintf(g.w, "\tif (exanet_shared_%s(%s))\n\t\treturn MPI_SUCCESS;\n", e.name,
				strings.Join(e.numbers(), ", "))
		}
		if strings.HasPrefix(e.name, "Sendrecv") {
			args := append(e.numbers()[:len(e.params)-1], "&receive")
			fmt.Fprintf(g.w, "\tMPI_Request receive;\n\tif (exanet_table && exanet_fast_%s(%s))\n\t\treturn "+
				"MPI_Wait(&receive, status);\n", strings.ToLower(e.name), strings.Join(args, ", "))
		}
		if fast := fast[e.name]; fast != "" {
			fmt.Fprintf(g.w, "\tif (exanet_table%s%s && exanet_fast_%s(%s))\n\t\treturn MPI_SUCCESS;\n", requests,
				results, fast, strings.Join(e.numbers(), ", "))
		}
		if requests != "" && results != "" {
			if e.params[0].name == "n" {
				requests += " && n > 0"
			}
			fmt.Fprintf(g.w, "\tif (exanet_on%s && !(%s))\n\t\treturn exanet_nowhere(__func__);\n", requests,
				results[4:])
			results = ""
		}
		fmt.Fprintf(g.w, "\tif (exanet_on%s%s) {\n\t\tEXANET_HERE();\n\t\tint64_t r = %s;\n", requests, results, ours)
		fmt.Fprintf(g.w, "\t\tif (!r)\n\t\t\treturn MPI_SUCCESS;\n")
		fmt.Fprintf(g.w, "\t\tif (r != EXANET_PASS%s)\n\t\t\treturn exanet_failed(r, __func__);\n", e.mistakes())
		fmt.Fprintf(g.w, "\t\t%s\n", g.passes(name))
		if e.begins() {
			fmt.Fprintf(g.w, "\t\tint code = %s;\n\t\tif (code == MPI_SUCCESS)\n\t\t\t%s;\n\t\treturn code;\n", host,
				e.note())
		}
		fmt.Fprintf(g.w, "\t}\n\treturn %s;\n", host)
	case "before":
		fmt.Fprintf(g.w, "\tif (exanet_on) {\n\t\tint64_t r = %s;\n\t\tif (r && r != EXANET_PASS)\n\t\t\treturn "+
			"exanet_failed(r, __func__);\n\t}\n\treturn %s;\n", ours, host)
	case "after":
		fmt.Fprintf(g.w, "\tint code = %s;\n\tif (exanet_on && code == MPI_SUCCESS) {\n\t\tint64_t r = %s;\n\t\tif "+
			"(r && r != EXANET_PASS)\n\t\t\treturn exanet_failed(r, __func__);\n\t}\n\treturn code;\n", host, ours)
	case "comm":
		request := "0"
		if e.begins() {
			request = "request"
		}
		fmt.Fprintf(g.w, "\tint code = %s;\n\tif (exanet_on && code == MPI_SUCCESS) {\n\t\tint64_t r = "+
			"exanet_adopt((exanet_handle)comm, newcomm, %s, %s);\n\t\tif (r && r != EXANET_PASS)\n\t\t\treturn "+
			"exanet_failed(r, __func__);\n\t}\n\treturn code;\n", host, e.tag("tag"), request)
	case "note", "gone":
		fmt.Fprintf(g.w, "\t%s\n", g.passes(name))
		fmt.Fprintf(g.w, "\tint code = %s;\n\tif (exanet_on && code == MPI_SUCCESS)\n\t\t%s;\n\treturn code;\n", host,
			e.note())
	}
	fmt.Fprintln(g.w, "}")
	if !g.abi && fn.prefix == "MPI_" { // others are those of C alone
		g.fortran(e, fn)
	}
}

// mistakes is what else must hold of an error r for the entry point to tell of it: that
// it is not in an argument in which every host finds it before it does anything. They do
// not find a negative count in MPICH's reductions, a missing type of no elements there,
// and what is to be sent in Open MPI's Scatter.
func (e *entry) mistakes() string {
	var wrong []string
	has := func(typ, name string) bool {
		return slices.ContainsFunc(e.params, func(p param) bool { return p.typ == typ && p.name == name })
	}
	for _, p := range e.params {
		if strings.HasSuffix(e.name, "catter") && strings.HasPrefix(p.name, "out") {
			continue
		}
		switch p.typ {
		case "MPI_Datatype":
			count := strings.Replace(p.name, "type", "count", 1)
			if !has("COUNT", count) {
				count = "1"
			}
			wrong = append(wrong, "exanet_wrong_type(r, "+p.name+", "+count+")")
		case "MPI_Op":
			wrong = append(wrong, "exanet_wrong_op(r)")
		case "COUNT":
			if !has("MPI_Op", "op") {
				wrong = append(wrong, "exanet_wrong_count(r, "+p.name+")")
			}
		case "int":
			switch p.name {
			case "dest", "source":
				wrong = append(wrong, "exanet_wrong_rank(r, "+p.name+", comm)")
			case "root":
				wrong = append(wrong, "exanet_wrong_root(r, root, comm)")
			case "tag", "outtag", "intag":
				wrong = append(wrong, "exanet_wrong_tag(r, "+p.name+")")
			}
		}
	}
	if wrong == nil || !has("MPI_Comm", "comm") { // a message is one of ours
		return ""
	}
	return " && !exanet_told(r, " + strings.Join(wrong, " || ") + ")"
}

// places are the conditions that there are places for requests, and for what else a
// call gives back.
func (e *entry) places() (requests, results string) {
	for _, p := range e.params {
		switch {
		case p.requests() || p.typ == "MPI_Request *":
			requests += " && " + p.name
		case p.typ == "int *", p.typ == "int" && p.array, p.typ == "MPI_Message *":
			results += " && " + p.name
		case strings.HasPrefix(p.typ, "MPI_Status"):
			results += " && exanet_status(" + p.name + ")"
		}
	}
	return requests, results
}

// full is the name in C, without what is behind the forms of MPI-4.
func (e *entry) full() string { return e.prefix + e.name }

// fast are the functions that are tried on the fast path first (c/calls.c).
var fast = map[string]string{
	"Send": "send", "Rsend": "send", "Isend": "isend", "Irsend": "isend", "Recv": "recv", "Irecv": "irecv",
	"Wait": "wait", "Waitall": "waitall", "Test": "test", "Testany": "testany", "Testall": "testall",
}

// isShared reports whether the function is tried in shared memory first (shared.c).
func (e *entry) isShared() bool {
	switch e.name {
	case "Barrier", "Bcast", "Gather", "Scatter", "Allgather", "Alltoall", "Reduce", "Allreduce", "Scan", "Exscan":
		return e.made == ""
	case "Gatherv", "Scatterv", "Allgatherv", "Alltoallv", "Reduce_scatter":
		return e.made == "" && e.large == 0
	}
	return false
}

// numbers are the arguments of the function with handles as numbers.
func (e *entry) numbers() (args []string) {
	for _, p := range e.params {
		if p.typ == "MPI_Datatype" || p.typ == "MPI_Comm" || p.typ == "MPI_Op" {
			args = append(args, "(exanet_handle)"+p.name)
		} else {
			args = append(args, p.name)
		}
	}
	return args
}

// begins reports whether the call begins a request when it is made.
func (e *entry) begins() bool {
	last := e.params[len(e.params)-1]
	return last.name == "request" && last.typ == "MPI_Request *" && !strings.HasSuffix(e.name, "_init") &&
		len(e.params) > 1 && !strings.HasPrefix(e.name, "Request_")
}

// note is the statement that counts what a call has made or freed.
func (e *entry) note() string {
	n := 1
	if e.kind == "gone" {
		n = -1
	}
	var made []string
	for _, p := range e.params {
		switch p.typ + p.name {
		case "MPI_Comm *newcomm":
			made = append(made, "exanet_made_comm(newcomm)")
		case "MPI_Request *request":
			made = append(made, "exanet_made_request(request)")
		}
	}
	if made != nil {
		return strings.Join(made, ", ")
	}
	return fmt.Sprintf("exanet_windows(%d)", n)
}

// tag is the tag that the members of a communicator make it with, or what stands for it.
func (e *entry) tag(tag string) string {
	switch {
	case slices.ContainsFunc(e.params, func(p param) bool { return p.name == "tag" }):
		return tag
	case !strings.HasPrefix(e.name, "Comm_"):
		return "EXANET_TOPOLOGY"
	}
	return "EXANET_PLAIN"
}

// table writes where what is ours is found.
func (g *generator) table() {
	fmt.Fprintln(g.w, "\nconst struct exanet_slot exanet_slots[] = {")
	for _, n := range g.ours {
		fmt.Fprintf(g.w, "\t{\"exanet_%s\", (void **)&exanet_%s},\n", n, n)
	}
	fmt.Fprintln(g.w, "\t{0, 0}\n};")
}
