package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A rewriter only puts text in between, or in the place of other text, on the same
// lines. So what the compiler and the reports say of lines is true of the source.
//
//	x := p.f          x := (*il.Read(&p.f))
//	p.f = x           { il1 := &p.f; *il1 = x; il.Wrote(il1) }
//	p.f++             { il1 := &p.f; *il.Read(il1)++; il.Wrote(il1) }
//	w.Load()          il.U32(&w).Load()
//	copy(a, b)        il.Copy(a, b)
//	sys.Barrier()     il.Barrier()
//
// Memory is what is behind a pointer or in a slice; variables, maps and channels are a
// rank's own.
type rewriter struct {
	fset  *token.FileSet
	info  *types.Info
	edits []edit
	names int
	err   error
}

// edit puts text in the place of [at, end).
type edit struct {
	at, end token.Pos
	text    string
}

const (
	library = "github.com/exanet-mpi/exanet/test/interleave"
	inSys   = "github.com/exanet-mpi/exanet/internal/sys"
	inMem   = "github.com/exanet-mpi/exanet/internal/mem"
)

// replaced are functions by what they are in the library.
var replaced = map[string]string{
	inSys + ".FutexWait": "FutexWait", inSys + ".FutexPark": "FutexWait", inSys + ".FutexWake": "FutexWake",
	inSys + ".Barrier": "Barrier", inSys + ".OwnBarrier": "OwnBarrier",
	inSys + ".RegisterOwnBarrier": "RegisterOwnBarrier",
	inSys + ".Yield":              "Yield", inSys + ".Nap": "Nap",
	inMem + ".Publish": "Publish", inMem + ".Thread": "Thread",
	inMem + ".Across": "Copy", inMem + ".Around": "Copy", inMem + ".Copy": "Copy",
}

// used keep imports in use.
var used = map[string]string{"sync/atomic": "var _ %s.Uint32", inSys: "var _ = %s.Yield", inMem: "var _ = %s.Publish"}

// wrappers are the types of package sync/atomic that are words.
var wrappers = map[string]string{"Uint32": "U32", "Uint64": "U64", "Int32": "I32", "Int64": "I64"}

func rewrite(fset *token.FileSet, info *types.Info, f *ast.File, source []byte) ([]byte, error) {
	r := &rewriter{fset: fset, info: info}
	r.put(f.Name.End(), fmt.Sprintf("; import il %q", library))
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			r.block(fn.Body.List)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	slices.SortStableFunc(r.edits, func(a, b edit) int { return int(a.at - b.at) })
	var out bytes.Buffer
	base, at := token.Pos(fset.File(f.Pos()).Base()), 0
	for _, e := range r.edits {
		out.Write(source[at:int(e.at-base)])
		out.WriteString(e.text)
		at = int(e.end - base)
	}
	out.Write(source[at:])
	fmt.Fprintf(&out, "\nvar _ = il.Yield\n")
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if keep, ok := used[path]; ok {
			name := path[strings.LastIndexByte(path, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			fmt.Fprintf(&out, keep+"\n", name)
		}
	}
	return out.Bytes(), nil
}

func (r *rewriter) put(at token.Pos, text string) { r.edits = append(r.edits, edit{at, at, text}) }

func (r *rewriter) replace(at, end token.Pos, text string) {
	r.edits = append(r.edits, edit{at, end, text})
}

func (r *rewriter) fail(at token.Pos, what string) {
	if r.err == nil {
		where := r.fset.Position(at)
		r.err = fmt.Errorf("%v: %s, which cannot be rewritten: write it as a statement of its own", where, what)
	}
}

func (r *rewriter) typeOf(e ast.Expr) types.Type { return r.info.TypeOf(e) }

func pointer(t types.Type) bool { _, ok := t.Underlying().(*types.Pointer); return ok }

// memory reports whether an expression is one that can be addressed, behind a pointer.
func (r *rewriter) memory(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.memory(e.X)
	case *ast.StarExpr:
		return !r.info.Types[e].IsType()
	case *ast.SelectorExpr:
		s := r.info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && (pointer(r.typeOf(e.X)) || r.memory(e.X))
	case *ast.IndexExpr:
		switch r.typeOf(e.X).Underlying().(type) {
		case *types.Slice, *types.Pointer:
			return true
		case *types.Array:
			return r.memory(e.X)
		}
	}
	return false
}

// value rewrites an expression whose value is used.
func (r *rewriter) value(e ast.Expr) {
	if e == nil || r.info.Types[e].Value != nil || r.info.Types[e].IsType() {
		return
	}
	if r.memory(e) {
		r.put(e.Pos(), "(*il.Read(&")
		r.parts(e)
		r.put(e.End(), "))")
		return
	}
	r.parts(e)
}

func (r *rewriter) values(es []ast.Expr) {
	for _, e := range es {
		r.value(e)
	}
}

