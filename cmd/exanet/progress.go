package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress shows on the standard error how far a command has come: as a bar if that and the standard
// output are terminals, else as a line now and then. What it prints is decoration: errors do not
// matter. Goroutines may share it.
type progress struct {
	bar *progressbar.ProgressBar // nil: lines

	mu          sync.Mutex
	w           io.Writer
	doing       string
	done, total int
	begun       time.Time
	next        *time.Timer
}

// When a line is due, and how long after the one before.
const (
	lineAfter = 5 * time.Second
	lineEvery = 15 * time.Second
)

// newProgress begins to show the progress of a command in total steps; 0 says that nobody knows how
// many there are. The caller ends it.
func newProgress(c *cobra.Command, total int, doing string, more ...progressbar.Option) *progress {
	p := &progress{w: c.ErrOrStderr(), doing: doing, total: total, begun: time.Now()}
	if !isTerminal(c.OutOrStdout()) || !isTerminal(p.w) {
		p.mu.Lock() // so that a line, however soon, finds the timer
		defer p.mu.Unlock()
		p.next = time.AfterFunc(lineAfter, p.line)
		return p
	}
	if total == 0 {
		total = -1 // progressbar's way to say so
	}
	p.bar = progressbar.NewOptions(total, append([]progressbar.Option{
		progressbar.OptionSetWriter(p.w),
		progressbar.OptionSetDescription(doing),
		progressbar.OptionSetWidth(40),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}, more...)...)
	return p
}

// line writes where the command is, and comes back.
func (p *progress) line() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		return // ended meanwhile
	}
	steps := ""
	if p.total > 0 {
		steps = fmt.Sprintf(": %d of %d", p.done, p.total)
	}
	fmt.Fprintf(p.w, "exanet: %s%s, after %s\n", p.doing, steps, time.Since(p.begun).Round(time.Second))
	p.next.Reset(lineEvery)
}

// add says that n more steps are done.
func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.bar != nil {
		_ = p.bar.Add(n)
	}
}

// at says that done steps of total are done, and what comes next.
func (p *progress) at(done, total int, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.doing = done, total, doing
	if p.bar != nil {
		p.bar.ChangeMax(total)
		p.bar.Describe(doing)
		_ = p.bar.Set(done)
	}
}

// hide makes room for output on the same terminal, until the next step.
func (p *progress) hide() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// end shows nothing any more.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		p.next.Stop()
		p.next = nil
	}
	p.hide()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
