// Package randc writes random MPI programs in C, to be run under another MPI alone
// and with the preload library.
//
// Every rank of a program has a function of its own, which is straight-line code:
// the generator knows the whole program, so it knows who is in which communicator
// and what each message is received by. What a rank sees (statuses, error classes, a
// hash of each buffer with the memory around it) it says, and rank 0 prints it. The
// output is determined, whatever the ranks' speed:
//
//   - Every operation has a place in one global order (burst.go). A rank starts its
//     operations no later than their turn, and waits for none before its turn, so the
//     first that has not ended can always go on: nothing deadlocks.
//   - Messages between two ranks either have different tags, or are sent and received
//     in the same order; then receives of any tag are allowed.
//   - Receives from any source (any.go) compete for messages with a tag of their own, and
//     say a sum over them.
//
// run.h is what the programs share.
package randc

import (
	"bytes"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

//go:embed run.h
var run string

// Program returns a program for a number of ranks, and its text in C. It takes one
// argument if the persistent collectives of the MPI work.
func Program(seed uint64) (ranks int, text string) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed))}
	g.ranks = []int{2, 2, 2, 2, 3, 3, 3, 4, 4, 5}[g.IntN(10)]
	g.main = g.bodies()
	g.out = g.main
	g.pending = make([][]request, g.ranks)
	all := make([]int, g.ranks)
	for i := range all {
		all[i] = i
	}
	g.comms = []*comm{{id: 0, members: all}, {id: 1, self: true}}
	g.drawTypes()
	g.steps()
	return g.ranks, g.text(seed)
}

type generator struct {
	*rand.Rand
	ranks     int
	main, out []*bytes.Buffer // the code of each rank: of the program, and where it is written to now
	functions bytes.Buffer    // those of threads
	units     []unit
	types     [][]*ctype // by unit
	typeCode  bytes.Buffer
	typeCount int
	comms     []*comm
	commCount int
	transfers int
	tags      int
	pending   [][]request // by rank: started, to be completed at any later time
	threaded  bool        // the program has threads
	parallel  bool        // what is written now is run by one of several threads
}

// request is one transfer to be completed, or several that say something only
// together.
type request struct {
	ids        []int
	say        string
	statusFree bool // nothing that is said depends on the status
	after      string
	ready      int // in burst.go: the turn after which it may be waited for
}

func (g *generator) bodies() []*bytes.Buffer {
	b := make([]*bytes.Buffer, g.ranks)
	for i := range b {
		b[i] = new(bytes.Buffer)
	}
	return b
}

// emit adds a line to the code of a rank.
func (g *generator) emit(rank int, format string, args ...any) {
	fmt.Fprintf(g.out[rank], "\t"+format+"\n", args...)
}

func (g *generator) oneIn(n int) bool { return g.IntN(n) == 0 }

// id returns the number of a new transfer.
func (g *generator) id() int {
	g.transfers++
	return g.transfers
}