// base rewrites what a field or an element is of.
func (r *rewriter) base(e ast.Expr) {
	switch r.typeOf(e).Underlying().(type) {
	case *types.Struct, *types.Array:
		r.parts(e)
	default:
		r.value(e)
	}
}

// parts rewrites the values that an expression consists of, but not its own.
func (r *rewriter) parts(e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		r.parts(e.X)
	case *ast.StarExpr:
		r.value(e.X)
	case *ast.SelectorExpr:
		if r.info.Selections[e] != nil {
			r.base(e.X)
		}
	case *ast.IndexExpr:
		if _, generic := r.typeOf(e.X).Underlying().(*types.Signature); !generic {
			r.base(e.X)
			r.value(e.Index)
		}
	case *ast.SliceExpr:
		r.base(e.X)
		r.value(e.Low)
		r.value(e.High)
		r.value(e.Max)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			r.parts(e.X)
		} else {
			r.value(e.X)
		}
	case *ast.BinaryExpr:
		r.value(e.X)
		r.value(e.Y)
	case *ast.TypeAssertExpr:
		r.value(e.X)
	case *ast.FuncLit:
		r.block(e.Body.List)
	case *ast.CompositeLit:
		_, isStruct := r.typeOf(e).Underlying().(*types.Struct)
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				if !isStruct {
					r.value(kv.Key)
				}
				x = kv.Value
			}
			r.value(x)
		}
	case *ast.CallExpr:
		r.call(e)
	}
}

func (r *rewriter) call(e *ast.CallExpr) {
	fun := ast.Unparen(e.Fun)
	switch f := fun.(type) {
	case *ast.Ident:
		if _, builtin := r.info.Uses[f].(*types.Builtin); builtin {
			r.builtin(f.Name, e)
			return
		}
	case *ast.SelectorExpr:
		if s := r.info.Selections[f]; s != nil && s.Kind() == types.MethodVal {
			r.method(f, s)
			r.values(e.Args)
			return
		}
		if obj, ok := r.info.Uses[f.Sel].(*types.Func); ok && obj.Pkg() != nil {
			r.function(f, obj, e)
			return
		}
		if _, builtin := r.info.Uses[f.Sel].(*types.Builtin); builtin { // of package unsafe
			r.builtin(f.Sel.Name, e)
			return
		}
	}
	r.value(e.Fun)
	r.values(e.Args)
}

func (r *rewriter) builtin(name string, e *ast.CallExpr) {
	switch name {
	case "copy":
		if _, fromString := r.typeOf(e.Args[1]).Underlying().(*types.Basic); !fromString {
			r.replace(e.Fun.Pos(), e.Fun.End(), "il.Copy")
		}
	case "len", "cap":
		r.base(e.Args[0])
		return
	case "Offsetof", "Sizeof", "Alignof":
		return
	}
	r.values(e.Args)
}

// function rewrites the call of a package's function.
func (r *rewriter) function(f *ast.SelectorExpr, obj *types.Func, e *ast.CallExpr) {
	r.values(e.Args)
	if name, ok := replaced[obj.Pkg().Path()+"."+obj.Name()]; ok {
		r.replace(f.Pos(), f.End(), "il."+name)
		return
	}
	if obj.Pkg().Path() != "sync/atomic" {
		return
	}
	for kind := range wrappers {
		if op, ok := strings.CutSuffix(obj.Name(), kind); ok {
			r.replace(f.Pos(), f.End(), "il.P")
			if len(e.Args) == 1 {
				r.put(e.Args[0].End(), ")."+op+"(")
			} else {
				r.replace(e.Args[0].End(), e.Args[1].Pos(), ")."+op+"(")
			}
			return
		}
	}
}

// method rewrites the receiver of a call.
func (r *rewriter) method(f *ast.SelectorExpr, s *types.Selection) {
	fn := s.Obj().(*types.Func)
	recv := fn.Signature().Recv().Type()
	wrapper := ""
	if p, ok := recv.(*types.Pointer); ok {
		if named, ok := p.Elem().(*types.Named); ok && fn.Pkg() != nil && fn.Pkg().Path() == "sync/atomic" {
			wrapper = wrappers[named.Obj().Name()]
		}
	}
	if wrapper == "" {
		if pointer(recv) && !pointer(r.typeOf(f.X)) {
			r.parts(f.X)
		} else {
			r.value(f.X)
		}
		return
	}
	// Where the word is embedded, the way there is written out.
	way, t := "", r.typeOf(f.X)
	for _, i := range s.Index()[:len(s.Index())-1] {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		field := t.Underlying().(*types.Struct).Field(i)
		way += "." + field.Name()
		t = field.Type()
	}
	if pointer(t) {
		r.put(f.X.Pos(), "il."+wrapper+"(")
		r.value(f.X)
	} else {
		r.put(f.X.Pos(), "il."+wrapper+"(&")
		r.base(f.X)
	}
	r.put(f.X.End(), way+")")
}

func (r *rewriter) block(list []ast.Stmt) {
	for _, s := range list {
		r.stmt(s, true)
	}
}

