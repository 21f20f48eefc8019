package mpi

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi/internal/checking"
	"github.com/exanet-mpi/exanet/variants"
)

// The checking mode (EXANET_CHECK, docs/checking.md). A rank has a checker, or nil, and what other
// files do for the mode they do where that is not nil:
//
//	check.go             findings, where calls are in the program, and what Finalize finds left
//	check_message.go     messages have a card in front, which tells the receiver what was sent
//	check_collective.go  ranks compare cards before a collective
//	check_wait.go        what calls wait for
//	check_deadlock.go    ranks publish that, and look for deadlocks
//	check_goroutines.go  whether all of a program waits
//
// What is compared and searched is in package checking. In this mode messages and collectives
// have neither the fast path nor shared memory, so that each comes by here.

// checker is that of a rank. The rank's lock guards it, except for what has one of its own.
type checker struct {
	k      *rank
	report func(line string)
	site   func() string // where the program is; nil: in Go

	contexts []*variants.Context // open ones, of messages between two ranks
	loose    []*pooled           // receives whose requests have been freed
	waits    waits

	mu    sync.Mutex // of what follows
	open  map[*Request]*record
	spans checking.Spans
}

// record is what is known of a request that the program has.
type record struct {
	op, site string
	note     *note // of a message
}

// withSite is inside.Functions.WithSite.
func withSite(site func() string) Option {
	return func(s *settings) error {
		s.site = site
		return nil
	}
}

// checked says that some rank of this process has a checker: then calls note the types of their data.
var checked atomic.Bool

func newChecker(k *rank, o *settings) *checker {
	if !o.check {
		return nil
	}
	checked.Store(true)
	x := &checker{k: k, report: o.report, site: o.site, open: make(map[*Request]*record)}
	if x.report == nil {
		x.report = func(line string) { fmt.Fprintln(os.Stderr, "exanet check: "+line) }
	}
	return x
}

// found reports a mistake.
func (x *checker) found(format string, a ...any) { x.report(fmt.Sprintf(format, a...)) }

// call is the name of a call, which is MPI's for a program in C.
func (x *checker) call(op string) string {
	if x.site == nil {
		return op
	}
	op = strings.Replace(strings.TrimSuffix(op, "Data"), "Message.R", "Mr", 1)
	joint := "" // as in MPI_Waitall, where others have MPI_Reduce_scatter
	if !strings.HasPrefix(op, "Wait") {
		joint = "_"
	}
	b := []byte("MPI_" + op[:1])
	for i := 1; i < len(op); i++ {
		if c := op[i]; c >= 'A' && c <= 'Z' {
			b = append(append(b, joint...), c-'A'+'a')
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// sites keeps the name of a place by its address, "" if that is in this package.
var sites sync.Map

// modulePackages is how the names of this package's functions begin.
const modulePackages = modulePath + "/mpi."

// here says where in the program the call is that is being made.
func (x *checker) here() string {
	if x.site != nil {
		return x.site()
	}
	var pcs [24]uintptr
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		text, ok := sites.Load(pc)
		if !ok {
			text = ""
			f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
			ours := library.MatchString(f.Function) && !strings.HasSuffix(f.File, "_test.go")
			where, _, _ := strings.Cut(f.Function, ".")
			if !ours && where != "sync" && where != "runtime" { // which call the ranks of Run
				text = fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
			}
			sites.Store(pc, text)
		}
		if text != "" {
			return text.(string)
		}
	}
	return ""
}

// typeOf is the type of a slice's elements as the signature of a message has it, nil if the mode is off. Bytes are
// data of any type, as Pack makes them.
func typeOf[T Element]() *datatype.Type {
	if !checked.Load() {
		return nil
	}
	t, err := datatype.Of[T]()
	if err != nil || t == datatype.Uint8 {
		return datatype.Byte
	}
	return t
}

// opened notes a request that the program gets.
func (x *checker) opened(q *Request, op string) {
	r := &record{op: x.call(op), site: x.here()}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open[q] = r
}

// uses notes the memory of a request: as long as it is active nobody else is to use it. The
// caller holds the rank's lock.
func (x *checker) uses(q *Request, n *note) {
	if n == nil {
		return // to or from nobody
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.open[q]; r != nil {
		r.note = n
		x.spans.Add(n.span)
	}
}

// closed notes that a request has ended, for good unless it is persistent.
func (x *checker) closed(q *Request, waited bool) {
	x.mu.Lock()
	r := x.open[q]
	if r == nil {
		x.mu.Unlock()
		return
	}
	n := r.note
	if r.note = nil; n != nil {
		x.spans.Remove(n.span)
	}
	if q.fixed == nil {
		delete(x.open, q)
	}
	x.mu.Unlock()
	if n != nil && waited {
		n.unchanged()
	}
}

// left reports requests that are active when the rank calls Finalize.
func (x *checker) left() {
	x.mu.Lock()
	var lines []string
	for q, r := range x.open {
		if q.Active() {
			lines = append(lines, fmt.Sprintf("rank %d: the request of %s%s was not waited for when %s was called",
				x.k.fab.Rank(), r.op, checking.At(r.site), finalize))
		}
	}
	x.mu.Unlock()
	slices.Sort(lines)
	for i, line := range lines {
		if i == mostLines {
			x.found("rank %d: and %d more requests", x.k.fab.Rank(), len(lines)-i)
			break
		}
		x.report(line)
	}
}

// unreceived reports the messages of a context that have arrived and that nobody has received. It is called with the
// lock held when none can be received any more.
func (x *checker) unreceived(ctx *variants.Context) {
	p := x.k.proto
	for n := 0; ; n++ {
		_, any, _ := p.Probe(ctx, variants.AnySource, variants.AnyTag)
		if !any {
			return
		}
		if n == mostLines {
			x.found("rank %d: and more messages that were never received", ctx.Rank)
			return
		}
		m, ok, _ := p.Extract(ctx, variants.AnySource, variants.AnyTag)
		if !ok {
			return
		}
		what := fmt.Sprintf("%d bytes", m.Size-checking.CardSize)
		if len(m.Data) >= checking.CardSize {
			c := checking.ReadCard(m.Data)
			what = fmt.Sprintf("%s of %s%s", c.Call, c.Data, checking.At(c.Site))
		}
		x.found("rank %d: a message from rank %d, tag %d, was never received: %s", ctx.Rank, m.Src, m.Tag, what)
		ctx.Active--
	}
}

// end is called with the lock held when all that was sent has arrived.
func (x *checker) end() {
	x.k.Poll()
	for _, ctx := range x.contexts {
		x.unreceived(ctx)
	}
}

// forget is called with the lock held when a context is closed.
func (x *checker) forget(ctx *variants.Context) {
	if i := slices.Index(x.contexts, ctx); i >= 0 {
		x.unreceived(ctx)
		x.contexts = slices.Delete(x.contexts, i, i+1)
	}
}

// polled is called at the end of each poll.
func (x *checker) polled(moved bool) {
	keep := x.loose[:0]
	for _, m := range x.loose {
		if m.Done {
			m.settle()
			x.k.put(m)
		} else {
			keep = append(keep, m)
		}
	}
	clear(x.loose[len(keep):])
	x.loose = keep
	x.waits.looked(moved)
}
