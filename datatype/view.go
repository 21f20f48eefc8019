package datatype

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// View is Count elements of Type in memory, the first at Base. The collector sees
// Base, so the memory of Go objects lives as long as the View; memory that is not
// Go's must outlive it. Base is nil if the displacements of the type are addresses
// (MPI_BOTTOM). The zero View has no data.
type View struct {
	Base  unsafe.Pointer
	Count int
	Type  *Type
}

// Bytes is the view of contiguous memory.
func Bytes(b []byte) View { return View{unsafe.Pointer(unsafe.SliceData(b)), len(b), Byte} }

// Size is the length of the packed stream in bytes.
func (v View) Size() int {
	if v.Type == nil {
		return 0
	}
	return v.Count * v.Type.size
}

func (v View) root() node { return repeat(&v.Type.root, v.Count, v.Type.ub-v.Type.lb) }

// dense reports whether elements that follow each other are one block, which begins
// where they do.
func (t *Type) dense() bool {
	return t.root.op == opBlock && t.root.off == 0 && t.size == t.ub-t.lb
}

// Contiguous returns the memory of a view without gaps, whose order is that of
// the packed stream; ok is false for other views.
func (v View) Contiguous() (b []byte, ok bool) {
	if v.Size() == 0 {
		return nil, true
	}
	if v.Type.dense() {
		return mem.Region(v.Base, 0, v.Size()), true
	}
	n := v.root()
	if n.op != opBlock {
		return nil, false
	}
	return mem.Region(v.Base, n.off, n.size), true
}

// Pack copies the bytes [from, from+len(buf)) of the packed stream to buf
// (MPI_Pack).
func (v View) Pack(buf []byte, from int) { v.move(buf, from, true) }

// Unpack copies buf to the places of the bytes [from, from+len(buf)) of the
// packed stream (MPI_Unpack). It touches nothing else.
func (v View) Unpack(buf []byte, from int) { v.move(buf, from, false) }

func (v View) move(buf []byte, from int, pack bool) {
	if len(buf) == 0 {
		return
	}
	if from < 0 || len(buf) > v.Size()-from {
		panic("datatype: range outside the view")
	}
	n := v.root()
	n.move(v.Base, 0, buf, from, pack)
}

// Segments appends to out where the bytes [from, to) of the packed stream lie,
// relative to Base, as far as its capacity goes, and returns how far it came.
func (v View) Segments(out []Segment, from, to int) ([]Segment, int) {
	if from >= to {
		return out, from
	}
	n := v.root()
	return n.segments(out, 0, from, to)
}

// Blocks is the number of contiguous pieces that the data lie in, not counting
// that neighbouring elements may join.
func (v View) Blocks() int {
	if v.Type == nil {
		return 0
	}
	n := v.root()
	return n.blocks
}

// Span returns the displacements of the first byte of data and of the end of the
// last, relative to Base: 0, 0 if there are none.
func (v View) Span() (from, to int) {
	if v.Size() == 0 {
		return 0, 0
	}
	t := v.Type
	last := (v.Count - 1) * (t.ub - t.lb)
	return t.trueLB + min(0, last), t.trueUB + max(0, last)
}

// Within makes the view of count elements of t at the beginning of memory, all of
// which must lie in it.
func Within(memory []byte, count int, t *Type) (View, error) {
	v, err := view("Within", unsafe.Pointer(unsafe.SliceData(memory)), count, t)
	if err != nil {
		return View{}, err
	}
	if from, to := v.Span(); from < 0 || to > len(memory) {
		return View{}, bad("Within", ErrCount, "%d elements of %v lie at bytes %d to %d, the buffer has bytes 0 to %d",
			count, t, from, to, len(memory))
	}
	return v, nil
}

// At makes the view of count elements of t at p, wherever that is. ErrArg tells of
// addresses that can not be memory.
func At(p unsafe.Pointer, count int, t *Type) (View, error) { return view("At", p, count, t) }

func view(op string, p unsafe.Pointer, count int, t *Type) (View, error) {
	if t != nil && t.dense() && t.size < 1<<20 && uint(count) < 1<<31 && uintptr(p)-firstPage < addresses/2 {
		return View{p, count, t}, nil // most data are such; the others take a closer look
	}
	b := start(op, Envelope{})
	b.count(count, "count")
	if b.valid(t) {
		b.times(count, t.size)
		b.times(count, t.ub-t.lb)
	}
	if b.err != nil {
		return View{}, b.err
	}
	v := View{p, count, t}
	if from, to := v.Span(); from < to && op == "At" {
		at := int(uintptr(p))
		if from, to := at+from, at+to; at < 0 || from < firstPage || to < from || to > addresses {
			return View{}, bad(op, ErrArg, "no memory is at addresses %#x to %#x", from, to)
		}
	}
	return v, nil
}

// Addresses below firstPage are never memory, for nil pointers to be found; nor are
// those from addresses on, on 64-bit machines.
const (
	firstPage = 4096
	addresses = 1 << 57
)
