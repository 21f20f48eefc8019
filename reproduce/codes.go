package reproduce

import (
	"math"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/skeleton"
)

// account is how a skeleton's time was spent: means over the ranks, for an iteration, in
// microseconds.
type account struct {
	total, communication float64
	receives, fast       uint64
	averageBytes         float64 // of a message with data
}

func (a account) share() float64 { return a.communication / a.total }

// iterations of a skeleton that are simulated, and of a quick run. An iteration repeats the one before.
var iterations = map[string][2]int{
	"LU": {3, 1}, "MG": {2, 1}, "IS": {1, 1}, "SP": {3, 1}, "HPCG": {3, 1}, "EAM": {10, 4}, "Chute": {10, 4},
}

type codeRun struct {
	setup
	point float64
}

// code runs a skeleton with so many nanoseconds a point.
func (l *lab) code(s setup, point float64) (account, error) {
	return remember(l, codeRun{s, point}, func() (account, error) { return l.runCode(s, point) })
}

func (l *lab) runCode(s setup, point float64) (account, error) {
	code, err := skeleton.Named(s.bench)
	if err != nil {
		return account{}, err
	}
	n := iterations[s.bench][0]
	if l.quick {
		n = iterations[s.bench][1]
	}
	bytes := code.Buffer(s.ranks)
	send, recv := make([]byte, bytes), make([]byte, bytes)
	times := make([]skeleton.Times, s.ranks)
	r, err := l.run(s, func(c *mpi.Comm) (err error) {
		times[c.Rank()], err = code.Run(c, skeleton.Options{Point: point, Warmup: 1, Iterations: n, Send: send,
			Recv: recv})
		return err
	})
	if err != nil {
		return account{}, err
	}
	var total, communication time.Duration
	for _, t := range times {
		total += t.Total
		communication += t.Communication()
	}
	each := float64(n * s.ranks)
	a := account{
		total: microseconds(total) / each, communication: microseconds(communication) / each,
		receives: r.Counters.Receives, fast: r.Counters.FastReceives,
	}
	if r.Counters.Receives > 0 {
		a.averageBytes = float64(r.Bytes) / float64(r.Counters.Receives)
	}
	return a, nil
}

// profiler is the variant whose communication share the thesis states (chapter 4: the profiler's
// source is that of the third variant).
const profiler = "ticket"

// pointFor is the computation of a point for which the communication takes a share of the time: a
// calibration of the skeletons, not of the fabric.
func (l *lab) pointFor(s setup, share float64) (float64, error) {
	s.variant = profiler
	return remember(l, struct {
		setup
		share float64
	}{s, share}, func() (float64, error) { return l.findPoint(s, share) })
}

func (l *lab) findPoint(s setup, share float64) (float64, error) {
	code, err := skeleton.Named(s.bench)
	if err != nil {
		return 0, err
	}
	each := code.Work(s.ranks) / float64(s.ranks)
	none, err := l.code(s, 0)
	if err != nil {
		return 0, err
	}
	// The time of communication that no computation stretches gives the first guess; waiting for others
	// grows with the computation.
	least := none.communication * (1 - share) / share / each * 1e3
	low, high := math.Log(least/4), math.Log(least*64)
	steps := 9
	if l.quick {
		steps = 6
	}
	var point float64
	for range steps {
		point = math.Exp((low + high) / 2)
		a, err := l.code(s, point)
		if err != nil {
			return 0, err
		}
		if math.Abs(a.share()/share-1) < 0.02 {
			break
		}
		if a.share() > share {
			low = math.Log(point)
		} else {
			high = math.Log(point)
		}
	}
	return point, nil
}

// accounts are a skeleton's with two variants, with the computation of a share.
func (s *sheet) accounts(name string, ranks int, share float64, a, b string) (x, y account) {
	u := setup{bench: name, topology: inOrder, ranks: ranks}
	if s.err != nil {
		return
	}
	point, err := s.pointFor(u, share)
	if err != nil {
		s.err = err
		return
	}
	return s.atPoint(u, point, a, b)
}

func (s *sheet) atPoint(u setup, point float64, a, b string) (x, y account) {
	u.variant = a
	if x, s.err = s.code(u, point); s.err != nil {
		return
	}
	u.variant = b
	y, s.err = s.code(u, point)
	return x, y
}

// hpcgPart measures the halo exchange or the Allreduce of HPCG.
func (l *lab) hpcgPart(s setup, halo bool) (reading, error) {
	type parts struct {
		halo, dot float64
	}
	key := s
	key.bench = "hpcg parts"
	p, err := remember(l, key, func() (p parts, err error) {
		bytes := skeleton.HPCG.Buffer(s.ranks)
		send, recv := make([]byte, bytes), make([]byte, bytes)
		var sums [2]time.Duration
		_, err = l.run(s, func(c *mpi.Comm) error {
			t, err := skeleton.TimeHPCG(c, skeleton.Options{Point: hpcgPoint, Warmup: 1, Iterations: 4, Send: send,
				Recv: recv}, s.size)
			sums[0] += t.Halo
			sums[1] += t.Allreduce
			return err
		})
		p.halo, p.dot = microseconds(sums[0])/float64(s.ranks), microseconds(sums[1])/float64(s.ranks)
		return p, err
	})
	if err != nil {
		return reading{}, err
	}
	f := reading{value: p.dot}
	if halo {
		f.value = p.halo
	}
	return f, nil
}

// hpcgPoint is the computation that separates HPCG's communication, so that all ranks come to a call
// at the same time but not out of the one before: nanoseconds a point. Its size does not matter.
const hpcgPoint = 1
