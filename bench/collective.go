package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/exanet-mpi/exanet/mpi"
)

// operands are the buffers of a collective benchmark, of which each call has what it
// needs. Reductions are of float32, as in the OSU programs.
type operands struct {
	root      int
	one, more []byte // a block, and a block for each rank
	in, out   []byte
	counts    []int // of v-forms: the same block for each rank
	displs    []int
	parts     []int // of the vector, for each rank
	sumIn     []float32
	sumOut    []float32
}

// collectiveCalls are the calls that Collective measures, with the size of OSU:
// the bytes of the vector, or of the block of one rank.
var collectiveCalls = map[string]func(c *mpi.Comm, o *operands) error{
	"allgatherv": func(c *mpi.Comm, o *operands) error { return mpi.Allgatherv(c, o.one, o.more, o.counts, o.displs) },
	"alltoallv": func(c *mpi.Comm, o *operands) error {
		return mpi.Alltoallv(c, o.in, o.counts, o.displs, o.out, o.counts, o.displs)
	},
	"exscan": func(c *mpi.Comm, o *operands) error { return mpi.Exscan(c, o.sumIn, o.sumOut, mpi.Sum) },
	"gatherv": func(c *mpi.Comm, o *operands) error {
		return mpi.Gatherv(c, o.one, o.more, o.counts, o.displs, o.root)
	},
	"scatterv": func(c *mpi.Comm, o *operands) error {
		return mpi.Scatterv(c, o.more, o.counts, o.displs, o.one, o.root)
	},
	"allgather": func(c *mpi.Comm, o *operands) error { return mpi.Allgather(c, o.one, o.more) },
	"allreduce": func(c *mpi.Comm, o *operands) error { return mpi.Allreduce(c, o.sumIn, o.sumOut, mpi.Sum) },
	"alltoall":  func(c *mpi.Comm, o *operands) error { return mpi.Alltoall(c, o.in, o.out) },
	"bcast":     func(c *mpi.Comm, o *operands) error { return mpi.Bcast(c, o.one, o.root) },
	"gather":    func(c *mpi.Comm, o *operands) error { return mpi.Gather(c, o.one, o.more, o.root) },
	"reduce":    func(c *mpi.Comm, o *operands) error { return mpi.Reduce(c, o.sumIn, o.sumOut, mpi.Sum, o.root) },
	"reduce_scatter": func(c *mpi.Comm, o *operands) error {
		return mpi.ReduceScatter(c, o.sumIn, o.sumOut[:o.parts[c.Rank()]], o.parts, mpi.Sum)
	},
	"reduce_scatter_block": func(c *mpi.Comm, o *operands) error {
		n := len(o.sumIn) / c.Size()
		return mpi.ReduceScatterBlock(c, o.sumIn[:n*c.Size()], o.sumOut[:n], mpi.Sum)
	},
	"scan":    func(c *mpi.Comm, o *operands) error { return mpi.Scan(c, o.sumIn, o.sumOut, mpi.Sum) },
	"scatter": func(c *mpi.Comm, o *operands) error { return mpi.Scatter(c, o.more, o.one, o.root) },
}

// Collectives returns the names of the collectives that Collective measures.
func Collectives() []string {
	var names []string
	for name := range collectiveCalls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Collective measures the time of a collective for every size, as osu_allreduce
// and its like do: the mean over iterations, between which there is a barrier,
// and over the ranks, in microseconds. Rank 0 gets the rows.
func Collective(c *mpi.Comm, name string, s Sweep) ([]Row, error) {
	call := collectiveCalls[name]
	if call == nil {
		return nil, fmt.Errorf("there is no benchmark of the collective %q", name)
	}
	return s.collective(c, func(size int, n counts) (float64, error) {
		o := newOperands(name, size, c.Size(), c.Rank() == 0)
		return timed(c, n, func() error { return call(c, o) })
	})
}

// newOperands makes the buffers for a collective, at its root or elsewhere.
func newOperands(name string, size, ranks int, root bool) *operands {
	o := new(operands)
	plain := strings.TrimSuffix(name, "v")
	switch plain {
	case "alltoall":
		o.in, o.out = make([]byte, size*ranks), make([]byte, size*ranks)
	case "bcast":
		o.one = make([]byte, size)
	case "allgather", "gather", "scatter":
		o.one = make([]byte, size)
		if root || plain == "allgather" {
			o.more = make([]byte, size*ranks)
		}
	default:
		o.sumIn, o.sumOut = make([]float32, size/4), make([]float32, size/4)
	}
	if plain != name {
		for i := range ranks {
			o.counts, o.displs = append(o.counts, size), append(o.displs, i*size)
		}
	}
	if name == "reduce_scatter" {
		for i := range ranks {
			n := len(o.sumIn) / ranks
			if i < len(o.sumIn)%ranks {
				n++
			}
			o.parts = append(o.parts, n)
		}
	}
	for _, b := range [][]byte{o.one, o.more, o.in, o.out} {
		fill(b, 1)
	}
	for i := range o.sumIn {
		o.sumIn[i], o.sumOut[i] = 1, 0
	}
	return o
}

// collective calls measure for every size, Repeat times over all sizes, and
// takes the mean over the ranks.
func (s Sweep) collective(c *mpi.Comm, measure func(size int, n counts) (float64, error)) ([]Row, error) {
	rows := make([]Row, len(s.Sizes))
	mean := make([]float64, 1)
	for range s.Repeat {
		for i, size := range s.Sizes {
			us, err := measure(size, s.counts(size, counts{1000, 200}, counts{100, 10}))
			if err == nil {
				err = mpi.Reduce(c, []float64{us}, mean, mpi.Sum, 0)
			}
			if err != nil {
				return nil, fmt.Errorf("%d bytes: %w", size, err)
			}
			rows[i].Size = size
			rows[i].Repeats = append(rows[i].Repeats, mean[0]/float64(c.Size()))
		}
	}
	if c.Rank() != 0 {
		return nil, nil
	}
	for i := range rows {
		rows[i].Value = Median(rows[i].Repeats)
	}
	return rows, nil
}

// timed returns the mean time of a call in microseconds.
func timed(c *mpi.Comm, n counts, call func() error) (float64, error) {
	var sum time.Duration
	for i := range n.warmup + n.iterations {
		start := c.Now()
		if err := call(); err != nil {
			return 0, err
		}
		if i >= n.warmup {
			sum += c.Now() - start
		}
		if err := c.Barrier(); err != nil {
			return 0, err
		}
	}
	return microseconds(sum) / float64(n.iterations), nil
}
