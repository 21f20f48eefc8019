package randprog

import (
	"bytes"
	"fmt"
	"slices"
)

// Inbox is everything that concerns the receives of one goroutine in one
// phase.
type Inbox struct {
	Seed     uint64
	Messages []Message // those sent to it, in the order of the sends of each stream
	Receives []*Receive
	Peeks    []Peek
}

// Peek is a probe that found a message which was not received for it.
type Peek struct {
	Op        int
	From, Tag int
	Status    Status
}

// Message is a message as its sender's program describes it.
type Message struct {
	Op     int
	Stream int // the goroutine that sent it
	Source int // its rank
	Tag    int
	Size   int
	Gone   bool // its sender was told that it is cancelled
}

// Receive is a receive as its goroutine saw it, in posting order.
type Receive struct {
	Op        int // -1: posted in the drain
	From, Tag int // its pattern; that of the probe where a probe came first
	Cap       int
	Probed    *Status // what that probe reported

	Done      bool
	Cancelled bool
	Status    *Status // nil: completed through WaitAll
	Truncated bool    // an error said so; for a Batch, the error of the batch
	Batch     *Batch

	// Moments in the goroutine's own time: when it had seen the completion,
	// and when it called Cancel (0: never).
	DoneAt, CancelAt int

	Region []byte // the buffer between its guards, once the phase is over
	Sum    uint64 // of Region when completion was seen
}

// Batch is a WaitAll: it says that some receive of it was truncated, not which.
type Batch struct{ Truncated, due bool }

// checker is one run of the greedy rule.
type checker struct {
	Inbox
	taken    []*Receive // by index into Messages
	got      map[*Receive]*Message
	problems []string
}

// Check compares an inbox with the model (see the package comment) and returns
// what is wrong with it, in words.
func Check(in Inbox) []string {
	c := &checker{Inbox: in, taken: make([]*Receive, len(in.Messages)), got: map[*Receive]*Message{}}
	for _, r := range in.Receives {
		switch {
		case !r.Done:
			c.report(r, "never completed")
		case r.Cancelled:
			if !allGuard(r.Region) {
				c.report(r, "was cancelled, yet its buffer was written")
			}
		default:
			if i := c.match(r); i >= 0 {
				c.taken[i], c.got[r] = r, &in.Messages[i]
				c.contents(r, &in.Messages[i])
			}
		}
	}
	for i, m := range in.Messages {
		if c.taken[i] == nil && !m.Gone {
			c.problems = append(c.problems, fmt.Sprintf("%s was received by nobody", m))
		}
	}
	for _, r := range in.Receives {
		if b := r.Batch; b != nil && b.Truncated != b.due {
			c.report(r, "WaitAll reports truncation: %v, should be %v", b.Truncated, b.due)
			b.due = b.Truncated
		}
	}
	c.passedOver()
	c.peeked()
	return c.problems
}

func (m Message) String() string {
	return fmt.Sprintf("message #%d (rank %d, tag %d, %d B)", m.Op, m.Source, m.Tag, m.Size)
}

func (r *Receive) String() string {
	op := "of the drain"
	if r.Op >= 0 {
		op = fmt.Sprintf("#%d", r.Op)
	}
	return fmt.Sprintf("receive %s (%s, cap %d)", op, pattern(r.From, r.Tag), r.Cap)
}

func (c *checker) report(r *Receive, format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf("%s: %s", r, fmt.Sprintf(format, args...)))
}

// fits reports whether the pattern of r fits m.
func (r *Receive) fits(m *Message) bool {
	return (r.From == AnySource || r.From == m.Source) && (r.Tag == AnyTag || r.Tag == m.Tag)
}

