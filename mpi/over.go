package mpi

import (
	"errors"

	"github.com/exanet-mpi/exanet/variants"
)

// Fabric is what Over takes: one rank's end of a network.
type Fabric = fabric

// Process is a rank of Over.
type Process struct {
	k    *rank
	main func(*Comm) error
}

// Over makes n ranks over fabrics of the caller, who runs each of them by its Run:
// all at the same time, in whatever way the fabrics wait. Over is for networks that
// schedule their ranks themselves (package virtual); others use Run.
func Over(n int, end func(rank int) Fabric, main func(world *Comm) error, opts ...Option) ([]*Process, error) {
	o, err := options(append([]Option{WithDevice(devicePrototype)}, opts...))
	if err != nil {
		return nil, err
	}
	if main == nil {
		return nil, initError(errors.New("there is no function for the ranks to run"), "")
	}
	ps := make([]*Process, n)
	for i := range ps {
		f := end(i)
		k, err := newRank(f, o)
		if err != nil {
			return nil, initError(err, "")
		}
		k.stats = nil // their times are not those of the fabric
		if k.Virtual != nil {
			k.Virtual.Meter(k.proto.Work())
		}
		ps[i] = &Process{k, main}
	}
	return ps, nil
}

// Run runs the rank to its end. Its error is that of its main function, or of
// Finalize; a panic is an error as well.
func (p *Process) Run() error { return p.k.live(p.main) }

// Counters returns what the rank has counted.
func (p *Process) Counters() *variants.Counters { return p.k.proto.Counters() }

// Waiting calls f with a line for everything of the rank that has not completed.
func (p *Process) Waiting(f func(line string)) { p.k.proto.Waiting(f) }

// Primary joins the errors of ranks that did not merely notice that another has
// failed, unless there are no others.
func Primary(errs []error) error { return primary(errs) }
