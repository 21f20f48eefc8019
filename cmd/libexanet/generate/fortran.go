package main

import (
	"fmt"
	"slices"
	"strings"
)

// The entry points of Fortran, for those wrappers of the host that do not come
// through the entry points of C: in MPICH those of mpi_f08 that take no buffer, in
// Open MPI all. There, buffers come as addresses, or, in mpi_f08 since Open MPI 6, as
// descriptors of arrays. All arguments are addresses. The words that begin with f_ or F_
// are in fortran.h.
//
// Most turn their arguments into those of C, call the entry point there, and turn
// back what has been changed. The others, whose arguments are not ours to look at
// (strings, functions, weights), call the host's wrapper.

// choice reports whether a parameter is a buffer of any type.
func (p param) choice() bool { return !p.array && strings.HasSuffix(p.typ, "void *") }

// fortran writes the entry points for a function of the list.
func (g *generator) fortran(e entry, fn function) {
	var params, names, types []string
	for _, p := range e.params {
		names = append(names, p.name)
	}
	names = append(names, "ierror")
	for range names {
		types = append(types, "void *")
	}
	for _, n := range names {
		params = append(params, "void *"+n)
	}
	for _, p := range e.params {
		if strings.Contains(p.typ, "char") { // its length comes behind all others
			names, types, params = append(names, "len_"+p.name), append(types, "size_t"),
				append(params, "size_t len_"+p.name)
		}
	}
	name := strings.TrimPrefix(e.full(), "MPI_") + large[e.large]
	choices := slices.ContainsFunc(e.params, param.choice)
	if choices {
		fmt.Fprintln(g.w, "#ifdef OPEN_MPI")
		defer fmt.Fprintln(g.w, "#endif")
	}
	host := fmt.Sprintf("((void (*)(%s))f_find(host))", strings.Join(types, ", "))
	fmt.Fprintf(g.w, "static void f_%s(struct f_host *host, %s)\n{\n", name, strings.Join(params, ", "))
	switch e.kind {
	case "call", "before":
		fmt.Fprintf(g.w, "\tif (!exanet_on) {\n\t\t%s(%s);\n\t\treturn;\n\t}\n", host, strings.Join(names, ", "))
		g.convert(e)
	case "after", "comm", "note", "gone":
		fmt.Fprintf(g.w, "\tMPI_Fint code = MPI_SUCCESS;\n")
		with := slices.Clone(names)
		with[len(e.params)] = "&code"
		fmt.Fprintf(g.w, "\t%s(%s);\n\tif (exanet_on && code == MPI_SUCCESS) {\n", host, strings.Join(with, ", "))
		g.beside(e, fn)
		fmt.Fprintf(g.w, "\t}\n\tf_return(ierror, code);\n")
	default:
		panic("no Fortran for the kind " + e.kind)
	}
	fmt.Fprintln(g.w, "}")
	lower := strings.ToLower(e.full())
	all := fmt.Sprintf("(%s), %s", strings.Join(params, ", "), strings.Join(names, ", "))
	if e.large == 1 {
		fmt.Fprintf(g.w, "F_LARGE_ENTRY(%s, %s, %s)\n", lower, name, all)
	} else {
		fmt.Fprintf(g.w, "F_ENTRIES(%s, %s, %s, %s)\n", lower, strings.ToUpper(lower), name, all)
	}
	if choices {
		described := g.described(e, name, names, params, host)
		fmt.Fprintf(g.w, "F_DESCRIBED_ENTRY(%s%s, %s, %s)\n", lower, large[e.large], described, all)
	}
}

// large is what the names in C of the forms with large counts end in.
var large = [2]string{"", "_c"}

// described writes, for a function whose buffers come as descriptors, what makes addresses of
// them, and returns its name. A part of an array that is not contiguous becomes a datatype; where
// it has no count and type of its own, the call is the host's, which refuses it.
func (g *generator) described(e entry, name string, names, params []string, host string) string {
	if e.kind != "call" {
		return name // which leaves the buffers to the host
	}
	with, begin, end := slices.Clone(names), "", ""
	for i, p := range e.params {
		if !p.choice() {
			continue
		}
		at, counted := p.name+"_s", "0, 0"
		if len(e.params) > i+2 && e.params[i+1].typ == "COUNT" && e.params[i+2].typ == "MPI_Datatype" &&
			!slices.ContainsFunc(e.params, func(p param) bool { return p.typ == "MPI_Op" }) {
			counted = names[i+1] + ", " + names[i+2]
			with[i+1], with[i+2] = at+".count", at+".type"
		}
		with[i] = at + ".base"
		begin += fmt.Sprintf("\tstruct f_section %s = {0};\n\tdescribed = described && f_section(&%s, %s, %s, %d);\n",
			at, at, p.name, counted, e.large)
		end += "\tf_section_free(&" + at + ");\n"
	}
	fmt.Fprintf(g.w, "static void f_described_%s(struct f_host *host, %s)\n{\n\tint described = exanet_on;\n%s", name,
		strings.Join(params, ", "), begin)
	fmt.Fprintf(g.w, "\tif (described)\n\t\tf_%s(host, %s);\n\telse\n\t\t%s(%s);\n%s}\n", name,
		strings.Join(with, ", "), host, strings.Join(names, ", "), end)
	return "described_" + name
}

