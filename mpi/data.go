package mpi

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/variants"
)

// Data is what the calls whose names end in Data send or receive: a number of
// elements of a datatype in memory, MPI's (buf, count, datatype). Of, With and At
// make one; a mistake in their arguments is the error of the call that it is given
// to. Between two ranks only the sequence of basic elements must agree, not the
// type.
type Data struct {
	parcel
	given datatype.View // what the data were made of
}

// parcel is what a call between two ranks takes of them, or what is wrong with them.
type parcel struct {
	memory
	err   error
	kind  *datatype.Type // of count elements, in the checking mode
	count int
}

// memory is where the bytes of a message lie: in buf, or, if there are gaps, in
// view.
type memory struct {
	buf  []byte
	view datatype.View
	note *note // of the checking mode
}

// raw is memory without gaps.
func raw(b []byte) memory { return memory{buf: b} }

// gaps reports whether there are any.
func (m *memory) gaps() bool { return m.view.Type != nil }

// Of is the data of the elements of a slice, in one piece, as Send and Recv move it. To leave out the
// padding of structs, use With and the type that datatype.Of makes of T.
func Of[T Element](s []T) Data {
	p := of(s)
	return Data{parcel: p, given: datatype.Bytes(p.buf)}
}

// of is Of for a call between two ranks.
func of[T Element](s []T) parcel {
	if !plain[T]() {
		return parcel{err: notPlain[T]()}
	}
	return parcel{memory: raw(mem.Bytes(s)), kind: typeOf[T](), count: len(s)}
}

func notPlain[T Element]() error {
	why := ErrType.Error() + "; send numbers, arrays, or structs of them: not " + reflect.TypeFor[T]().String()
	return &dataError{ErrType, why}
}

// With is the data of count elements of type t, the first of which begins at the
// first element of s. All of them must lie within s.
func With[T Element](s []T, count int, t *datatype.Type) Data {
	d := Of(s)
	if d.err != nil {
		return d
	}
	v, err := datatype.Within(d.buf, count, t)
	if err != nil {
		return Data{parcel: parcel{err: lower(err)}}
	}
	return Data{parcel: parcel{memory: memoryOf(v), kind: t, count: count}, given: v}
}

// At is the data of count elements of type t, the first of which begins at p, in any memory: nothing
// is checked but that there can be memory at these addresses. Memory that is not Go's must stay until
// the call, or the request that it made, has ended. p is nil if the displacements of t are addresses
// (MPI_BOTTOM).
func At(p unsafe.Pointer, count int, t *datatype.Type) Data {
	v, err := datatype.At(p, count, t)
	if err != nil {
		return Data{parcel: parcel{err: lower(err)}}
	}
	return Data{parcel: parcel{memory: memoryOf(v), kind: t, count: count}, given: v}
}

func memoryOf(v datatype.View) memory {
	if b, ok := v.Contiguous(); ok {
		return raw(b)
	}
	return memory{view: v}
}

// Size is the length of the data without gaps, in bytes (MPI_Pack_size for one
// pair of processes).
func (d Data) Size() int { return d.size() }

func (m *memory) size() int {
	if m.gaps() {
		return m.view.Size()
	}
	return len(m.buf)
}

// View is the data as collectives take them: those of Of as bytes, since it knows no
// type. It has no type if Err tells of a mistake.
func (d Data) View() datatype.View { return d.given }

// Err tells what is wrong with the arguments that the data were made of.
func (d Data) Err() error { return d.err }

// pack copies the data, from byte off of them on, to b.
func (m *memory) pack(b []byte, off int) {
	if m.gaps() {
		m.view.Pack(b, off)
	} else {
		copy(b, m.buf[off:])
	}
}

// unpack puts b in the places of the data from byte off on.
func (m *memory) unpack(b []byte, off int) {
	if m.gaps() {
		m.view.Unpack(b, off)
	} else {
		copy(m.buf[off:], b)
	}
}

