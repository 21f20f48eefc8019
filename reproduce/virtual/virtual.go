// Package virtual runs the ranks of package mpi in virtual time, on the simulated prototype of
// emu/sim: the same protocols, the same progress engine, the same collectives as on a
// host, but one rank at a time, and every step takes what the constants of the model
// say. A run is repeated exactly by the same program, machine, placement and seed.
//
// A program is a function of the world communicator, as for mpi.Run. It makes its
// calls from one goroutine a rank, tells by Comm.Compute how long it computes, and
// reads the time from Comm.Now. Ranks may share memory: only one of them runs at a
// time.
package virtual

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/mpi/inside"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// within is what package mpi does for this module alone.
var within = inside.MPI.(*inside.Functions[mpi.Comm, mpi.Request, mpi.Message, mpi.Option])

// Config says what to run on.
type Config struct {
	Machine   sim.Machine
	Placement sim.Placement // the FPGA of each rank
	Variant   string        // the protocol; "" is mpi.DefaultVariant
	Seed      uint64        // of the noise, if Costs.Noise is not 0
	Pooled    *bool         // whether request objects come from a memory pool; nil: as in the thesis, see Pooled
	Options   []mpi.Option
	Trace     bool
	Limit     time.Duration // virtual time at which to give up; 0: an hour
}

// Pooled reports whether the build of a protocol that the thesis measures has the
// memory pool of its section 3.9.
func Pooled(variant string) bool {
	return slices.Contains([]string{"ticket", "customized", "auto", "standing", "optimistic"}, variant)
}

// Result is what has come out.
type Result struct {
	Time     time.Duration     // when the last rank had returned
	Counters variants.Counters // of all ranks
	Ranks    []RankResult
	Work     sim.Work // of all ranks
	Messages uint64   // taken out of mailboxes, and by R5s
	Bytes    uint64   // written
	Totals   sim.Totals
	Links    []sim.LinkLoad
	Events   uint64
	Trace    []sim.Event
}

// RankResult is what has come out for one rank.
type RankResult struct {
	Time                   time.Duration // when it had returned
	Computed               time.Duration // of that, in Comm.Compute
	Receives, FastReceives uint64
}

// FastShare is the share of fast receives: those whose sender found them advertised
// when it posted its send (thesis ch. 4).
func (r *Result) FastShare() float64 {
	if r.Counters.Receives == 0 {
		return 0
	}
	return float64(r.Counters.FastReceives) / float64(r.Counters.Receives)
}

// ErrDeadlock is the error of a run in which nothing can happen any more.
var ErrDeadlock = errors.New("nothing can happen any more")

// DeadlockError tells what ranks that have not ended wait for.
type DeadlockError struct {
	At      time.Duration
	Ranks   int      // that have not ended
	Waiting []string // of the first of them
}

func (e *DeadlockError) Error() string {
	return fmt.Sprintf("virtual: %v after %v: %d ranks have not ended:\n  %s", ErrDeadlock, e.At, e.Ranks,
		strings.Join(e.Waiting, "\n  "))
}

// Unwrap returns ErrDeadlock.
func (e *DeadlockError) Unwrap() error { return ErrDeadlock }

// mostTold bounds the lines of a DeadlockError.
const mostTold = 16

// Run runs main as every rank and returns when all have ended. The error is that of
// mpi.Run, or a *DeadlockError.
func Run(cfg Config, main func(world *mpi.Comm) error) (*Result, error) {
	if len(cfg.Placement) == 0 {
		return nil, errors.New("virtual: there are no ranks: place at least one")
	}
	for rank, node := range cfg.Placement {
		if node < 0 || int(node) >= cfg.Machine.Torus.Nodes() {
			return nil, fmt.Errorf("virtual: rank %d is placed on FPGA %d, of which a torus of %v has %d", rank, node,
				cfg.Machine.Torus, cfg.Machine.Torus.Nodes())
		}
	}
	variant := cfg.Variant
	if variant == "" {
		variant = mpi.DefaultVariant
	}
	pooled := Pooled(variant)
	if cfg.Pooled != nil {
		pooled = *cfg.Pooled
	}
	s := sim.New(sim.Config{Machine: cfg.Machine, Placement: cfg.Placement, Seed: cfg.Seed, Pooled: pooled,
		Trace: cfg.Trace, Limit: cfg.Limit})
	n := len(cfg.Placement)
	opts := []mpi.Option{mpi.WithVariant(variant), mpi.WithThreadLevel(mpi.ThreadSingle)}
	if os.Getenv(env.Bands) == "" {
		opts = append(opts, mpi.WithBands(customized.Paper.Eager, customized.Paper.Hybrid))
	}
	opts = append(opts, cfg.Options...)
	ps, err := within.Over(n, func(i int) network.Fabric { return s.Endpoint(i) }, main, opts...)
	if err != nil {
		return nil, err
	}
	errs := make([]error, n)
	over := s.Run(func(i int) { errs[i] = ps[i].Run() })
	r := &Result{Totals: s.Totals(), Links: s.Links(), Events: s.Events(), Trace: s.Trace(),
		Ranks: make([]RankResult, n)}
	for i, p := range ps {
		c, e := p.Counters(), s.Endpoint(i)
		r.Counters.Add(c)
		r.Work.Add(e.Work())
		r.Ranks[i] = RankResult{Time: e.Finished(), Computed: e.Computed(), Receives: c.Receives,
			FastReceives: c.FastReceives}
		r.Time = max(r.Time, e.Finished())
	}
	r.Messages, r.Bytes = r.Totals.Delivered, r.Totals.Written
	if !over {
		return r, deadlock(s, ps)
	}
	return r, within.Primary(errs)
}

func deadlock(s *sim.Sim, ps []inside.Process) error {
	d := &DeadlockError{At: s.Now().Duration()}
	for i, p := range ps {
		if s.Ended(i) {
			continue
		}
		d.Ranks++
		p.Waiting(func(line string) {
			if len(d.Waiting) < mostTold {
				d.Waiting = append(d.Waiting, fmt.Sprintf("rank %d: %s", i, line))
			}
		})
	}
	return d
}