// stmt rewrites a statement, which may become several in a block.
func (r *rewriter) stmt(s ast.Stmt, inBlock bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.assign(s, inBlock)
	case *ast.IncDecStmt:
		if r.memory(s.X) {
			r.throughPointers(s, []ast.Expr{s.X}, inBlock, true)
		} else {
			r.parts(s.X)
		}
	case *ast.BlockStmt:
		r.block(s.List)
	case *ast.CaseClause:
		r.values(s.List)
		r.block(s.Body)
	case *ast.CommClause:
		r.simple(s.Comm)
		r.block(s.Body)
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				r.values(v.Values)
			}
		}
	case *ast.ExprStmt:
		r.value(s.X)
	case *ast.SendStmt:
		r.value(s.Chan)
		r.value(s.Value)
	case *ast.GoStmt:
		r.call(s.Call)
	case *ast.DeferStmt:
		r.call(s.Call)
	case *ast.ReturnStmt:
		r.values(s.Results)
	case *ast.LabeledStmt:
		r.stmt(s.Stmt, inBlock)
	case *ast.IfStmt:
		r.before(s, s.Init, s.Cond.Pos(), "if ")
		r.value(s.Cond)
		r.block(s.Body.List)
		if s.Else != nil {
			r.stmt(s.Else, true)
		}
		r.after(s, s.Init)
	case *ast.ForStmt:
		r.simple(s.Init)
		r.value(s.Cond)
		r.simple(s.Post)
		r.block(s.Body.List)
	case *ast.RangeStmt:
		r.base(s.X)
		r.block(s.Body.List)
	case *ast.SwitchStmt:
		if s.Tag != nil {
			r.before(s, s.Init, s.Tag.Pos(), "switch ")
			r.value(s.Tag)
		} else {
			r.before(s, s.Init, s.Body.Pos(), "switch ")
		}
		r.block(s.Body.List)
		r.after(s, s.Init)
	case *ast.TypeSwitchStmt:
		r.simple(s.Init)
		r.simple(s.Assign)
		r.block(s.Body.List)
	case *ast.SelectStmt:
		r.block(s.Body.List)
	}
}

// before puts the initial statement of another in front of it if it stores to memory.
func (r *rewriter) before(s, init ast.Stmt, next token.Pos, keyword string) {
	if !r.stores(init) {
		r.simple(init)
		return
	}
	r.replace(s.Pos(), init.Pos(), "{ ")
	r.stmt(init, true)
	r.replace(init.End(), next, "; "+keyword)
}

func (r *rewriter) after(s, init ast.Stmt) {
	if r.stores(init) {
		r.put(s.End(), " }")
	}
}

func (r *rewriter) stores(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && slices.ContainsFunc(s.Lhs, r.memory)
	case *ast.IncDecStmt:
		return r.memory(s.X)
	}
	return false
}

func (r *rewriter) simple(s ast.Stmt) {
	if s != nil {
		r.stmt(s, false)
	}
}

func (r *rewriter) assign(s *ast.AssignStmt, inBlock bool) {
	switch {
	case s.Tok == token.DEFINE:
		r.values(s.Rhs)
		return
	case !slices.ContainsFunc(s.Lhs, r.memory):
		for _, l := range s.Lhs {
			r.parts(l)
		}
	default:
		r.throughPointers(s, s.Lhs, inBlock, s.Tok != token.ASSIGN)
		return
	}
	r.values(s.Rhs)
}

// throughPointers rewrites an assignment so that it stores through pointers that have
// been taken before it, and says so behind it.
func (r *rewriter) throughPointers(s ast.Stmt, lhs []ast.Expr, inBlock, reads bool) {
	if !inBlock {
		r.fail(s.Pos(), "this is a store to memory")
		return
	}
	var targets, wrote []string
	r.put(s.Pos(), "{ ")
	for i, l := range lhs {
		if i > 0 {
			r.replace(lhs[i-1].End(), l.Pos(), "")
		}
		if id, ok := l.(*ast.Ident); ok {
			r.replace(l.Pos(), l.End(), "")
			targets = append(targets, id.Name)
			continue
		}
		if x, ok := l.(*ast.IndexExpr); ok && !r.memory(l) {
			r.fail(x.Pos(), "this element is stored to beside memory")
		}
		r.names++
		name := fmt.Sprintf("il%d", r.names)
		r.put(l.Pos(), name+" := &")
		r.parts(l)
		r.put(l.End(), "; ")
		wrote = append(wrote, "il.Wrote("+name+")")
		if reads {
			name = "il.Read(" + name + ")"
		}
		targets = append(targets, "*"+name)
	}
	r.put(lhs[len(lhs)-1].End(), strings.Join(targets, ", "))
	if a, ok := s.(*ast.AssignStmt); ok {
		r.values(a.Rhs)
	}
	r.put(s.End(), "; "+strings.Join(wrote, "; ")+" }")
}
