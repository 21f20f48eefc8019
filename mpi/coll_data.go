package mpi

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/datatype"
)

// Collectives on memory that datatypes describe, as the C bindings have them. They
// are the same calls as the generic ones. Data without gaps are sent from where
// they are and received where they belong; others go through scratch memory of
// the call: they are packed when the call begins, and unpacked when it has ended
// without an error, so that nothing in a gap is ever written.

// DataCall is a collective that has been described and can be made once, in one of its three forms.
// Making it again is an ErrRequest. A mistake in the description is the error of all forms.
type DataCall struct {
	x    *collective
	turn uint32 // of x
	err  error
}

// described ends the description of a call.
func described(x *collective, err error) DataCall {
	if err != nil {
		x.refuse()
		return DataCall{err: err}
	}
	return DataCall{x: x, turn: x.turn.Load()}
}

// once returns the description, to the first who asks for it: afterwards it may
// be that of another call.
func (d DataCall) once() (*collective, error) {
	switch {
	case d.err != nil:
		return nil, d.err
	case d.x == nil:
		return nil, (*Comm)(nil).fail("DataCall", noValue, noValue, noValue,
			fmt.Errorf("%w: it describes no call", ErrRequest), "take what BcastData and its like return")
	case !d.x.turn.CompareAndSwap(d.turn, d.turn+1):
		return nil, (*Comm)(nil).fail("DataCall", noValue, noValue, noValue,
			fmt.Errorf("%w: the call has been made already", ErrRequest),
			"describe it for each time, or start a persistent request")
	}
	return d.x, nil
}

// Do makes the call and returns when it has ended.
func (d DataCall) Do() error { return block(d.once()) }

// Begin begins the call; the Request must be waited for.
func (d DataCall) Begin() (*Request, error) { return begin(d.once()) }

// BeginDo begins the call in the form of Do: other ranks may call Do. It is for callers that look
// after something else while they wait. The request must have ended before the next blocking
// collective of the communicator.
func (d DataCall) BeginDo() (*Request, error) {
	x, err := d.once()
	return beginAs(x, err, true)
}

// Init makes a persistent request of the call.
func (d DataCall) Init() (*Request, error) { return persist(d.once()) }

// InPlace instead of the send data says that the input is in the receive data
// (MPI_IN_PLACE); at the root of a scatter, instead of the receive data, that
// the root's block stays where it is.
var InPlace = datatype.View{Count: -1}

func inPlace(v datatype.View) bool { return v.Count == InPlace.Count }

// piece is data with gaps and their image in scratch memory.
type piece struct {
	data, image datatype.View
	in, out     bool // is copied in when the call begins, out when it has ended
}

// enter and leave move the data with gaps; the call has ended without an error.
func (s *collective) enter() {
	for _, p := range s.pieces {
		if p.in {
			datatype.Copy(p.image, p.data, 0, p.data.Size())
		}
	}
}

func (s *collective) leave() {
	for _, p := range s.pieces {
		if p.out {
			datatype.Copy(p.data, p.image, 0, p.data.Size())
		}
	}
}

// packed returns the bytes of data: where they are, or of an image that is
// copied in and out.
func (x *collective) packed(v datatype.View, in, out bool) []byte {
	if b, ok := v.Contiguous(); ok {
		return b
	}
	b := x.Temp(v.Size())
	x.pieces = append(x.pieces, piece{v, datatype.Bytes(b), in, out})
	return b
}

// onData is invoke for calls with data; it checks those that count.
func (c *Comm) onData(name string, op coll.Collective, data ...datatype.View) (*collective, error) {
	x, err := c.invoke(name, op)
	if err != nil {
		return nil, err
	}
	for _, v := range data {
		if err := x.validData(v); err != nil {
			return x, err
		}
	}
	return x, nil
}

