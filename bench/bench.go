// Package bench measures what the MPI of this project does, in the terms of
// the OSU micro-benchmarks, so that the figures can be put next to those of
// any other MPI:
//
//	Latency      osu_latency: blocking ping-pong, half the round trip
//	MultiLatency osu_multi_lat: the same in pairs
//	Bandwidth    osu_bw: windows of 64 sends, and a short answer to each
//	BothWays     osu_bibw: the same in both directions at once
//	MessageRate  osu_mbw_mr: bandwidth and message rate of pairs
//	Barrier      osu_barrier: mean time of a barrier
//	Collective   osu_allreduce and its like
//	InTurn       a collective in several ways
//	FastReceive  the thesis's own: a send whose receive is known to be posted
//	Graph        mpiGraph: bandwidth of all ranks at once, at every distance
//	Halo         the exchange of a 27-point stencil
//	Overlap      what a non-blocking Allreduce hides behind a computation
//	Progress     how far a message gets while its ranks compute (Small and Yuan)
//	Idle         CPU time of a rank that is blocked in a call
//
// Each of them is a function that all ranks of a communicator call; rank 0
// gets the figures. They print nothing: see WriteOSU. The time is that of Comm.Now, virtual in
// a simulation. What the machine could do
// at best, without any MPI, is measured by package bench/floor.
package bench

import (
	"slices"
	"time"
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

	// AnySource has Latency and Progress receive from any source. Protocols whose receivers advertise then leave the
	// beginning to the sender: RTS, CTS, write.
	AnySource bool

	// TCP has a connection carry the messages of Latency and Bandwidth, by plain calls, with no MPI above it: about the
	// least that an MPI over TCP can take between these ranks.
	TCP bool
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