// match returns the index of the message that r got, which is the first of its
// stream that is left, or reports a problem and returns the message that r
// seems to have got, -1 if there is none.
func (c *checker) match(r *Receive) int {
	source, tag := r.From, r.Tag
	if s := r.Status; s != nil {
		source, tag = s.Source, s.Tag
	}
	stream := -1
	for i := range c.Messages {
		if m := &c.Messages[i]; m.Source == source && m.Tag == tag {
			stream = m.Stream
			break
		}
	}
	if stream < 0 || !r.fits(&Message{Source: source, Tag: tag}) {
		c.report(r, "no message sent here has the source %d and the tag %d of its status", source, tag)
		return -1
	}
	first := -1
	for i := range c.Messages {
		if m := &c.Messages[i]; m.Stream == stream && r.fits(m) && !m.Gone && c.taken[i] == nil {
			first = i
			break
		}
	}
	if first < 0 {
		c.report(r, "got a message from rank %d although none is left for it%s", source, c.guess(r))
		return -1
	}
	if p := r.Probed; p != nil && r.Status != nil && *p != *r.Status {
		c.report(r, "its probe reported %v", *p)
	}
	m := &c.Messages[first]
	if s := r.Status; s != nil && (s.Tag != m.Tag || s.Bytes != m.Size || s.Cancelled) {
		c.report(r, "should have got %s, has the status %v%s", m, *s, c.guess(r))
		return c.closest(r, first)
	}
	return first
}

// closest returns a message that is left and has the source, tag and size of
// the status of r, or else first.
func (c *checker) closest(r *Receive, first int) int {
	for i := range c.Messages {
		m := &c.Messages[i]
		if c.taken[i] == nil && m.Source == r.Status.Source && m.Tag == r.Status.Tag && m.Size == r.Status.Bytes {
			return i
		}
	}
	return first
}

// contents compares the memory of r with m.
func (c *checker) contents(r *Receive, m *Message) {
	truncated := m.Size > r.Cap
	if r.Batch != nil {
		r.Batch.due = r.Batch.due || truncated
	} else if r.Truncated != truncated {
		c.report(r, "truncation reported: %v, should be %v for %s", r.Truncated, truncated, m)
	}
	n := min(m.Size, r.Cap)
	want, have := payload(c.Seed, m.Op, n), inner(r.Region)[:n]
	if !bytes.Equal(want, have) {
		for i := range n {
			// How much of a truncated message arrives is not defined.
			if have[i] == want[i] || truncated && have[i] == guardByte {
				continue
			}
			c.report(r, "byte %d is %#02x, not %#02x of %s%s", i, have[i], want[i], m, c.guess(r))
			break
		}
	}
	if !allGuard(r.Region[:guardSize]) {
		c.report(r, "memory before the buffer was written")
	}
	if tail := r.Region[guardSize+n:]; !allGuard(tail) {
		i := 0
		for tail[i] == guardByte {
			i++
		}
		c.report(r, "memory behind the %d B received was written, at offset %d of %d", n, n+i, r.Cap)
	}
	if r.Sum != sum(r.Region) {
		c.report(r, "was written after its completion was reported")
	}
}

// guess says which message the buffer of r holds, if that can be told.
func (c *checker) guess(r *Receive) string {
	b := inner(r.Region)
	for i := range c.Messages {
		m := &c.Messages[i]
		if n := min(m.Size, r.Cap); n >= 4 && bytes.Equal(payload(c.Seed, m.Op, n), b[:n]) {
			switch {
			case m.Gone:
				return fmt.Sprintf("; its buffer holds the cancelled %s", m)
			case c.taken[i] != nil && c.taken[i] != r:
				return fmt.Sprintf("; its buffer holds %s, which %s got", m, c.taken[i])
			}
			return fmt.Sprintf("; its buffer holds %s", m)
		}
	}
	return ""
}

// passedOver looks for receives that were cancelled although an earlier match
// was theirs: a later receive got it, and was complete before the cancel.
func (c *checker) passedOver() {
	for i, r := range c.Receives {
		if !r.Cancelled {
			continue
		}
		for _, later := range c.Receives[i+1:] {
			if m := c.got[later]; m != nil && r.fits(m) && later.DoneAt < r.CancelAt {
				c.report(r, "was cancelled later than %s got %s", later, m)
			}
		}
	}
}

// peeked checks that what probes reported exists. Which of several messages it
// had to be is checked where the message is received.
func (c *checker) peeked() {
	for _, p := range c.Peeks {
		r := Receive{From: p.From, Tag: p.Tag}
		if !slices.ContainsFunc(c.Messages, func(m Message) bool {
			return r.fits(&m) && p.Status == Status{Source: m.Source, Tag: m.Tag, Bytes: m.Size}
		}) {
			c.problems = append(c.problems, fmt.Sprintf("iprobe #%d(%s) found %v, which nobody sent",
				p.Op, pattern(p.From, p.Tag), p.Status))
		}
	}
}
