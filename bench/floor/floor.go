// Package floor measures what a machine could do at best between two
// processes, without any MPI: the figures to hold an MPI's against.
//
// A Pair is this process and a child of it that share a memory file. The
// measurements are methods of Pair, each in a file of its own; the child runs
// Peer, which waits for orders in a futex and plays the other side:
//
//	CacheLine            a word from one core's cache to another's
//	Yield, Pipe          one process giving its core to the other
//	Wake                 waking a process that sleeps on another core
//	Copy                 memcpy
//	Attach, AttachStream process_vm_writev into the other process
//	Stream               one process copying into shared memory, the other out of it
//	Message              a message of some size, in three ways
//	Exchange             a block each way at once
//
// Oversubscribed has more processes than cores pass each other blocks.
//
// Measure takes them all, several times in turn, and returns medians.
package floor

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrOneCore is the error of a measurement between two cores on a machine, or
// in an affinity mask, of one.
var ErrOneCore = errors.New("only one core may be used")

// ErrPeer is the error of a measurement whose other process is gone or does
// not answer.
var ErrPeer = errors.New("the other process of the measurement")

// Names of the lines that other figures are compared with.
const (
	CacheLineName    = "cache line, core to core"
	YieldName        = "context switch, sched_yield"
	AttachStreamName = "process_vm_writev 4 MiB"
	StreamName       = "through shared memory, 1 MiB"
)

// Line is one figure.
type Line struct {
	Name    string    `json:"name"`
	Value   float64   `json:"value"` // the median of Repeats
	Unit    string    `json:"unit"`
	Note    string    `json:"note"`              // what exactly was done
	Refused string    `json:"refused,omitempty"` // why there is no figure
	Repeats []float64 `json:"repeats,omitempty"`
}

// Table is the figures of all measurements, in a fixed order.
type Table struct{ Lines []Line }

// Find returns the line of that name; false if it is missing or was refused.
func (t *Table) Find(name string) (Line, bool) {
	i := slices.IndexFunc(t.Lines, func(l Line) bool { return l.Name == name })
	if i < 0 || t.Lines[i].Refused != "" || len(t.Lines[i].Repeats) == 0 {
		return Line{}, false
	}
	return t.Lines[i], true
}

type measurement struct {
	name, unit, note string
	run              func(*Pair) (float64, error)
}

var measurements = []measurement{
	{CacheLineName, "ns", "one way: plain store here, load there", (*Pair).CacheLine},
	{YieldName, "us", "a hand-over between two processes on one core", (*Pair).Yield},
	{"context switch, pipe", "us", "the same through a pipe: write, read that blocks", (*Pair).Pipe},
	{"futex wake-up", "us", "store and wake, until the sleeper on another core has answered", (*Pair).Wake},
	{"memcpy 1 MiB, in cache", "MB/s", "the same 1 MiB again and again",
		func(p *Pair) (float64, error) { return p.Copy(1<<20, false) }},
	{"memcpy 4 MiB, in cache", "MB/s", "the same 4 MiB again and again",
		func(p *Pair) (float64, error) { return p.Copy(4<<20, false) }},
	{"memcpy 1 MiB, from memory", "MB/s", "pieces of 128 MiB in turn",
		func(p *Pair) (float64, error) { return p.Copy(1<<20, true) }},
	{"memcpy 4 MiB, from memory", "MB/s", "pieces of 128 MiB in turn",
		func(p *Pair) (float64, error) { return p.Copy(4<<20, true) }},
	{"process_vm_writev 64 B", "us", "one call, into the other process", (*Pair).Attach},
	{AttachStreamName, "MB/s", "one side alone, the same 4 MiB 64 times", (*Pair).AttachStream},
	{StreamName, "MB/s", "one core copies in, another out: 16 KiB pieces, room for 8", (*Pair).Stream},
	{"exchange of 32 KiB", "us", "both copy so much, and read as much from the other, at once",
		func(p *Pair) (float64, error) { return p.Exchange(32 << 10) }},
	{"exchange of 1 MiB", "us", "the same", func(p *Pair) (float64, error) { return p.Exchange(largestExchange) }},
}

// Add measures everything once and adds the figures to the table. Start makes
// the command of the child, which must call Peer. A measurement that the
// system refuses leaves the reason in its line; only ErrPeer, and a child that
// cannot be started, are errors.
func (t *Table) Add(ctx context.Context, start Start) error {
	if len(t.Lines) == 0 {
		for _, m := range measurements {
			t.Lines = append(t.Lines, Line{Name: m.name, Unit: m.unit, Note: m.note})
		}
	}
	p, err := Open(ctx, start)
	if err != nil {
		return err
	}
	defer p.Close()
	for i, m := range measurements {
		v, err := m.run(p)
		if errors.Is(err, ErrPeer) {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		l := &t.Lines[i]
		if err != nil {
			l.Refused = err.Error()
			continue
		}
		l.Repeats = append(l.Repeats, v)
		l.Value = median(l.Repeats)
	}
	return nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
