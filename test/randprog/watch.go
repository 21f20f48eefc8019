package randprog

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Watch reports programs that do not end. One serves all ranks of a process.
type Watch struct {
	limit  time.Duration
	onHang func(report string)
	stop   chan struct{}
	over   atomic.Bool // a program hangs: polling loops end

	mu      sync.Mutex
	running map[*Trace]bool
	keep    int
	ended   []*Trace // the last keep of each rank
}

// NewWatch returns a Watch that calls onHang, once, from a goroutine of its
// own, when a program takes longer than limit. It keeps the traces of the last
// keep programs of each rank. Stop must be called.
func NewWatch(limit time.Duration, keep int, onHang func(report string)) *Watch {
	w := &Watch{limit: limit, onHang: onHang, stop: make(chan struct{}), keep: keep, running: map[*Trace]bool{}}
	go w.watch()
	return w
}

// Stop ends the watch.
func (w *Watch) Stop() { close(w.stop) }

func (w *Watch) watch() {
	tick := time.NewTicker(w.limit / 8)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			if report := w.late(); report != "" {
				w.over.Store(true)
				w.onHang(report)
				return
			}
		}
	}
}

// late describes a program that has run for too long, and where everybody is.
func (w *Watch) late() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var late *Program
	for t := range w.running {
		if time.Since(t.start) > w.limit && (late == nil || t.p.Seed < late.Seed) {
			late = t.p
		}
	}
	if late == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d has not ended after %v; BEGUN and not returned is where a thread is.\n%s",
		late.Seed, w.limit, late.Listing(w.of(late)...))
	stacks := make([]byte, 48<<10)
	fmt.Fprintf(&b, "\n%s", stacks[:runtime.Stack(stacks, true)])
	return b.String()
}

// of returns the traces of p by rank. w.mu is held.
func (w *Watch) of(p *Program) (traces []*Trace) {
	for t := range w.running {
		if t.p == p {
			traces = append(traces, t)
		}
	}
	for _, t := range w.ended {
		if t.p == p {
			traces = append(traces, t)
		}
	}
	slices.SortFunc(traces, func(a, b *Trace) int { return a.rank - b.rank })
	return traces
}

// complete gives f the traces of all ranks of this process.
func (w *Watch) complete(f *Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.Traces = w.of(f.Program)
}

// hangs reports whether a program has been found to hang, after which nobody
// who polls needs to go on.
func (w *Watch) hangs() bool { return w != nil && w.over.Load() }

func (w *Watch) begin(t *Trace) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[t] = true
}

// end moves t to the traces that are kept.
func (w *Watch) end(t *Trace) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, t)
	w.ended = append(w.ended, t)
	n := 0
	for _, e := range w.ended {
		if e.rank == t.rank {
			n++
		}
	}
	if n > w.keep {
		w.ended = slices.Delete(w.ended, w.first(t.rank), w.first(t.rank)+1)
	}
}

// first returns the index of the oldest trace of a rank.
func (w *Watch) first(rank int) int {
	return slices.IndexFunc(w.ended, func(t *Trace) bool { return t.rank == rank })
}
