package mpi

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/datatype"
)

// Reductions of data. Predefined operators see the elements of basic kinds that
// the data consist of, operators of NewOpFunc elements of the datatype itself, in
// its own layout.

// scale is how a reduction sees elements of a type.
type scale struct {
	t      *datatype.Type // of what is combined
	units  int            // of it in an element of the data
	elem   int            // bytes from one to the next
	origin int            // of t, bytes behind the beginning of its image
}

// reduceData makes the reducer for an operator on elements of t.
func (x *collective) reduceData(op Op, t *datatype.Type) (sc scale, err error) {
	x.Commute, x.operator = op.commute, op.name
	switch {
	case unmade(t):
		return sc, x.untyped()
	case op.raw != nil:
		if sc = imageOf(t); sc.t == nil {
			return sc, x.refused(op)
		}
	case t.Basic() == nil:
		return sc, x.refused(op)
	default:
		basic := t.Basic()
		_, extent := basic.Extent()
		sc = scale{t: basic, units: t.Size() / basic.Size(), elem: extent}
	}
	var ok bool
	if x.reducer, ok = reducerOn(op, t, sc); !ok {
		return sc, x.refused(op)
	}
	x.Elem = max(1, sc.elem)
	return sc, nil
}

func (x *collective) refused(op Op) error {
	return x.c.fail(x.name, noValue, noValue, noValue, ErrOp, op.refusal())
}

// imageOf is how an operator of NewOpFunc sees elements of t: as they are, unless
// their data reach beyond their extent. Those are kept farther apart, and combined
// one by one.
func imageOf(t *datatype.Type) scale {
	lb, extent := t.Extent()
	first, span := t.TrueExtent()
	if lb == 0 && first >= 0 && first+span <= extent {
		return scale{t: t, units: 1, elem: extent}
	}
	// Addresses of elements, too, must lie within the image.
	const align = 16
	origin := max(0, -first)
	elem := (max(origin+first+span, origin+1) + align - 1) / align * align
	apart, err := datatype.Resized(t, first, elem)
	if err != nil || elem > widest {
		return scale{}
	}
	return scale{t: apart, units: 1, elem: elem, origin: origin}
}

// widest is the number of bytes over which the data of an element of a user
// operator may be scattered.
const widest = 1 << 30

// operand returns the elements of data as the reducer takes them.
func (x *collective) operand(v datatype.View, sc scale, in, out bool) []byte {
	if v.Size() == 0 {
		return nil
	}
	if b, ok := v.Contiguous(); ok && sc.origin == 0 && len(b) == v.Count*sc.units*sc.elem {
		return b
	}
	b := x.Temp(v.Count * sc.units * sc.elem)
	image := datatype.View{Base: unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), sc.origin), Count: v.Count * sc.units,
		Type: sc.t}
	x.pieces = append(x.pieces, piece{v, image, in, out})
	return b
}

// alike reports whether equally many bytes of two types are the same elements to an
// operator.
func alike(a, b *datatype.Type) bool {
	if a.Kind() != 0 || b.Kind() != 0 {
		return a.Kind() == b.Kind()
	}
	return a.Size() == b.Size() && a.Elements() == b.Elements()
}

func (x *collective) different() error {
	return x.c.fail(x.name, noValue, noValue, noValue,
		&dataError{ErrType, "send and receive data are of different types"}, "give data of the same elements")
}

// reduceInto describes a reduction of send into recv, which is as long. takes says
// whether recv counts at the caller, result whether it gets anything there.
func (c *Comm) reduceInto(name string, which coll.Collective, send, recv datatype.View, op Op, takes,
	result bool) (*collective, error) {
	x, err := c.onData(name, which)
	if err == nil {
		err = x.place(send, takes)
	}
	if err == nil && takes {
		err = x.validData(recv)
	}
	if err != nil {
		return x, err
	}
	v := send
	if x.InPlace {
		v = recv
	}
	sc, err := x.reduceData(op, v.Type)
	if err != nil {
		return x, err
	}
	switch {
	case x.InPlace:
		x.Recv = x.operand(recv, sc, true, result)
	case takes && !alike(send.Type, recv.Type):
		return x, x.different()
	case takes && recv.Size() != send.Size():
		return x, x.miscounted(recv.Size(), "receive data must be as long as send data")
	default:
		x.Send = x.operand(send, sc, true, false)
		if takes {
			x.Recv = x.operand(recv, sc, false, result)
		}
	}
	return x, nil
}

// ReduceData combines the send data of all ranks into recv of rank root
// (MPI_Reduce). recv is significant at the root only. send may be InPlace there.
func (c *Comm) ReduceData(send, recv datatype.View, op Op, root int) DataCall {
	atRoot := c != nil && c.rank != nil && c.Rank() == root
	x, err := c.reduceInto("Reduce", coll.Reduce, send, recv, op, atRoot, atRoot)
	if err == nil {
		err = x.rooted(root)
	}
	return described(x, err)
}