// tag returns one that no other message has.
func (g *generator) tag() int {
	g.tags++
	return 100 + g.tags
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// size draws a number of bytes, often around where protocols change.
func (g *generator) size() int {
	at := pick(g, 0, 1, 40, 40, 300, 4096, 8192, 16384, 16384, 20000, 65536, 300000)
	switch g.IntN(4) {
	case 0:
		return at
	case 1:
		return max(0, at-1-g.IntN(9))
	case 2:
		return at + 1 + g.IntN(9)
	}
	return g.IntN(at + 1)
}

// steps draws what the program does.
func (g *generator) steps() {
	if g.oneIn(6) {
		g.threaded = true
	}
	for range 2 + g.IntN(3) {
		g.newComm()
	}
	window := g.oneIn(5)
	if window {
		g.windowBegin()
	}
	if g.oneIn(4) {
		g.newIntercomm()
	}
	for range 7 + g.IntN(5) {
		switch g.IntN(16) {
		case 0, 1, 2:
			g.burst(g.someComms(), 3+g.IntN(8))
		case 3:
			g.ready(g.comm(2), 2+g.IntN(6))
		case 4:
			g.anySource(g.comm(2))
		case 5:
			g.persistent(g.comm(2), 2+g.IntN(5))
		case 6, 7, 8, 9:
			for range 1 + g.IntN(3) {
				g.collective(g.comm(1))
			}
		case 10:
			g.neighbours()
		case 11:
			g.odd()
		case 12:
			g.newComm()
		case 13:
			g.freeComm()
		case 14:
			if window {
				g.windowUse()
			} else {
				g.burst(g.someComms(), 6)
			}
		case 15:
			if g.threaded {
				g.threads()
			} else {
				g.anySource(g.comm(2))
			}
		}
	}
	for r := range g.ranks {
		g.completeAll(r)
	}
	if window {
		g.each(func(r int) { g.emit(r, "E(MPI_Win_free(&win));") })
	}
	for len(g.comms) > 2 {
		g.freeComm()
	}
}

func (g *generator) each(f func(rank int)) {
	for r := range g.ranks {
		f(r)
	}
}

// waits starts no request later, but may leave it to be completed later.
func (g *generator) later(rank int, q request) { g.pending[rank] = append(g.pending[rank], q) }

// someLater completes some of what a rank has started.
func (g *generator) someLater(rank, turn int) {
	list := g.pending[rank]
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	var now, rest []request
	k := g.IntN(len(list) + 1)
	for _, q := range list {
		if q.ready <= turn && len(now) < k {
			now = append(now, q)
		} else {
			rest = append(rest, q)
		}
	}
	g.pending[rank] = rest
	g.complete(rank, now)
}

func (g *generator) completeAll(rank int) {
	for len(g.pending[rank]) > 0 {
		g.someLater(rank, 0)
	}
}

// complete writes how a rank completes requests.
func (g *generator) complete(rank int, list []request) {
	if len(list) == 0 {
		return
	}
	var ids []int
	free := true
	for _, q := range list {
		ids = append(ids, q.ids...)
		free = free && q.statusFree
	}
	how := pick(g, "WAIT", "BACKWARDS", "TEST", "WAITALL", "WAITALL", "TESTALL", "WAITANY", "TESTANY", "WAITSOME",
		"TESTSOME", "LOOK")
	if free && g.oneIn(3) {
		how = "IGNORED"
	}
	g.emit(rank, "complete(%s, %d, (int[])%s);", how, len(ids), braces(ids))
	for _, q := range list {
		g.emit(rank, "%s", q.say)
		if q.after != "" {
			g.emit(rank, "%s", q.after)
		}
	}
}

func braces[T any](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = fmt.Sprint(v)
	}
	return "{" + strings.Join(s, ", ") + "}"
}

func (g *generator) text(seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "/* Seed %d, %d ranks. */\n%s\nstatic MPI_Win win;\nstatic int64_t *exposed;\n\n", seed, g.ranks,
		run)
	b.WriteString("static void types(void)\n{\n")
	b.WriteString(g.typeCode.String())
	b.WriteString("}\n\n")
	b.Write(g.functions.Bytes())
	for r, code := range g.main {
		fmt.Fprintf(&b, "static void rank%d(void)\n{\n%s}\n\n", r, code)
	}
	level := "MPI_THREAD_FUNNELED"
	if g.threaded {
		level = "MPI_THREAD_MULTIPLE"
	}
	fmt.Fprintf(&b, "int main(int argc, char **argv)\n{\n\tbegin(&argc, &argv, %d, %s);\n\ttypes();\n\tswitch (me) {\n",
		g.ranks, level)
	for r := range g.ranks {
		fmt.Fprintf(&b, "\tcase %d: rank%d(); break;\n", r, r)
	}
	fmt.Fprintf(&b, "\t}\n\tend(%d, %d);\n}\n", g.ranks, g.typeCount)
	return b.String()
}