// convert writes a call of the entry point of C.
func (g *generator) convert(e entry) {
	var args, after []string
	local := func(typ, p, in, out string) {
		own := p + "_c"
		fmt.Fprintf(g.w, "\t%s%s = %s;\n", typ, own, in)
		if out != "" {
			after = append(after, fmt.Sprintf(out, p, own))
		}
	}
	for _, p := range e.params {
		own, object := p.name+"_c", strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(p.typ, "MPI_"), " *"))
		switch {
		case (p.typ == "COUNT" || p.typ == "int") && !p.array:
			args = append(args, e.integer(p))
		case p.choice():
			args = append(args, "f_buffer("+p.name+")")
		case p.typ == "ADDRESS":
			local("void *", p.name, "0", "f_address_back(host, %s, %s)")
			args = append(args, "&"+own)
		case p.typ == "const MPI_Datatype":
			local("MPI_Datatype *", p.name, fmt.Sprintf("f_types(%s, comm, f_%s)", p.name, e.blocks(p)), "")
			args, after = append(args, own), append(after, "free("+own+")")
		case p.requests():
			fmt.Fprintf(g.w, "\tMPI_Request few[F_FEW];\n")
			local("MPI_Request *", p.name, "f_requests(n, "+p.name+", few)", "f_requests_back(n, %s, %s, few)")
			args = append(args, own)
		case strings.HasPrefix(p.typ, "MPI_Status"):
			if p.array {
				object = "statuses"
			}
			args = append(args, "f_"+object+"("+p.name+")")
		case strings.HasPrefix(p.typ, "MPI_") && strings.HasSuffix(p.typ, "*"):
			local(strings.TrimSuffix(p.typ, "*"), p.name, "f_"+object+"("+p.name+")", "f_"+object+"_back(%s, %s)")
			args = append(args, "&"+own)
		case strings.HasPrefix(p.typ, "MPI_") && !p.array:
			args = append(args, "f_"+object+"("+p.name+")")
		default:
			args = append(args, p.name)
		}
		switch p.name {
		case "index":
			found := ""
			if slices.ContainsFunc(e.params, func(p param) bool { return p.name == "flag" }) {
				found = " && *(MPI_Fint *)flag"
			}
			after = append(after, "if (code == MPI_SUCCESS"+found+")\n\t\tf_indices(1, index)")
		case "indices":
			after = append(after, "if (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS)\n\t\tf_indices(*(MPI_Fint "+
				"*)outcount, indices)")
		}
	}
	name := e.full() + large[e.large]
	fmt.Fprintf(g.w, "\tint code = %s(%s);\n", name, strings.Join(args, ", "))
	for _, s := range after {
		fmt.Fprintf(g.w, "\t%s;\n", s)
	}
	fmt.Fprintf(g.w, "\tf_return(ierror, code);\n")
}

// integer reads a count or another number.
func (e *entry) integer(p param) string {
	if p.typ == "COUNT" && e.large == 1 {
		return "*(MPI_Count *)" + p.name
	}
	return "*(MPI_Fint *)" + p.name
}

// blocks says of how many blocks an array of datatypes tells.
func (e *entry) blocks(p param) string {
	switch {
	case !strings.Contains(strings.ToLower(e.name), "neighbor"):
		return "ranks"
	case strings.HasPrefix(p.name, "in"):
		return "sources"
	}
	return "destinations"
}

// beside writes the call of ours behind that of the host's wrapper.
func (g *generator) beside(e entry, fn function) {
	const failed = "\t\tif (r && r != EXANET_PASS)\n\t\t\tcode = exanet_failed(r, __func__);\n"
	switch e.kind {
	case "comm":
		request := "0"
		if e.begins() {
			request = "&(MPI_Request){f_request(request)}"
		}
		fmt.Fprintf(g.w, "\t\tMPI_Comm newcomm_c = f_comm(newcomm);\n\t\tint64_t r = "+
			"exanet_adopt((exanet_handle)f_comm(comm), &newcomm_c, %s, %s);\n"+failed,
			e.tag("*(MPI_Fint *)tag"), request)
		return
	case "note", "gone":
		made := strings.NewReplacer("(newcomm)", "(&(MPI_Comm){f_comm(newcomm)})", "(request)",
			"(&(MPI_Request){f_request(request)})")
		fmt.Fprintf(g.w, "\t\t%s;\n", made.Replace(e.note()))
		return
	}
	var args []string
	for _, p := range e.params {
		switch {
		case (p.typ == "COUNT" || p.typ == "int") && !p.array:
			args = append(args, e.integer(p))
		case p.typ == "MPI_Op *":
			fmt.Fprintf(g.w, "\t\tMPI_Op %s_c = f_op(%s);\n", p.name, p.name)
			args = append(args, "&"+p.name+"_c")
		case p.typ == "MPI_Comm":
			args = append(args, "(exanet_handle)f_comm("+p.name+")")
		case p.choice():
			args = append(args, "exanet_buffer(f_attached(host, "+p.name+"))")
		default:
			args = append(args, p.name)
		}
	}
	if fn.uses("USERFUNCTION") {
		args = append(args, fmt.Sprintf("F_USERFUNCTION(%d)", e.large))
	}
	fmt.Fprintf(g.w, "\t\tint64_t r = exanet_%s(%s);\n"+failed, fn.name, strings.Join(args, ", "))
}
