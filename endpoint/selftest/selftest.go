// Package selftest tries out a device, block by block, for somebody who brings
// up a board: each check is a line that says what was tried, and if it fails,
// what the board does wrong and which part of docs/bring-up.md explains it.
//
//	selftest.go   Run: the checks in their order
//	blocks.go     where the blocks are, and what their headers say
//	bench.go      the pages that the checks use, and every wait
//	messages.go   packetizer and mailbox
//	writes.go     RDMA engine
//	books.go      what the counters say in the end, and the pages given back
//
// The checks drive the registers themselves and not through the wrappers: they
// look between the steps of a hand-over, which is where a board goes wrong.
// Every wait has a limit, and after one that ran out the others are shorter, so
// a device that does nothing at all is told of within seconds. One that is slow
// at everything is told of when the time for all waits is over.
package selftest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Result is how a check ended.
type Result int

// What became of a check. One is not tried if the device offers nothing to try
// it on, or if one that it builds on has failed.
const (
	OK Result = iota
	Failed
	NotTried
)

func (r Result) String() string { return [...]string{"ok", "FAIL", "-"}[r] }

// Line is what there is to say of a check.
type Line struct {
	Check  string // its name, as in docs/bring-up.md
	Result Result
	Text   string // what was seen, what is wrong, or why it was not tried
}

// Limit is how long the check waits for the device to do something, while this process runs.
const Limit = 5 * time.Second

// allWaits is how many times of a wait's limit all waits may take together.
const allWaits = 6

// late is for how long the check looks whether a RESULT or an ERROR comes that should have been there before DONE.
const late = 100 * time.Millisecond

// check is one of the checks. do says in a few words what was seen.
type check struct {
	name  string
	after string // the checks without which this one means nothing, with commas between them
	do    func(*bench) (seen string, err error)
}

// notTried is the error of a check that the device offers nothing for.
type notTried string

func (n notTried) Error() string { return string(n) }

// The headers come first, since everything else is found through them, then
// what one thing at a time does, then many at once, then refusals.
var checks = []check{
	{"packetizer header", "", func(b *bench) (string, error) { return b.header(packetizers) }},
	{"mailbox header", "", func(b *bench) (string, error) { return b.header(mailboxes) }},
	{"channel header", "", func(b *bench) (string, error) { return b.header(channels) }},
	{"node ID", "", (*bench).nodeIDs},
	{"pages", "packetizer header, mailbox header, channel header", (*bench).takePages},
	{"protection ID", "pages", (*bench).protectionIDs},
	{"message", "pages", (*bench).message},
	{"slot before TAIL", "message", (*bench).slotBeforeTail},
	{"message order", "message", (*bench).order},
	{"full mailbox", "message", (*bench).fullMailbox},
	{"message to no node", "message", (*bench).messageNowhere},
	{"message protection", "message", (*bench).messageProtection},
	{"message to nobody", "message", (*bench).messageToNobody},
	{"RESULT before DONE", "message to no node", (*bench).resultBeforeDone},
	{"write", "pages", (*bench).write},
	{"data before notification", "write", (*bench).dataFirst},
	{"one notification", "write", (*bench).oneNotification},
	{"many writes", "write", (*bench).manyWrites},
	{"write to no node", "write", (*bench).writeNowhere},
	{"write protection", "write", (*bench).writeProtection},
	{"write to nobody", "write", (*bench).writeToNobody},
	{"unmapped address", "write", (*bench).unmapped},
	{"misaligned notification", "write", (*bench).misaligned},
	{"ERROR before DONE", "write to no node", (*bench).errorBeforeDone},
	{"agent", "write", (*bench).agent},
	{"counters", "pages", (*bench).counters},
	{"pages given back", "pages", (*bench).givenBack},
}

// Names are those of the checks.
func Names() (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Run checks the device at path, calls report with each line as it is known,
// and returns an error that says how many checks have failed. An error before
// the first line says why there is nothing to check. limit bounds each wait, and
// allWaits times as much all of them.
func Run(path string, limit time.Duration, report func(Line)) error {
	b, err := newBench(path, limit)
	if err != nil {
		return err
	}
	defer b.close()
	results := map[string]Result{}
	failed := 0
	for _, c := range checks {
		line := b.try(c, results)
		if line.Result == Failed {
			failed++
		}
		results[c.name] = line.Result
		report(line)
	}
	if failed > 0 {
		return &FailedError{Path: path, Failed: failed, Of: len(checks)}
	}
	return nil
}

// try tries out one thing, if what it builds on has been found right.
func (b *bench) try(c check, results map[string]Result) Line {
	line := Line{Check: c.name}
	for needed := range strings.SplitSeq(c.after, ", ") {
		if needed != "" && results[needed] != OK {
			line.Result, line.Text = NotTried, fmt.Sprintf("needs %q", needed)
			return line
		}
	}
	if b.left == 0 {
		line.Result, line.Text = NotTried, "the time for all waits is over"
		return line
	}
	b.forget()
	seen, err := c.do(b)
	b.quiet(err == nil)
	var skipped notTried
	switch {
	case err == nil:
		line.Text = seen
	case errors.As(err, &skipped):
		line.Result, line.Text = NotTried, err.Error()
	default:
		line.Result, line.Text = Failed, err.Error()
	}
	return line
}

// FailedError says that a device is not as docs/registers.md has it.
type FailedError struct {
	Path       string
	Failed, Of int
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("device %s: %d of %d checks failed; docs/bring-up.md says of each what to look at", e.Path,
		e.Failed, e.Of)
}
