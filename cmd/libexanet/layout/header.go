package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strings"
	"unicode"
)

// header is what C is to know, in the order of the source.
type header struct {
	structs []*types.Named
	names   map[*types.Named]string // of the structs in C
	groups  []group
	written map[*types.Named]bool
	out     bytes.Buffer
}

// group is a declaration of constants.
type group struct {
	pkg    *types.Package
	prefix string
	consts []*types.Const
}

func newHeader() *header {
	return &header{names: make(map[*types.Named]string), written: make(map[*types.Named]bool)}
}

// collect takes the marked declarations of a file.
func (h *header) collect(p *types.Package, f *ast.File) {
	for _, d := range f.Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		var g *group
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				name := named(s.Doc)
				if name == "" {
					name = named(d.Doc)
				}
				if name != "" {
					t := p.Scope().Lookup(s.Name.Name).Type().(*types.Named)
					h.structs, h.names[t] = append(h.structs, t), name
				}
			case *ast.ValueSpec:
				prefix := named(d.Doc)
				if d.Tok != token.CONST || prefix == "" {
					continue
				}
				if g == nil {
					g = &group{pkg: p, prefix: prefix}
				}
				for _, n := range s.Names {
					if c, ok := p.Scope().Lookup(n.Name).(*types.Const); ok && n.Name != "_" {
						g.consts = append(g.consts, c)
					}
				}
			}
		}
		if g != nil {
			h.groups = append(h.groups, *g)
		}
	}
}

func (h *header) write() ([]byte, error) {
	h.out.WriteString(`/* Written by cmd/libexanet/layout from the Go source: change that, and run
   go run ./cmd/libexanet/layout >cmd/libexanet/c/layout.h */
#ifndef EXANET_LAYOUT_H
#define EXANET_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
`)
	for _, g := range h.groups {
		if err := h.constants(g); err != nil {
			return nil, err
		}
	}
	for _, t := range h.structs {
		if err := h.layout(t); err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
	}
	h.out.WriteString("\n#endif\n")
	return h.out.Bytes(), nil
}

func short(p *types.Package) string { return strings.TrimPrefix(p.Path(), module+"/") }

func (h *header) constants(g group) error {
	fmt.Fprintf(&h.out, "\n/* %s */\n", short(g.pkg))
	for _, c := range g.consts {
		name := g.prefix + strings.TrimPrefix(strings.ToUpper(inC(c.Name())), g.prefix)
		v := constant.ToInt(c.Val())
		if n, exact := constant.Int64Val(v); exact && n >= math.MinInt32 && n <= math.MaxInt32 {
			fmt.Fprintf(&h.out, "enum { %s = %d };\n", name, n)
		} else if n, exact := constant.Uint64Val(v); exact {
			fmt.Fprintf(&h.out, "static const uint64_t %s = 0x%xu;\n", name, n)
		} else {
			return fmt.Errorf("constant %s.%s: %s is no integer that C knows", short(g.pkg), c.Name(), c.Val())
		}
	}
	return nil
}

// layout writes a struct, behind those that it has as fields.
func (h *header) layout(t *types.Named) error {
	if h.written[t] {
		return nil
	}
	h.written[t] = true
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("is no struct")
	}
	var fields []*types.Var
	for f := range s.Fields() {
		if err := h.before(f.Type()); err != nil {
			return err
		}
		fields = append(fields, f)
	}
	name := h.names[t]
	var body, asserts bytes.Buffer
	offsets, at, gaps := sizes.Offsetsof(fields), int64(0), 0
	gap := func(to int64) {
		if to > at {
			fmt.Fprintf(&body, "\tunsigned char unused%d[%d];\n", gaps, to-at)
			gaps++
		}
		at = to
	}
	for i, f := range fields {
		typ, dims, ok := h.typeOf(f.Type())
		switch {
		case f.Name() == "_", !ok && isStruct(f.Type()):
			continue // the gap is filled before the next
		case !ok:
			return fmt.Errorf("field %s: C has no type for %s", f.Name(), f.Type())
		}
		gap(offsets[i])
		at += sizes.Sizeof(f.Type())
		fmt.Fprintf(&body, "\t%s %s%s;\n", typ, inC(f.Name()), dims)
		fmt.Fprintf(&asserts, "_Static_assert(offsetof(struct %s, %s) == %d, \"%s\");\n", name, inC(f.Name()),
			offsets[i], f.Name())
	}
	size := sizes.Sizeof(t)
	gap(size)
	fmt.Fprintf(&h.out, "\n/* %s.%s */\nstruct %s {\n%s};\n%s", short(t.Obj().Pkg()), t.Obj().Name(), name,
		body.Bytes(), asserts.Bytes())
	fmt.Fprintf(&h.out, "_Static_assert(sizeof(struct %s) == %d, \"size\");\n", name, size)
	return nil
}

// before writes the struct of a field first.
func (h *header) before(t types.Type) error {
	if a, ok := t.Underlying().(*types.Array); ok {
		return h.before(a.Elem())
	}
	if n, ok := t.(*types.Named); ok && h.names[n] != "" {
		return h.layout(n)
	}
	return nil
}

func isStruct(t types.Type) bool {
	if a, ok := t.Underlying().(*types.Array); ok {
		return isStruct(a.Elem())
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// typeOf returns the type in C, and the dimensions behind the name.
func (h *header) typeOf(t types.Type) (name, dims string, ok bool) {
	if a, isArray := t.Underlying().(*types.Array); isArray {
		name, dims, ok = h.typeOf(a.Elem())
		return name, fmt.Sprintf("[%d]%s", a.Len(), dims), ok
	}
	if n, isNamed := t.(*types.Named); isNamed {
		if c := h.names[n]; c != "" {
			return "struct " + c, "", true
		}
		if p := n.Obj().Pkg(); p != nil && p.Path() == "sync/atomic" {
			name, ok = basic[strings.ToLower(n.Obj().Name())]
			return name, "", ok
		}
	}
	b, isBasic := t.Underlying().(*types.Basic)
	if !isBasic {
		return "", "", false
	}
	name, ok = basic[b.Name()]
	return name, "", ok
}

var basic = map[string]string{
	"int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "bool": "uint8_t", "byte": "uint8_t",
	"uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}

// inC is a name with its words apart: bulkTail is bulk_tail.
func inC(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) &&
			unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