// PackSize is the room in bytes that Pack takes for count elements of t
// (MPI_Pack_size), 0 if t is nil.
func PackSize(count int, t *datatype.Type) int {
	if t == nil {
		return 0
	}
	return count * t.Size()
}

// Pack copies the data to out from byte at on, and returns where they end
// (MPI_Pack).
func Pack(d Data, out []byte, at int) (int, error) {
	if err := d.fits("Pack", out, at); err != nil {
		return at, err
	}
	n := d.size()
	d.pack(out[at:at+n], 0)
	return at + n, nil
}

// Unpack copies what Pack has put into in, from byte at on, to the places of the
// data, and returns where it ends (MPI_Unpack).
func Unpack(in []byte, at int, d Data) (int, error) {
	if err := d.fits("Unpack", in, at); err != nil {
		return at, err
	}
	n := d.size()
	d.unpack(in[at:at+n], 0)
	return at + n, nil
}

// fits checks a call of Pack or Unpack.
func (d *Data) fits(op string, b []byte, at int) error {
	err := d.err
	if n := d.size(); err == nil && (at < 0 || at > len(b) || n > len(b)-at) {
		err = &dataError{ErrTruncate, fmt.Sprintf("%d bytes do not fit at byte %d of %d", n, at, len(b))}
	}
	if err != nil {
		return (*Comm)(nil).fail(op, noValue, noValue, noValue, err, "")
	}
	return nil
}

// dataError is what is wrong with Data: a sentinel of this package, and why.
type dataError struct {
	is  error
	why string
}

func (e *dataError) Error() string { return e.why }
func (e *dataError) Unwrap() error { return e.is }

// lower turns an error of package datatype into one of this package.
func lower(err error) error {
	is := ErrArg
	switch {
	case errors.Is(err, datatype.ErrCount):
		is = ErrCount
	case errors.Is(err, datatype.ErrType):
		is = ErrType
	}
	var e *datatype.Error
	if errors.As(err, &e) {
		return &dataError{is, e.Why}
	}
	return &dataError{is, err.Error()}
}

// check checks what every call between two ranks has in common. In the checking mode it gives d the checker's memory.
func (c *Comm) check(op string, d *parcel, peer, tag int, recv bool) error {
	err := c.validParcel(op, d, peer, tag, recv)
	if err == nil && c.rank.check != nil && peer != ProcNull {
		c.rank.check.wrap(c, op, d, recv).lay()
	}
	return err
}

func (c *Comm) validParcel(op string, d *parcel, peer, tag int, recv bool) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if d.err != nil {
		return c.fail(op, peer, tag, noValue, d.err, "")
	}
	return c.checkPeer(op, peer, tag, d.size(), recv)
}

// load gives a request its memory. Eager messages have no gaps: a send of so few
// data is packed into a buffer that the request keeps.
func (k *rank) load(m *pooled, d memory) {
	m.note = d.note
	switch n := d.size(); {
	case !d.gaps():
		m.Buf = d.buf
		m.Home = k.home(d.buf)
	case m.Recv || n > k.limit:
		m.View = d.view
	default:
		if cap(m.packed) < n {
			m.packed = make([]byte, min(max(n, 2*cap(m.packed)), k.limit))
		}
		m.Buf = m.packed[:n]
		d.view.Pack(m.Buf, 0)
	}
}

// home names the buffer of a receive: those in the same memory, of the same size, have the same.
func (k *rank) home(buf []byte) uint64 {
	if k.likely {
		return 1
	}
	return mem.Addr(buf) ^ uint64(len(buf))<<40
}

// sentPacked sends the packed data of a standard send that load has prepared, if it
// is one and needs no request. It may release the lock in between.
func (k *rank) sentPacked(m *pooled, d memory) bool {
	return d.gaps() && !m.Recv && m.View.Type == nil && m.Mode == variants.Standard &&
		k.trySend(m.Ctx, m.Peer, m.Tag, m.Buf)
}
