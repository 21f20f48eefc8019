package mpi

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/atomicfile"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// callStats counts calls and the time in them, if EXANET_STATS names a
// directory.
type callStats struct {
	dir, variant string
	passed       map[string]uint64
	cycles       uint64 // of the collector before

	mu    sync.Mutex
	calls map[string]*CallStats
	spare spares[timing]
}

// CallStats sums up the calls of one MPI function: how many, the time in them, and the bytes
// of their buffers.
type CallStats struct {
	N       uint64  `json:"n"`
	Seconds float64 `json:"seconds"`
	Bytes   uint64  `json:"bytes"`
}

// Stats is what a rank writes to EXANET_STATS/rank-N.json at Finalize.
type Stats struct {
	Rank    int    `json:"rank"`
	Size    int    `json:"size"`
	Variant string `json:"variant"`
	// Control counts the control messages sent, by kind.
	Control map[string]uint64 `json:"control"`
	// Writes counts RDMA writes started, Receives completed receives, and
	// FastReceives sends that found the receive advertised (thesis ch. 4).
	Writes       uint64 `json:"writes"`
	Receives     uint64 `json:"receives"`
	FastReceives uint64 `json:"fast_receives"`
	// Calls are those that were made in Go, and FastPath those of a preloaded program that
	// were not: "send", "receive", "wait" for a message that was not there yet, and collectives.
	Calls    map[string]*CallStats `json:"calls"`
	FastPath map[string]FastCalls  `json:"fast_path,omitempty"`
	Counters map[string]uint64     `json:"counters"`
	// CollectorCycles is how often the garbage collector of this process, which may
	// have several ranks, has run since Init.
	CollectorCycles uint64 `json:"collector_cycles"`
	// Choices are what the protocol auto has come to, a line for each kind of messages.
	Choices []string `json:"choices,omitempty"`
	// Registers is what the blocks did on the device registers.
	Registers *endpoint.Counts `json:"registers,omitempty"`
	// Passed counts the calls that were left to another MPI.
	Passed map[string]uint64 `json:"passed,omitempty"`
}

// withPassed is inside.Functions.WithPassed.
func withPassed(calls map[string]uint64) Option {
	return func(s *settings) error {
		s.passed = calls
		return nil
	}
}

// FastCalls sums up calls of a kind on the fast path.
type FastCalls struct {
	N     uint64 `json:"n"`
	Bytes uint64 `json:"bytes"`
}

// fastCalls is what the fast path has counted, with the lock held.
func (k *rank) fastCalls() map[string]FastCalls {
	all := make(map[string]FastCalls)
	add := func(name string, n, bytes uint64) {
		if n > 0 {
			all[name] = FastCalls{n, bytes}
		}
	}
	if k.fast != nil {
		n := &k.fast.table.Counts
		add("send", n.Sends, n.Sent)
		add("receive", n.Receives, n.Received)
		add("wait", n.Waits, 0)
	}
	for _, v := range k.views {
		k.tally(v)
	}
	for op, n := range k.collectives {
		add(coll.Collective(op).String(), n.Calls, n.Bytes)
	}
	return all
}

func newCallStats(variant string, passed map[string]uint64) *callStats {
	dir := os.Getenv(env.Stats)
	if dir == "" {
		return nil
	}
	return &callStats{dir: dir, variant: variant, passed: passed, cycles: collectorCycles(),
		calls: make(map[string]*CallStats)}
}

func collectorCycles() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// record counts a call that began at a time.
func (s *callStats) record(op string, bytes int, began time.Time) {
	d := time.Since(began)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[op]
	if c == nil {
		c = new(CallStats)
		s.calls[op] = c
	}
	c.N++
	c.Seconds += d.Seconds()
	c.Bytes += uint64(bytes)
}

// timing is a call that is counted when it ends.
type timing struct {
	stats *callStats
	op    string
	bytes int
	began time.Time
}

// timed begins to count a call; it returns nil if calls are not counted.
func (k *rank) timed(op string, bytes int) *timing {
	s := k.stats
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.spare.take()
	*t = timing{s, op, bytes, time.Now()}
	return t
}

func (t *timing) end() {
	if t == nil {
		return
	}
	t.stats.record(t.op, t.bytes, t.began)
	t.stats.mu.Lock()
	defer t.stats.mu.Unlock()
	t.stats.spare.put(t)
}

// writeStats writes the statistics file of a rank whose lock is held, or says why it
// cannot: what the program has computed is not lost by that.
func (k *rank) writeStats() {
	path := filepath.Join(k.stats.dir, fmt.Sprintf("rank-%d.json", k.fab.Rank()))
	b, err := json.MarshalIndent(k.statistics(), "", "  ")
	if err == nil {
		err = atomicfile.WriteFile(path, append(b, '\n'))
	}
	if err == nil {
		return
	}
	if cause := syscall.Errno(0); errors.As(err, &cause) {
		err = cause // without the temporary name
	}
	fmt.Fprintf(os.Stderr, "exanet: rank %d: %v: %s: %s: %v\n", k.fab.Rank(), ErrStats, env.Stats, path, err)
}

func (k *rank) statistics() *Stats {
	s := k.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	n, fast := *k.proto.Counters(), k.fastCalls()
	n.Receives += fast["receive"].N
	var blocks *endpoint.Counts
	if f, ok := k.fab.(*registers); ok {
		c := f.Counts()
		blocks = &c
	}
	var choices []string
	if p, ok := any(k.proto).(*ticket.Protocol); ok {
		p.Choices(func(line string) { choices = append(choices, line) })
	}
	return &Stats{
		Rank: k.fab.Rank(), Size: k.fab.Size(), Variant: s.variant,
		Control: controlMap(&n), Writes: n.Writes, Receives: n.Receives, FastReceives: n.FastReceives,
		Calls: s.calls, Counters: counterMap(&n), FastPath: fast, CollectorCycles: collectorCycles() - s.cycles,
		Choices: choices, Registers: blocks, Passed: s.passed,
	}
}

func controlMap(n *variants.Counters) map[string]uint64 {
	m := make(map[string]uint64)
	for k := variants.RTS; k < variants.Kinds; k++ {
		m[k.String()] = n.Control[k]
	}
	return m
}

func counterMap(n *variants.Counters) map[string]uint64 {
	m := controlMap(n)
	m["writes"] = n.Writes
	m["receives"] = n.Receives
	m["fast_receives"] = n.FastReceives
	m["crossings"] = n.Crossings
	m["stale_rtrs"] = n.StaleRTRs
	m["silent"] = n.Silent
	m["lifted"] = n.Lifted
	m["truncations"] = n.Truncations
	m["cancels_granted"] = n.CancelsGranted
	m["cancels_refused"] = n.CancelsRefused
	m["no_credit"] = n.NoCredit
	m["copies"] = n.Copies
	m["elided"] = n.Elided
	m["standing"] = n.Standing
	return m
}
