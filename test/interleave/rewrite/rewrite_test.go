package main

import (
	"go/importer"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each statement becomes what is behind the comment.
func TestRewrite(t *testing.T) {
	const source = `package p

import "sync/atomic"

type inner struct{ n uint64 }

type outer struct {
	atomic.Uint64
	in   inner
	next *outer
	list [4]uint64
	flag atomic.Uint32
}

func f(o *outer, s []byte, m map[int]int) (n uint64) {
	local := inner{}
	n = local.n                  // n = local.n
	n = o.in.n                   // n = (*il.Read(&o.in.n))
	n = o.next.in.n              // n = (*il.Read(&(*il.Read(&o.next)).in.n))
	n = o.list[o.in.n]           // n = (*il.Read(&o.list[(*il.Read(&o.in.n))]))
	local.n = 3                  // local.n = 3
	o.in.n = n                   // { il1 := &o.in.n; *il1 = n; il.Wrote(il1) }
	o.in.n++                     // { il2 := &o.in.n; *il.Read(il2)++; il.Wrote(il2) }
	n, o.list[0] = 1, local.n    // { il3 := &o.list[0]; n, *il3 = 1, local.n; il.Wrote(il3) }
	p := &o.in.n                 // p := &o.in.n
	*p += 2                      // { il4 := &*p; *il.Read(il4) += 2; il.Wrote(il4) }
	n = atomic.LoadUint64(&o.in.n)     // n = il.P(&o.in.n).Load()
	atomic.StoreUint64(p, o.in.n)      // il.P(p).Store((*il.Read(&o.in.n)))
	atomic.CompareAndSwapUint64(p, 1, 2) // il.P(p).CompareAndSwap(1, 2)
	o.flag.Store(1)              // il.U32(&o.flag).Store(1)
	o.next.flag.Add(1)           // il.U32(&(*il.Read(&o.next)).flag).Add(1)
	n = o.Load()                 // n = il.U64(&o.Uint64).Load()
	copy(s, s[len(o.list):])     // il.Copy(s, s[len(o.list):])
	m[1] = int(s[0])             // m[1] = int((*il.Read(&s[0])))
	if o.in.n = 1; n > 0 {
	}
	func() { o.flag.Load() }()   // func() { il.U32(&o.flag).Load() }()
	return o.in.n                // return (*il.Read(&o.in.n))
}
`
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "source", nil)
	files, err := rewriteSources(fset, imports, "p", map[string][]byte{"p.go": []byte(source)})
	require.NoError(t, err)
	got := strings.Split(string(files["p.go"]), "\n")
	for i, line := range strings.Split(source, "\n") {
		if _, want, ok := strings.Cut(line, "// "); ok {
			is, _, _ := strings.Cut(got[i], "// ")
			require.Equal(t, want, strings.Join(strings.Fields(is), " "), "line %d", i+1)
		}
	}
	require.Contains(t, string(files["p.go"]), "{ { il5 := &o.in.n; *il5 = 1; il.Wrote(il5) }; if n > 0 {")
}

func TestWhatCannotBeRewrittenIsAnError(t *testing.T) {
	fset := token.NewFileSet()
	_, err := rewriteSources(fset, nil, "p", map[string][]byte{"p.go": []byte(`package p

func f(p *int) {
	for ; ; *p++ {
	}
}
`)})
	require.ErrorContains(t, err, "p.go:4:10: this is a store to memory")
}
