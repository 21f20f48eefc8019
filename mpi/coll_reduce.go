package mpi

import (
	"fmt"
	"reflect"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// reduction describes a reduction of send, or of recv if that is in place.
func reduction[T Element](c *Comm, name string, which coll.Collective, send, recv []T, op Op) (*collective, error) {
	x, err := invokeOn(c, name, which, recv)
	if err != nil {
		return x, err
	}
	x.Elem = max(1, x.Elem)
	x.InPlace = send == nil && recv != nil || same(send, recv)
	x.Recv, x.Commute, x.operator = mem.Bytes(recv), op.commute, op.name
	if !x.InPlace {
		x.Send = mem.Bytes(send)
	}
	var ok bool
	if x.reducer, ok = reducerOf[T](op); !ok {
		return x, c.fail(name, noValue, noValue, x.bytes(), ErrOp, op.refusal())
	}
	return x, nil
}

// asLong checks that recv is as long as send.
func (x *collective) asLong(where string) error {
	if !x.InPlace && len(x.Recv) != len(x.Send) {
		return x.miscounted(len(x.Recv), "recv"+where+" must be as long as send")
	}
	return nil
}

func reduce[T Element](c *Comm, name string, send, recv []T, op Op, root int) (*collective, error) {
	if c != nil && c.rank != nil && c.Rank() != root {
		if recv = nil; send == nil {
			send = []T{}
		}
	}
	x, err := reduction(c, name, coll.Reduce, send, recv, op)
	if err == nil {
		err = x.rooted(root)
	}
	if err == nil && x.Rank == root {
		err = x.asLong(" at the root")
	}
	return x, err
}

// Reduce combines the send buffers of all ranks element by element into recv of
// rank root (MPI_Reduce). recv is significant at the root only. With a nil send
// there, the root's input is in recv. Operators that do not commute are applied
// in the order of the ranks.
func Reduce[T Element](c *Comm, send, recv []T, op Op, root int) error {
	return block(reduce(c, "Reduce", send, recv, op, root))
}

// Ireduce begins a Reduce (MPI_Ireduce).
func Ireduce[T Element](c *Comm, send, recv []T, op Op, root int) (*Request, error) {
	return begin(reduce(c, "Ireduce", send, recv, op, root))
}

// ReduceInit makes a persistent Reduce (MPI_Reduce_init).
func ReduceInit[T Element](c *Comm, send, recv []T, op Op, root int) (*Request, error) {
	return persist(reduce(c, "ReduceInit", send, recv, op, root))
}

// whole is a reduction whose result is as long as its input, at every rank.
func whole[T Element](c *Comm, name string, which coll.Collective, send, recv []T, op Op) (*collective, error) {
	x, err := reduction(c, name, which, send, recv, op)
	if err == nil {
		err = x.asLong("")
	}
	return x, err
}

// Allreduce combines the send buffers of all ranks element by element into recv
// of every rank (MPI_Allreduce). With a nil send, the input is in recv.
func Allreduce[T Element](c *Comm, send, recv []T, op Op) error {
	return block(whole(c, "Allreduce", coll.Allreduce, send, recv, op))
}

// Iallreduce begins an Allreduce (MPI_Iallreduce).
func Iallreduce[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return begin(whole(c, "Iallreduce", coll.Allreduce, send, recv, op))
}

// AllreduceInit makes a persistent Allreduce (MPI_Allreduce_init).
func AllreduceInit[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return persist(whole(c, "AllreduceInit", coll.Allreduce, send, recv, op))
}

// Scan combines the send buffers of the ranks up to the caller, element by
// element, into recv (MPI_Scan). With a nil send, the input is in recv.
func Scan[T Element](c *Comm, send, recv []T, op Op) error {
	return block(whole(c, "Scan", coll.Scan, send, recv, op))
}

// Iscan begins a Scan (MPI_Iscan).
func Iscan[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return begin(whole(c, "Iscan", coll.Scan, send, recv, op))
}

// ScanInit makes a persistent Scan (MPI_Scan_init).
func ScanInit[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return persist(whole(c, "ScanInit", coll.Scan, send, recv, op))
}

// Exscan is Scan without the caller's own buffer (MPI_Exscan). recv of rank 0 is
// left alone.
func Exscan[T Element](c *Comm, send, recv []T, op Op) error {
	return block(whole(c, "Exscan", coll.Exscan, send, recv, op))
}

// Iexscan begins an Exscan (MPI_Iexscan).
func Iexscan[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return begin(whole(c, "Iexscan", coll.Exscan, send, recv, op))
}

// ExscanInit makes a persistent Exscan (MPI_Exscan_init).
func ExscanInit[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return persist(whole(c, "ExscanInit", coll.Exscan, send, recv, op))
}

func reduceScatter[T Element](c *Comm, name string, send, recv []T, counts []int, op Op) (*collective, error) {
	x, err := reduction(c, name, coll.ReduceScatter, send, recv, op)
	if err != nil {
		return x, err
	}
	x.RecvBlocks = coll.Blocks{Unit: mem.Size[T](), Counts: counts}
	total, err := x.total(counts)
	if err != nil {
		return x, err
	}
	if elements(x, send, recv) != total || len(recv) < counts[x.Rank] {
		return x, x.miscounted(len(x.input()), "the input must have as many elements as counts tell, recv the caller's")
	}
	return x, nil
}

// ReduceScatter combines the send buffers of all ranks element by element and
// deals the result out: rank i gets counts[i] elements in recv
// (MPI_Reduce_scatter). With a nil send, the input is in recv, and the result at
// the beginning of it.
func ReduceScatter[T Element](c *Comm, send, recv []T, counts []int, op Op) error {
	return block(reduceScatter(c, "ReduceScatter", send, recv, counts, op))
}

// IreduceScatter begins a ReduceScatter (MPI_Ireduce_scatter).
func IreduceScatter[T Element](c *Comm, send, recv []T, counts []int, op Op) (*Request, error) {
	return begin(reduceScatter(c, "IreduceScatter", send, recv, counts, op))
}

// ReduceScatterInit makes a persistent ReduceScatter (MPI_Reduce_scatter_init).
func ReduceScatterInit[T Element](c *Comm, send, recv []T, counts []int, op Op) (*Request, error) {
	return persist(reduceScatter(c, "ReduceScatterInit", send, recv, counts, op))
}

func reduceScatterBlock[T Element](c *Comm, name string, send, recv []T, op Op) (*collective, error) {
	x, err := reduction(c, name, coll.ReduceScatterBlock, send, recv, op)
	if err != nil {
		return x, err
	}
	if x.RecvBlocks, err = x.shared(elements(x, send, recv), "the input"); err != nil {
		return x, err
	}
	x.RecvBlocks.Unit = mem.Size[T]()
	if !x.InPlace && len(recv) != x.RecvBlocks.N {
		return x, x.miscounted(len(x.Recv), "send must be as long as the receive buffers of all ranks")
	}
	return x, nil
}

// ReduceScatterBlock is ReduceScatter with as many elements for every rank
// (MPI_Reduce_scatter_block).
func ReduceScatterBlock[T Element](c *Comm, send, recv []T, op Op) error {
	return block(reduceScatterBlock(c, "ReduceScatterBlock", send, recv, op))
}

// IreduceScatterBlock begins a ReduceScatterBlock
// (MPI_Ireduce_scatter_block).
func IreduceScatterBlock[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return begin(reduceScatterBlock(c, "IreduceScatterBlock", send, recv, op))
}

// ReduceScatterBlockInit makes a persistent ReduceScatterBlock
// (MPI_Reduce_scatter_block_init).
func ReduceScatterBlockInit[T Element](c *Comm, send, recv []T, op Op) (*Request, error) {
	return persist(reduceScatterBlock(c, "ReduceScatterBlockInit", send, recv, op))
}

// ReduceLocal sets inout[i] to the combination of in[i] and inout[i]
// (MPI_Reduce_local). It exchanges nothing.
func ReduceLocal[T Element](in, inout []T, op Op) error {
	r, ok := reducerOf[T](op)
	switch {
	case !plain[T]():
		return (*Comm)(nil).fail("ReduceLocal", noValue, noValue, noValue,
			fmt.Errorf("%w: %v", ErrType, reflect.TypeFor[T]()), "reduce elements without pointers")
	case !ok:
		return (*Comm)(nil).fail("ReduceLocal", noValue, noValue, len(mem.Bytes(in)), ErrOp, op.refusal())
	case len(in) != len(inout):
		return (*Comm)(nil).fail("ReduceLocal", noValue, noValue, len(mem.Bytes(inout)), ErrCount,
			"inout must be as long as in")
	case len(in) > 0:
		r.combine(mem.Bytes(in), mem.Bytes(inout))
	}
	return nil
}

// elements is the number of elements of the caller's contribution.
func elements[T Element](x *collective, send, recv []T) int {
	if x.InPlace {
		return len(recv)
	}
	return len(send)
}

// input is where the caller's contribution is.
func (x *collective) input() []byte {
	if x.InPlace {
		return x.Recv
	}
	return x.Send
}