func (x *collective) validData(v datatype.View) error {
	if err := x.validBlock(v); err != nil {
		return err
	}
	if from, to := v.Span(); v.Base == nil && to > from && from < nullPage {
		return x.c.fail(x.name, noValue, noValue, v.Size(),
			fmt.Errorf("%w: there are no data at address %d", ErrArg, from), "give the memory of the data")
	}
	if x.kind == nil {
		x.kind, x.count = v.Type, v.Count
	}
	return nil
}

// validBlock is validData wherever the data lie.
func (x *collective) validBlock(v datatype.View) error {
	switch {
	case inPlace(v):
		return x.c.fail(x.name, noValue, noValue, noValue, fmt.Errorf("%w: InPlace", ErrArg),
			"only the calls and ranks that MPI names may be in place")
	case v.Count < 0:
		return x.miscounted(noValue, "the number of elements is negative: "+itoa(v.Count))
	case unmade(v.Type):
		return x.untyped()
	}
	_, extent := v.Type.Extent()
	if n := max(extent, -extent, v.Type.Size()); n > 0 && v.Count > farthest/n/x.Ranks {
		return x.miscounted(noValue, "so many elements are in no memory: "+itoa(v.Count))
	}
	return nil
}

// Data of all ranks together span no more than farthest bytes, and none of them lie
// at addresses below nullPage.
const (
	farthest = 1 << 60
	nullPage = 4096
)

// unmade reports whether there is no type: none of package datatype's making.
func unmade(t *datatype.Type) bool {
	return t == nil || t.Envelope().Combiner == 0
}

func (x *collective) untyped() error {
	return x.c.fail(x.name, noValue, noValue, noValue, &dataError{ErrType, "the data have no type"},
		"give the datatype of the data")
}

// place checks data which may be InPlace if allowed.
func (x *collective) place(v datatype.View, allowed bool) error {
	if x.InPlace = allowed && inPlace(v); x.InPlace {
		return nil
	}
	return x.validData(v)
}

// times is n times as many elements as v has.
func times(v datatype.View, n int) datatype.View {
	v.Count *= n
	return v
}

// blocksOf is the division of a buffer into a block of v for each rank.
func blocksOf(v datatype.View) coll.Blocks { return coll.Blocks{Unit: 1, N: v.Size()} }

// Vector is data in blocks of different sizes: block i has Counts[i] elements of Type and begins
// Displs[i] elements behind Base, or as many bytes if there are Types. Displs is nil if the blocks
// follow each other. Types, if it is not nil, are the types of the blocks, instead of Type.
type Vector struct {
	Base           unsafe.Pointer
	Counts, Displs []int
	Type           *datatype.Type
	Types          []*datatype.Type
}

// blocks returns the n blocks of a vector. Those that skip says are left alone.
func (x *collective) blocks(v Vector, n int, what string, in, out bool, skip func(i int) bool) ([][]byte, error) {
	list := &x.lists[0]
	if in && !out {
		list = &x.lists[1]
	}
	if len(v.Counts) != n || v.Displs != nil && len(v.Displs) != n || v.Types != nil && len(v.Types) != n {
		return nil, x.miscounted(noValue, "give the count, and the displacement and type if any, of each of the "+
			itoa(n)+" blocks of "+what)
	}
	each := slices.Grow((*list)[:0], n)
	at := 0
	for i, count := range v.Counts {
		b := datatype.View{Base: v.Base, Count: count, Type: v.Type}
		if v.Types != nil {
			b.Type = v.Types[i]
		}
		if count < 0 {
			return nil, x.miscounted(noValue, "the count of block "+itoa(i)+" of "+what+" is negative: "+itoa(count))
		}
		if err := x.validBlock(b); err != nil {
			return nil, err
		}
		unit := 1
		if v.Types == nil {
			_, unit = b.Type.Extent()
		}
		if v.Displs != nil {
			at = v.Displs[i]
		}
		if b.Size() > 0 { // else it may lie at the end of memory
			b.Base = unsafe.Add(v.Base, at*unit)
		}
		if skip != nil && skip(i) {
			b = datatype.View{}
		}
		each = append(each, x.packed(b, in, out))
		at += count
	}
	*list = each
	return each, nil
}
