// Package bench measures what the MPI of this project does, in the terms of
// the OSU micro-benchmarks, so that the figures can be put next to those of
// any other MPI:
//
//	Latency    osu_latency: blocking ping-pong, half the round trip
//	Bandwidth  osu_bw: windows of 64 sends, and a short answer to each
//	Barrier    osu_barrier: mean time of a barrier
//	Collective osu_allreduce and its like
//	Overlap    what a non-blocking Allreduce hides behind a computation
//	Idle       CPU time of a rank that is blocked in a call
//
// Each of them is a function that all ranks of a communicator call; rank 0
// gets the figures. They print nothing: see WriteOSU. What the machine could do
// at best, without any MPI, is measured by package bench/floor.
package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// largeMessage is the size in bytes above which the OSU benchmarks make fewer
// iterations.
const largeMessage = 8192

// Tags of the messages, as in the OSU programs.
const (
	tagData   = 100
	tagAnswer = 101
	tagSettle = 102 // not in OSU
)

// Sweep says which sizes to measure and how often.
type Sweep struct {
	Sizes      []int // bytes of a message
	Iterations int   // timed iterations for each size; 0: as the OSU benchmark has it for that size
	Warmup     int   // untimed ones before; below 0: likewise
	Repeat     int   // sweeps over all sizes; a Row is the median of them

	// Settle is how long the pair exchanges messages before anything else: the
	// scheduler may start both processes on one core, and takes milliseconds to
	// move them apart, which is longer than the OSU benchmarks warm up.
	Settle time.Duration
}

// Row is the figure of one size.
type Row struct {
	Size    int       `json:"size"`    // bytes
	Value   float64   `json:"value"`   // the median of Repeats, in the benchmark's unit
	Repeats []float64 `json:"repeats"` // one figure for each sweep

	// Allocations is how many objects rank 0 has allocated for each message of Latency,
	// in the last sweep.
	Allocations float64 `json:"allocations,omitzero"`
}

// counts are the timed and untimed iterations of one size.
type counts struct{ iterations, warmup int }

func (s Sweep) counts(size int, small, large counts) counts {
	n := small
	if size > largeMessage {
		n = large
	}
	if s.Iterations > 0 {
		n.iterations = s.Iterations
	}
	if s.Warmup >= 0 {
		n.warmup = s.Warmup
	}
	return n
}

// pair is this rank's view of a benchmark between the first and the last rank.
type pair struct {
	comm       *mpi.Comm
	first      bool
	last       bool
	peer       int
	send, recv []byte
}

// sweep runs measure for every size, Repeat times over all sizes, so that a
// disturbance that lasts for a while does not fall on one size alone. measure
// is called on the first and the last rank; the others wait in a barrier.
func (s Sweep) sweep(c *mpi.Comm, measure func(p *pair, size int) (float64, error)) ([]Row, error) {
	if c.Size() < 2 {
		return nil, fmt.Errorf("%w: this benchmark needs two ranks or more", mpi.ErrRank)
	}
	largest := slices.Max(s.Sizes)
	p := &pair{comm: c, first: c.Rank() == 0, last: c.Rank() == c.Size()-1, peer: c.Size() - 1}
	if p.last {
		p.peer = 0
	}
	if p.first || p.last {
		p.send, p.recv = make([]byte, largest), make([]byte, largest)
		fill(p.send, 'a')
		fill(p.recv, 'b')
	}
	if p.first || p.last {
		if err := p.settle(s.Settle); err != nil {
			return nil, err
		}
	}
	rows := make([]Row, len(s.Sizes))
	for range s.Repeat {
		for i, size := range s.Sizes {
			if err := c.Barrier(); err != nil {
				return nil, err
			}
			if !p.first && !p.last {
				continue
			}
			v, err := measure(p, size)
			if err != nil {
				return nil, fmt.Errorf("messages of %d bytes: %w", size, err)
			}
			rows[i].Size = size
			rows[i].Repeats = append(rows[i].Repeats, v)
		}
	}
	if err := c.Barrier(); err != nil {
		return nil, err
	}
	if !p.first {
		return nil, nil
	}
	for i := range rows {
		rows[i].Value = Median(rows[i].Repeats)
	}
	return rows, nil
}

// settle exchanges short messages for so long. The first rank has the clock.
func (p *pair) settle(d time.Duration) error {
	more := []byte{1}
	for start := time.Now(); more[0] == 1; {
		if p.last {
			if _, err := mpi.Recv(p.comm, more, p.peer, tagSettle); err != nil {
				return err
			}
		} else if time.Since(start) >= d {
			more[0] = 0
		}
		if err := mpi.Send(p.comm, more, p.peer, tagSettle); err != nil {
			return err
		}
		if p.first {
			if _, err := mpi.Recv(p.comm, more, p.peer, tagSettle); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill touches every byte: an untouched page costs a fault in the timed part.
func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}

// Median returns the middle of v, or the mean of the two middle values; 0 of
// nothing.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
