package randprog

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Trace is what one rank observed while it played one program, for listings.
// It is written by the rank's goroutines and may be read at any time.
type Trace struct {
	p    *Program
	rank int

	mu     sync.Mutex
	start  time.Time
	phase  int
	where  string          // what the rank as a whole is doing
	seen   map[int][]event // by operation
	drains map[int][]event // by thread, of the present phase
}

// event is one observation. It is put into words only when it is listed.
type event struct {
	what eventKind
	st   Status
	has  bool // st is filled
	err  error
}

type eventKind uint8

const (
	begun eventKind = iota
	posted
	returned
	completed
	found
	nothing
	skipped
	cancelling
	cancelled
)

var eventNames = [...]string{"BEGUN", "posted", "returned", "complete", "found", "nothing there", "skipped",
	"cancel", "cancelled"}

func newTrace(p *Program, rank int) *Trace {
	return &Trace{p: p, rank: rank, start: time.Now(), seen: map[int][]event{}, drains: map[int][]event{}}
}

// at notes what the rank as a whole does from now on.
func (t *Trace) at(phase int, where string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if phase != t.phase {
		clear(t.drains)
	}
	t.phase, t.where = phase, where
}

// note adds an observation of operation op, or, if op < 0, of the drain.
func (t *Trace) note(thread, op int, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if op < 0 {
		t.drains[thread] = append(t.drains[thread], e)
		return
	}
	t.seen[op] = append(t.seen[op], e)
}

func (e event) String() string {
	s := eventNames[e.what]
	if e.has {
		s += fmt.Sprintf(" %v", e.st)
	}
	if e.err != nil {
		s += fmt.Sprintf(" error %q", e.err)
	}
	return s
}

// String of a Status is short, for listings.
func (s Status) String() string {
	if s.Cancelled {
		return "{cancelled}"
	}
	return fmt.Sprintf("{%s, %d B}", pattern(s.Source, s.Tag), s.Bytes)
}

// pattern describes a source and a tag.
func pattern(source, tag int) string {
	s := fmt.Sprintf("rank %d", source)
	switch source {
	case AnySource:
		s = "any rank"
	case ProcNull:
		s = "null"
	}
	if tag == AnyTag {
		return s + ", any tag"
	}
	return fmt.Sprintf("%s, tag %d", s, tag)
}

// describe puts o into words, as its thread would write it.
func (p *Program) describe(o *Op) string {
	dest := func() string {
		t := p.Threads[o.Dest]
		return fmt.Sprintf("to %d.%d, tag %d, %d B", t.Rank, t.Index, o.Tag, o.Size)
	}
	source := func() string { return fmt.Sprintf("from %s, cap %d", pattern(o.From, o.RTag), o.Cap) }
	switch o.Kind {
	case Send:
		return fmt.Sprintf("%ssend(%s)", o.Mode, dest())
	case Isend:
		return fmt.Sprintf("i%ssend(%s)", o.Mode, dest())
	case Recv:
		return fmt.Sprintf("recv(%s)", source())
	case Irecv:
		return fmt.Sprintf("irecv(%s)", source())
	case Sendrecv:
		return fmt.Sprintf("sendrecv(%s; %s)", dest(), source())
	case Probe:
		return fmt.Sprintf("probe+recv(%s)", source())
	case Iprobe:
		if o.Peek {
			return fmt.Sprintf("iprobe(%s)", pattern(o.From, o.RTag))
		}
		return fmt.Sprintf("iprobe+recv(%s)", source())
	case Test, Wait, WaitAll, WaitAny, Cancel:
		names := map[Kind]string{Test: "test", Wait: "wait", WaitAll: "waitall", WaitAny: "waitany", Cancel: "cancel"}
		return fmt.Sprintf("%s%v", names[o.Kind], o.Reqs)
	case Null:
		return fmt.Sprintf("null(%d)", o.Tag)
	}
	return fmt.Sprintf("pause(%d us)", o.Size)
}

// Listing returns the program, one line an operation, with what the given
// traces observed of it. Operations that a trace should have but has not
// started are marked.
func (p *Program) Listing(traces ...*Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d ranks, %d phases, threads (rank.index):", p.Seed, p.Ranks, p.Phases)
	for _, t := range p.Threads {
		fmt.Fprintf(&b, " %d.%d", t.Rank, t.Index)
	}
	b.WriteByte('\n')
	by := map[int]*Trace{}
	for _, t := range traces {
		by[t.rank] = t
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	part := -1
	for i := range p.Ops {
		o := &p.Ops[i]
		if at := o.Phase*2 + o.Part; at != part {
			part = at
			fmt.Fprintf(&b, "phase %d, part %d\n", o.Phase, o.Part)
		}
		t := p.Threads[o.Thread]
		fmt.Fprintf(&b, "  #%-3d %d.%d  %-58s", o.ID, t.Rank, t.Index, p.describe(o))
		if tr := by[t.Rank]; tr != nil {
			if len(tr.seen[o.ID]) == 0 {
				b.WriteString(" not reached")
			}
			for _, e := range tr.seen[o.ID] {
				if e.what != begun || len(tr.seen[o.ID]) == 1 {
					fmt.Fprintf(&b, " %s;", e)
				}
			}
		}
		b.WriteByte('\n')
	}
	for _, tr := range traces {
		fmt.Fprintf(&b, "rank %d: phase %d, %s\n", tr.rank, tr.phase, tr.where)
		for _, id := range p.threadsOf(tr.rank) {
			if events := tr.drains[id]; len(events) > 0 {
				fmt.Fprintf(&b, "  drain of %d.%d: %v\n", tr.rank, p.Threads[id].Index, events)
			}
		}
	}
	return b.String()
}