// AllreduceData combines the send data of all ranks into recv of every rank
// (MPI_Allreduce). send may be InPlace.
func (c *Comm) AllreduceData(send, recv datatype.View, op Op) DataCall {
	x, err := c.reduceInto("Allreduce", coll.Allreduce, send, recv, op, true, true)
	return described(x, err)
}

// ScanData combines the send data of the ranks up to the caller into recv
// (MPI_Scan). send may be InPlace.
func (c *Comm) ScanData(send, recv datatype.View, op Op) DataCall {
	x, err := c.reduceInto("Scan", coll.Scan, send, recv, op, true, true)
	return described(x, err)
}

// ExscanData is ScanData without the caller's own data (MPI_Exscan). recv of rank
// 0 is left alone.
func (c *Comm) ExscanData(send, recv datatype.View, op Op) DataCall {
	result := c != nil && c.rank != nil && c.Rank() > 0
	x, err := c.reduceInto("Exscan", coll.Exscan, send, recv, op, true, result)
	return described(x, err)
}

// ReduceScatterData combines the send data of all ranks and deals the result out: rank i gets
// counts[i] elements of datatype t at recv (MPI_Reduce_scatter). With inPlace, all elements are at
// recv, and send is not used.
func (c *Comm) ReduceScatterData(send, recv unsafe.Pointer, inPlace bool, counts []int, t *datatype.Type,
	op Op) DataCall {
	x, err := c.onData("ReduceScatter", coll.ReduceScatter)
	if err != nil {
		return described(x, err)
	}
	total, err := x.total(counts)
	if err != nil {
		return described(x, err)
	}
	x.RecvBlocks = coll.Blocks{Counts: counts}
	return described(x, x.scattered(send, recv, inPlace, total, counts[x.Rank], t, op))
}

// ReduceScatterBlockData is ReduceScatterData with count elements for every rank
// (MPI_Reduce_scatter_block).
func (c *Comm) ReduceScatterBlockData(send, recv unsafe.Pointer, inPlace bool, count int, t *datatype.Type,
	op Op) DataCall {
	x, err := c.onData("ReduceScatterBlock", coll.ReduceScatterBlock)
	if err != nil {
		return described(x, err)
	}
	if count < 0 {
		return described(x, x.miscounted(noValue, "the number of elements is negative: "+itoa(count)))
	}
	if count > farthest/x.Ranks {
		return described(x, x.miscounted(noValue, "so many elements are in no memory: "+itoa(count)))
	}
	x.RecvBlocks = coll.Blocks{N: count}
	return described(x, x.scattered(send, recv, inPlace, x.Ranks*count, count, t, op))
}

// scattered takes the buffers of a reduction of total elements, of which the
// caller gets mine.
func (x *collective) scattered(send, recv unsafe.Pointer, inPlace bool, total, mine int, t *datatype.Type,
	op Op) error {
	in := datatype.View{Base: send, Count: total, Type: t}
	out := datatype.View{Base: recv, Count: mine, Type: t}
	if inPlace {
		in.Base = recv
	}
	if err := x.validData(in); err != nil {
		return err
	}
	sc, err := x.reduceData(op, t)
	if err != nil {
		return err
	}
	x.InPlace, x.RecvBlocks.Unit = inPlace, sc.units*sc.elem
	if !inPlace {
		x.Send, x.Recv = x.operand(in, sc, true, false), x.operand(out, sc, false, true)
		return nil
	}
	staged := len(x.pieces)
	x.Recv = x.operand(in, sc, true, false)
	if len(x.pieces) > staged { // the result is the beginning of the image
		image := x.pieces[staged].image
		image.Count = mine * sc.units
		x.pieces = append(x.pieces, piece{out, image, false, true})
	}
	return nil
}

// ReduceLocalData sets inout to the combination of in and inout, element by
// element (MPI_Reduce_local).
func (c *Comm) ReduceLocalData(in, inout datatype.View, op Op) error {
	x, err := c.onData("ReduceLocal", coll.Allreduce, in, inout)
	if err != nil {
		x.refuse()
		return err
	}
	defer x.refuse()
	if !alike(in.Type, inout.Type) {
		return x.different()
	}
	if in.Size() != inout.Size() {
		return x.miscounted(inout.Size(), "inout must be as long as in")
	}
	sc, err := x.reduceData(op, in.Type)
	if err != nil || in.Size() == 0 {
		return err
	}
	from, to := x.operand(in, sc, true, false), x.operand(inout, sc, true, true)
	x.enter()
	x.combine(from, to)
	x.leave()
	return nil
}
