// Package coll turns the collective operations of MPI into schedules: for one
// rank and one call, the list of what to send, receive, combine and copy, and
// where to wait.
//
//	coll.go       the operations and their arguments
//	schedule.go   schedules and their steps
//	select.go     which algorithm serves a call, and how to force another
//	table.go      the algorithms, and the table of sizes and ranks
//	file.go       rows of the table in a file
//	*.go          the algorithms: bcast.go, allreduce.go, ...
//	leaders.go    those for ranks on several hosts, made of the others
//
// A schedule knows nothing of protocols, locks or time. Whoever owns it performs
// its steps in order, without waiting except at steps that say so; package mpi
// does that for blocking, non-blocking and persistent calls alike, the tests for
// all ranks at once in one goroutine. All ranks must build their schedules from
// matching arguments and with the same selection.
//
// Buffers are bytes. Where a reduction cuts its buffers into pieces, it does so
// between elements, and the function that combines elements belongs to the
// owner.
package coll

// Collective is an operation of MPI's chapter on collective communication.
type Collective uint8

// The operations.
//
//exanet:c COLL_
const (
	Barrier Collective = iota
	Bcast
	Gather
	Gatherv
	Scatter
	Scatterv
	Allgather
	Allgatherv
	Alltoall
	Alltoallv
	Alltoallw
	Reduce
	Allreduce
	ReduceScatter
	ReduceScatterBlock
	Scan
	Exscan
	NeighborAllgather
	NeighborAllgatherv
	NeighborAlltoall
	NeighborAlltoallv
	NeighborAlltoallw
	Collectives // their number
)

var names = [Collectives]string{
	"barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
	"alltoall", "alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
	"scan", "exscan", "neighbor_allgather", "neighbor_allgatherv",
	"neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw",
}

func (c Collective) String() string {
	if c < Collectives {
		return names[c]
	}
	return "unknown"
}

// Blocks tells where in a buffer the block of each rank lies. The zero value
// has empty blocks.
type Blocks struct {
	Unit   int   // bytes that counts and displacements count
	N      int   // units of each block, if Counts is nil: they follow each other
	Counts []int // units of each block
	Displs []int // of each block; nil: they follow each other

	// Each, if it is not nil, is the blocks themselves, wherever they lie.
	Each [][]byte
}

// Size is the number of bytes of block i.
func (b *Blocks) Size(i int) int {
	switch {
	case b.Each != nil:
		return len(b.Each[i])
	case b.Counts == nil:
		return b.N * b.Unit
	}
	return b.Counts[i] * b.Unit
}

// Span returns where block i begins and ends, where blocks follow each other.
func (b *Blocks) Span(i int) (lo, hi int) {
	lo, n := b.at(i)
	return lo, lo + n
}

// Of returns block i of a buffer.
func (b *Blocks) Of(buf []byte, i int) []byte {
	if b.Each != nil {
		return b.Each[i]
	}
	if b.Size(i) == 0 { // it may be displaced to anywhere
		return nil
	}
	off, n := b.at(i)
	return buf[off : off+n]
}

// at returns the place of block i in the buffer. Without displacements that takes a sum:
// Schedule.offsets has them all.
func (b *Blocks) at(i int) (off, n int) {
	switch {
	case b.Counts == nil:
		n = b.N * b.Unit
		return i * n, n
	case b.Displs != nil:
		return b.Displs[i] * b.Unit, b.Counts[i] * b.Unit
	}
	for _, c := range b.Counts[:i] {
		off += c
	}
	return off * b.Unit, b.Counts[i] * b.Unit
}

// Call is one rank's call of a collective. Which of the fields count depends on
// the operation, as the arguments of MPI's functions do.
type Call struct {
	Op    Collective
	Rank  int // of the caller
	Ranks int
	Root  int

	// Send is the caller's input and Recv its output, except that Bcast has
	// its buffer in Recv at every rank. In place (MPI_IN_PLACE) the input is in
	// Recv too; at the root of a Scatter, the root's own block stays in Send.
	Send, Recv []byte
	InPlace    bool

	// SendBlocks and RecvBlocks divide the buffers among the ranks, or among
	// the neighbours.
	SendBlocks, RecvBlocks Blocks

	// Elem is the size in bytes of an element of a reduction, and Commute says
	// that the order of ranks does not matter to the operator.
	Elem    int
	Commute bool

	// Sources and Dests are the neighbours that the caller receives from and
	// sends to. A negative one is none (MPI_PROC_NULL): its block is left alone.
	// Cartesian says that they come in pairs, below and above in each dimension.
	Sources, Dests []int
	Cartesian      bool

	// Hosts tells where the ranks are; nil: leaders have nothing to do.
	Hosts *Hosts
}

// Bytes is the size by which the algorithm for a call is chosen. All ranks
// compute the same: the length of the vector of Bcast and of reductions, the size
// of a block of Gather, Scatter, Allgather and Alltoall, all blocks together of
// Allgatherv and of the scattering reductions. No such size is known to all ranks
// of the other operations, for which it is 0.
func (c *Call) Bytes() int {
	switch c.Op {
	case Bcast:
		return len(c.Recv)
	case Reduce, Allreduce, Scan, Exscan:
		return len(c.input())
	case Gather:
		if c.Rank == c.Root {
			return c.RecvBlocks.Size(0)
		}
		return len(c.Send)
	case Scatter:
		if c.Rank == c.Root {
			return c.SendBlocks.Size(0)
		}
		return len(c.Recv)
	case Allgather, Alltoall:
		return c.RecvBlocks.Size(0)
	case Allgatherv, ReduceScatter, ReduceScatterBlock:
		total := 0
		for i := range c.Ranks {
			total += c.RecvBlocks.Size(i)
		}
		return total
	}
	return 0
}

// Sized reports whether all ranks know a size of the operation's calls, see Call.Bytes.
func (c Collective) Sized() bool {
	switch c {
	case Bcast, Reduce, Allreduce, Scan, Exscan, Gather, Scatter, Allgather, Alltoall, Allgatherv, ReduceScatter,
		ReduceScatterBlock:
		return true
	}
	return false
}

// input is where the caller's contribution to a reduction is.
func (c *Call) input() []byte {
	if c.InPlace {
		return c.Recv
	}
	return c.Send
}
