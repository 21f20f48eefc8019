package skeleton

import (
	"github.com/exanet-mpi/exanet/mpi"
)

// IS is NAS IS: keys are sorted into buckets. In an iteration, the counts of all 1024 buckets and 5 values
// for the verification are summed over the ranks, every rank tells every other how many
// keys it will get, and the keys go there, spread evenly.
var IS = &Code{
	Name:   "IS",
	About:  "class C as NAS has it: 2^27 keys of 4 bytes",
	Check:  powerOfTwo,
	Work:   func(int) float64 { return isKeys },
	Buffer: func(ranks int) int { return isKeys / ranks * 4 },
	begin: func(r *rank) (func() error, error) {
		ranks := r.comm.Size()
		counts, sums := make([]int32, isBuckets+5), make([]int32, isBuckets+5)
		out, in := make([]int32, ranks), make([]int32, ranks)
		keys := isKeys / ranks
		bytes, displs := make([]int, ranks), make([]int, ranks)
		for i := range bytes {
			bytes[i], displs[i] = keys/ranks*4, i*(keys/ranks*4)
		}
		return func() error {
			r.work(float64(keys) / 2) // sort the own keys into buckets
			if err := mpi.Allreduce(r.comm, counts, sums, mpi.Sum); err != nil {
				return err
			}
			if err := mpi.Alltoall(r.comm, out, in); err != nil {
				return err
			}
			if err := mpi.Alltoallv(r.comm, r.out, bytes, displs, r.in, bytes, displs); err != nil {
				return err
			}
			r.work(float64(keys) / 2) // rank the keys that have come
			return nil
		}, nil
	},
}

const isKeys, isBuckets = 1 << 27, 1024
