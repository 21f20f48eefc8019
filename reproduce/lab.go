package reproduce

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
	"github.com/exanet-mpi/exanet/variants/customized"
)

// Topologies are where the ranks of a run are.
const (
	sameQFDB  = "same-qfdb"
	hops3     = "3-hops"
	hops5     = "5-hops"
	inOrder   = "ordered"
	shuffled  = "shuffled"
	hostfiles = 3 // shuffles over which a figure is averaged
)

// setup is one simulated benchmark: one size, one variant.
type setup struct {
	bench    string
	variant  string
	topology string
	seed     uint64 // of a shuffle
	ranks    int
	perNode  int // 0: one rank an FPGA
	size     int
	torus    sim.Torus // zero: that of the prototype

	order      string // of progress, as package bench names them
	background bool   // of progress: not in calls of MPI alone
}

// reading is what came out.
type reading struct {
	value    float64 // microseconds, or MB/s of bw and mpigraph
	other    float64 // of mpigraph, the bandwidth of receives
	receives uint64  // of what is measured, in messages of the long protocol and eager ones
	fast     uint64
	messages uint64 // control messages of the whole run
	crossed  uint64 // of pingpong: receives whose RTR and RTS crossed
	env      uint64 // of pingpong: messages that say a write has ended
}

// lab makes runs, each once, whoever asks for them.
type lab struct {
	costs sim.Costs
	quick bool

	mu   sync.Mutex
	runs map[any]*memo
	big  sync.Mutex // of a run of many ranks, which takes gigabytes
}

// manyRanks is from how many on a run is made alone.
const manyRanks = 8192

type memo struct {
	once  sync.Once
	value any
	err   error
}

func newLab(costs sim.Costs, quick bool) *lab {
	return &lab{costs: costs, quick: quick, runs: map[any]*memo{}}
}

// remember returns what make makes for a key, making it at the first time.
func remember[T any](l *lab, key any, make func() (T, error)) (T, error) {
	l.mu.Lock()
	m := l.runs[key]
	if m == nil {
		m = new(memo)
		l.runs[key] = m
	}
	l.mu.Unlock()
	m.once.Do(func() { m.value, m.err = make() })
	v, _ := m.value.(T)
	return v, m.err
}

// machine is the simulated machine of a setup, and where its ranks are.
func (l *lab) machine(s setup) (m sim.Machine, p sim.Placement, err error) {
	m = sim.Prototype()
	m.Costs = l.costs
	if s.torus != (sim.Torus{}) {
		m.Torus = s.torus
	}
	each := max(s.perNode, 1)
	switch s.topology {
	case sameQFDB:
		p = m.SameQFDB()
	case hops3:
		p, err = m.Apart(3)
	case hops5:
		p, err = m.Apart(5)
	case inOrder:
		p, err = m.Ordered(s.ranks, each)
	case shuffled:
		p, err = m.Shuffled(s.ranks, each, s.seed)
	default:
		err = fmt.Errorf("unknown topology %q", s.topology)
	}
	if err == nil && len(p) != s.ranks {
		err = fmt.Errorf("%s has %d ranks, not %d", s.topology, len(p), s.ranks)
	}
	return m, p, err
}

func (l *lab) run(s setup, main func(c *mpi.Comm) error, opts ...mpi.Option) (*virtual.Result, error) {
	m, p, err := l.machine(s)
	if err != nil {
		return nil, err
	}
	if s.ranks >= manyRanks {
		l.big.Lock()
		defer l.big.Unlock()
		runtime.GC() // of what the last one has left
	}
	variant := s.variant
	switch variant {
	case sendInitiated:
		variant = writeThree // whose receives name no source
	case customizedName:
		opts = append(opts, mpi.WithBands(customized.Paper.Eager, customized.Paper.Hybrid))
	}
	r, err := virtual.Run(virtual.Config{Machine: m, Placement: p, Variant: variant, Seed: 1, Options: opts}, main)
	if err != nil {
		return nil, fmt.Errorf("%s with %s, %d ranks %s, %d bytes: %w", s.bench, s.variant, s.ranks, s.topology, s.size,
			err)
	}
	return r, nil
}

// measure makes a run, or remembers it.
func (l *lab) measure(s setup) (reading, error) {
	if s.topology == shuffled && s.seed == 0 {
		return l.overShuffles(s)
	}
	return remember(l, s, func() (reading, error) {
		b, ok := benches[s.bench]
		if !ok {
			return reading{}, fmt.Errorf("unknown benchmark %q", s.bench)
		}
		return b(l, s)
	})
}

// overShuffles is the mean over several shuffled host files.
func (l *lab) overShuffles(s setup) (sum reading, err error) {
	for seed := range uint64(hostfiles) {
		s.seed = seed + 1
		f, err := l.measure(s)
		if err != nil {
			return sum, err
		}
		sum.value += f.value / hostfiles
		sum.receives += f.receives
		sum.fast += f.fast
	}
	return sum, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / 1e3 }

// sheet is what one row is worked out on: it keeps the first error, after which figures are 0.
type sheet struct {
	*lab
	err error
}

func (s *sheet) of(u setup) reading {
	if s.err != nil {
		return reading{}
	}
	f, err := s.measure(u)
	s.err = err
	return f
}

// percent is how much a is above b.
func percent(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return (a/b - 1) * 100
}

// against is, for each size, how much a's figure is above b's, in percent.
func (s *sheet) against(u setup, sizes []int, a, b string) (list []float64) {
	for _, size := range sizes {
		x, y := u, u
		x.variant, y.variant = a, b
		x.size, y.size = size, size
		list = append(list, percent(s.of(x).value, s.of(y).value))
	}
	return list
}

// perRanks does that for each number of ranks.
func (s *sheet) perRanks(u setup, ranks, sizes []int, a, b string) (list []group) {
	for _, n := range ranks {
		u.ranks = n
		g := group{values: s.against(u, sizes, a, b)}
		if len(ranks) > 1 {
			g.name = fmt.Sprintf("%d ranks", n)
		}
		list = append(list, g)
	}
	return list
}

// sizes are the powers of two from one to the other; in a quick run every second of many.
func (s *sheet) sizes(from, to int) (list []int) {
	for n := from; n <= to; n *= 2 {
		list = append(list, n)
	}
	if s.quick && len(list) > 3 {
		var some []int
		for i := 0; i < len(list); i += 2 {
			some = append(some, list[i])
		}
		list = some
	}
	return list
}

// eager are the sizes of the eager protocol that the figures show.
func (s *sheet) eager(least int) []int {
	list := s.sizes(max(least, 1), 32)
	if least == 0 {
		list = append([]int{0}, list...)
	}
	return list
}
