// Package skeleton has the communication of well-known codes without their numerics:
//
//	LU, MG, IS, SP   of the NAS parallel benchmarks
//	HPCG             the preconditioned conjugate gradients
//	EAM, Chute       of LAMMPS' benchmarks
//
// Which rank sends how many bytes to which other, with which calls and in which order, is
// after the published descriptions of these codes. What lies between the messages is work: so many
// points of a grid, or atoms, each of which takes Options.Point. Under package virtual that costs nothing
// to run; on a host without work, messages can be counted.
package skeleton

import (
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// Options say how a code is run.
type Options struct {
	Point              float64 // nanoseconds of computation for a point
	Warmup, Iterations int

	// Send and Recv are for all messages of this rank, of Code.Buffer bytes at least. Ranks that
	// run one at a time may share them, since what is in them does not matter; nil: of its own.
	Send, Recv []byte
}

// rank is one rank's run.
type rank struct {
	comm    *mpi.Comm
	point   float64
	out, in []byte

	computed  time.Duration
	remainder float64 // of a nanosecond
	reqs      []*mpi.Request
}

// Times is where a rank's time has gone.
type Times struct{ Total, Compute time.Duration }

// Communication is the time inside MPI, waiting included.
func (t Times) Communication() time.Duration { return t.Total - t.Compute }

// Code is one of the codes.
type Code struct {
	Name  string
	About string // what it was set to, for reports

	// Check refuses numbers of ranks.
	Check func(ranks int) error
	// Buffer is the bytes of the longest message, or of all in one collective call.
	Buffer func(ranks int) int
	// Work is the points of an iteration, of all ranks together.
	Work func(ranks int) float64

	// begin returns what one iteration of a rank does.
	begin func(r *rank) (step func() error, err error)
}

// Codes are all of them.
func Codes() []*Code { return []*Code{LU, MG, IS, SP, HPCG, EAM, Chute} }

// Named returns a code.
func Named(name string) (*Code, error) {
	for _, c := range Codes() {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("there is no skeleton %q", name)
}

// Run runs a code on the ranks of comm, and returns where this rank's time has gone after the warm-up.
func (c *Code) Run(comm *mpi.Comm, o Options) (Times, error) {
	if err := c.Check(comm.Size()); err != nil {
		return Times{}, fmt.Errorf("%s: %w", c.Name, err)
	}
	r := &rank{comm: comm, point: o.Point, out: o.Send, in: o.Recv}
	if n := c.Buffer(comm.Size()); r.out == nil {
		r.out, r.in = make([]byte, n), make([]byte, n)
	}
	step, err := c.begin(r)
	if err != nil {
		return Times{}, err
	}
	var from Times
	for i := range o.Warmup + o.Iterations {
		if i == o.Warmup {
			if err := comm.Barrier(); err != nil {
				return Times{}, err
			}
			from = Times{comm.Now(), r.computed}
		}
		if err := step(); err != nil {
			return Times{}, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return Times{comm.Now() - from.Total, r.computed - from.Compute}, nil
}

// work lets the time of so many points go by. What is less than a nanosecond is carried over.
func (r *rank) work(points float64) {
	r.remainder += points * r.point
	d := time.Duration(r.remainder)
	r.remainder -= float64(d)
	if d > 0 {
		r.computed += d
		r.comm.Compute(d)
	}
}

const tag = 7

func (r *rank) send(bytes, dest int) error {
	if dest < 0 {
		return nil
	}
	return mpi.Send(r.comm, r.out[:bytes], dest, tag)
}

func (r *rank) recv(bytes, source int) error {
	if source < 0 {
		return nil
	}
	_, err := mpi.Recv(r.comm, r.in[:bytes], source, tag)
	return err
}

// isend and irecv begin what wait ends.
func (r *rank) isend(bytes, dest int) error {
	if dest < 0 {
		return nil
	}
	q, err := mpi.Isend(r.comm, r.out[:bytes], dest, tag)
	if err == nil {
		r.reqs = append(r.reqs, q)
	}
	return err
}

func (r *rank) irecv(bytes, source int) error {
	if source < 0 {
		return nil
	}
	q, err := mpi.Irecv(r.comm, r.in[:bytes], source, tag)
	if err == nil {
		r.reqs = append(r.reqs, q)
	}
	return err
}

func (r *rank) wait() error {
	err := mpi.WaitAll(r.reqs...)
	r.reqs = r.reqs[:0]
	return err
}

// all calls functions until one fails.
func all(steps ...func() error) error {
	for _, f := range steps {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// double is the bytes of a float64.
const double = 8
