package reproduce

import (
	"time"

	"github.com/exanet-mpi/exanet/bench"
	"github.com/exanet-mpi/exanet/mpi"
)

// benches are the benchmarks that rows ask for. A simulation repeats itself after few iterations.
var benches map[string]func(l *lab, s setup) (reading, error)

func init() {
	benches = map[string]func(l *lab, s setup) (reading, error){
		"latency":   onePair(bench.Latency, 20),
		"bw":        onePair(bench.Bandwidth, 6),
		"fastrecv":  onePair(bench.FastReceive, 20),
		"mpigraph":  graph,
		"halo":      func(l *lab, s setup) (reading, error) { return l.hpcgPart(s, true) },
		"dot":       func(l *lab, s setup) (reading, error) { return l.hpcgPart(s, false) },
		"progress":  progress,
		"pingpong":  pingpong,
		"barrier":   collective,
		"bcast":     collective,
		"reduce":    collective,
		"scatter":   collective,
		"allreduce": collective,
	}
}

// onePair runs a benchmark of package bench between two ranks.
func onePair(measure func(*mpi.Comm, bench.Sweep) ([]bench.Row, error), iterations int) func(l *lab,
	s setup) (reading, error) {
	return func(l *lab, s setup) (reading, error) {
		var f reading
		r, err := l.run(s, func(c *mpi.Comm) error {
			rows, err := measure(c, bench.Sweep{Sizes: []int{s.size}, Iterations: iterations, Warmup: 3, Repeat: 1})
			if c.Rank() == 0 && err == nil {
				f.value = rows[0].Value
			}
			return err
		})
		if err != nil {
			return f, err
		}
		f.messages, f.receives, f.fast = r.Messages, r.Counters.Receives, r.Counters.FastReceives
		return f, nil
	}
}

// collective measures a collective as OSU does: the mean over iterations and ranks of the time in
// a call, with a barrier after each. Receives are counted in the calls only.
func collective(l *lab, s setup) (reading, error) {
	iterations, warmup := 10, 2
	switch {
	case s.ranks >= manyRanks:
		iterations, warmup = 1, 0
	case s.ranks > 1000:
		iterations, warmup = 2, 1
	}
	times := make([]time.Duration, s.ranks)
	received, fast := make([]uint64, s.ranks), make([]uint64, s.ranks)
	// Ranks run one at a time, so they may share what nobody looks at.
	in, out := make([]float32, s.size/4), make([]float32, s.size/4)
	one := make([]byte, s.size)
	var more []byte
	if s.bench == "scatter" {
		more = make([]byte, s.size*s.ranks)
	}
	call := map[string]func(c *mpi.Comm) error{
		"barrier":   (*mpi.Comm).Barrier,
		"bcast":     func(c *mpi.Comm) error { return mpi.Bcast(c, one, 0) },
		"reduce":    func(c *mpi.Comm) error { return mpi.Reduce(c, in, out, mpi.Sum, 0) },
		"scatter":   func(c *mpi.Comm) error { return mpi.Scatter(c, more, one, 0) },
		"allreduce": func(c *mpi.Comm) error { return mpi.Allreduce(c, in, out, mpi.Sum) },
	}[s.bench]
	count := s.ranks <= 1000
	r, err := l.run(s, func(c *mpi.Comm) error {
		me := c.Rank()
		if s.ranks >= manyRanks {
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		for i := range warmup + iterations {
			var before map[string]uint64
			if count && i >= warmup {
				before = c.Counters()
			}
			start := c.Now()
			if err := call(c); err != nil {
				return err
			}
			if i >= warmup {
				times[me] += c.Now() - start
				if count {
					after := c.Counters()
					received[me] += after["receives"] - before["receives"]
					fast[me] += after["fast_receives"] - before["fast_receives"]
				}
			}
			if s.bench == "barrier" {
				continue
			}
			if err := c.Barrier(); err != nil {
				return err
			}
		}
		return nil
	}, mpi.WithCollectives(algorithms(s)))
	if err != nil {
		return reading{}, err
	}
	f := reading{messages: r.Messages}
	var sum time.Duration
	for i := range times {
		sum += times[i]
		f.receives += received[i]
		f.fast += fast[i]
	}
	f.value = microseconds(sum) / float64(iterations*s.ranks)
	return f, nil
}

// algorithms are those of the thesis's chapter 4, whatever this project finds fastest elsewhere.
func algorithms(s setup) string {
	switch {
	case s.bench == "barrier":
		return "barrier:dissemination"
	case s.bench == "reduce" && s.size >= 2048:
		return "barrier:dissemination,reduce:rabenseifner"
	case s.bench == "allreduce" && s.size > 2048:
		return "barrier:dissemination,allreduce:rabenseifner"
	case s.bench == "allreduce":
		return "barrier:dissemination,allreduce:recursive_doubling"
	}
	return "barrier:dissemination," + s.bench + ":binomial"
}
