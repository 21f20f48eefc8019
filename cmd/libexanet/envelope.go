//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"sync"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
)

// contents are the arguments of the constructor of a datatype. Types made by the
// MPI-4 forms have their counts and displacements in larges.
type contents struct {
	ints   []C.int
	addrs  []C.MPI_Aint
	larges []C.MPI_Count
	types  []handle
	big    bool
}

func shift[T any](s *[]T) (v T) {
	v, *s = (*s)[0], (*s)[1:]
	return v
}

// number takes the next argument that is an int whatever the form.
func (c *contents) number() int { return int(shift(&c.ints)) }

// count takes the next count, or displacement in elements.
func (c *contents) count() int {
	if c.big {
		return int(shift(&c.larges))
	}
	return int(shift(&c.ints))
}

// address takes the next displacement in bytes.
func (c *contents) address() int {
	if c.big {
		return int(shift(&c.larges))
	}
	return int(shift(&c.addrs))
}

func list(n int, next func() int) []int {
	l := make([]int, n)
	for i := range l {
		l[i] = next()
	}
	return l
}

// shapes are what datatypes of a few numbers mean: some programs make the same ones for each message.
var shapes = struct {
	sync.Mutex
	known map[C.struct_exanet_shape]*datatype.Type
}{known: map[C.struct_exanet_shape]*datatype.Type{}}

const mostShapes = 1024

// read returns the type that a handle of the host means.
func read(h handle) (*datatype.Type, error) {
	if t := basicTypes[h]; t != nil {
		return t, nil
	}
	if h == noType {
		return nil, badType("MPI_DATATYPE_NULL")
	}
	var s C.struct_exanet_shape
	if C.exanet_get_shape(as[C.MPI_Datatype](h), &s) == 0 {
		return readContents(h)
	}
	shapes.Lock()
	defer shapes.Unlock()
	if t := shapes.known[s]; t != nil {
		return t, nil
	}
	t, err := readContents(h)
	if err == nil {
		if len(shapes.known) == mostShapes {
			clear(shapes.known)
		}
		shapes.known[s] = t
	}
	return t, err
}

// readContents is read for a type that is not predefined, from what the host says of how it was made.
func readContents(h handle) (*datatype.Type, error) {
	var e C.struct_exanet_envelope
	t := as[C.MPI_Datatype](h)
	if C.exanet_get_envelope(t, &e) != C.MPI_SUCCESS {
		return nil, badType("the host does not know it")
	}
	switch e.combiner {
	case C.MPI_COMBINER_NAMED:
		return nil, badType("a predefined type that this library does not know")
	case C.MPI_COMBINER_F90_INTEGER, C.MPI_COMBINER_F90_REAL, C.MPI_COMBINER_F90_COMPLEX:
		return fortran90(t, e.combiner)
	}
	c := contents{
		ints: make([]C.int, e.ints), addrs: make([]C.MPI_Aint, e.addresses), larges: make([]C.MPI_Count, e.larges),
		types: make([]handle, e.types), big: e.larges > 0,
	}
	if C.exanet_get_contents(t, &e, unsafe.SliceData(c.ints), unsafe.SliceData(c.addrs), unsafe.SliceData(c.larges),
		(*C.MPI_Datatype)(unsafe.Pointer(unsafe.SliceData(c.types)))) != C.MPI_SUCCESS {
		return nil, badType("the host does not tell how it was made")
	}
	parts := make([]*datatype.Type, len(c.types))
	var err error
	for i, p := range c.types {
		if parts[i] == nil && err == nil && !marker(p) {
			parts[i], err = read(p)
		}
		drop(p)
	}
	if err != nil {
		return nil, err
	}
	made, err := build(e.combiner, &c, parts)
	if err != nil {
		return nil, badType(err.Error())
	}
	return bounded(t, made)
}

// marker reports whether a part of a structure only marks a bound (MPI_LB, MPI_UB).
func marker(h handle) bool { return h == handleOf(C.exanet_lb) || h == handleOf(C.exanet_ub) }

// drop gives back a handle that the host has made for us.
func drop(h handle) {
	if marker(h) || basicTypes[h] != nil {
		return
	}
	var e C.struct_exanet_envelope
	t := as[C.MPI_Datatype](h)
	C.exanet_get_envelope(t, &e)
	switch e.combiner {
	case C.MPI_COMBINER_NAMED, C.MPI_COMBINER_F90_INTEGER, C.MPI_COMBINER_F90_REAL, C.MPI_COMBINER_F90_COMPLEX:
	default:
		C.PMPI_Type_free(&t)
	}
}

func build(combiner C.int, c *contents, parts []*datatype.Type) (*datatype.Type, error) {
	switch combiner {
	case C.MPI_COMBINER_DUP:
		return datatype.Dup(parts[0])
	case C.MPI_COMBINER_CONTIGUOUS:
		return datatype.Contiguous(c.count(), parts[0])
	case C.MPI_COMBINER_VECTOR:
		n, length, stride := c.count(), c.count(), c.count()
		return datatype.Vector(n, length, stride, parts[0])
	case C.MPI_COMBINER_HVECTOR, C.exanet_hvector_integer:
		n, length := c.count(), c.count()
		return datatype.Hvector(n, length, c.bytes(combiner), parts[0])
	case C.MPI_COMBINER_INDEXED:
		n := c.count()
		lengths := list(n, c.count)
		return datatype.Indexed(lengths, list(n, c.count), parts[0])
	case C.MPI_COMBINER_HINDEXED, C.exanet_hindexed_integer:
		n := c.count()
		lengths := list(n, c.count)
		return datatype.Hindexed(lengths, list(n, func() int { return c.bytes(combiner) }), parts[0])
	case C.MPI_COMBINER_INDEXED_BLOCK:
		n, length := c.count(), c.count()
		return datatype.IndexedBlock(length, list(n, c.count), parts[0])
	case C.MPI_COMBINER_HINDEXED_BLOCK:
		n, length := c.count(), c.count()
		return datatype.HindexedBlock(length, list(n, c.address), parts[0])
	case C.MPI_COMBINER_STRUCT, C.exanet_struct_integer:
		return structure(combiner, c, parts)
	case C.MPI_COMBINER_SUBARRAY:
		dims := c.number()
		if c.big {
			order := order(c.number())
			sizes, subsizes := list(dims, c.count), list(dims, c.count)
			return datatype.Subarray(sizes, subsizes, list(dims, c.count), order, parts[0])
		}
		sizes, subsizes, starts := list(dims, c.count), list(dims, c.count), list(dims, c.count)
		return datatype.Subarray(sizes, subsizes, starts, order(c.number()), parts[0])
	case C.MPI_COMBINER_DARRAY:
		return darray(c, parts[0])
	case C.MPI_COMBINER_RESIZED:
		lb := c.address()
		return datatype.Resized(parts[0], lb, c.address())
	}
	return nil, badType("it was made in a way that this library does not know")
}

// bytes is address, but the Fortran constructors of MPI-1 have integers.
func (c *contents) bytes(combiner C.int) int {
	switch combiner {
	case C.exanet_hvector_integer, C.exanet_hindexed_integer, C.exanet_struct_integer:
		return c.count()
	}
	return c.address()
}

// structure leaves out the parts that only mark bounds: the host tells the extent.
func structure(combiner C.int, c *contents, parts []*datatype.Type) (*datatype.Type, error) {
	n := c.count()
	lengths := list(n, c.count)
	displs := list(n, func() int { return c.bytes(combiner) })
	k := 0
	for i, p := range parts {
		if p != nil {
			lengths[k], displs[k], parts[k] = lengths[i], displs[i], p
			k++
		}
	}
	return datatype.Struct(lengths[:k], displs[:k], parts[:k])
}

// Under the standard ABI Open MPI 6.0.0rc2 tells these by the numbers of its own header, which mean nothing else there
// or in MPICH.
const (
	openMPIsBlock       = 0
	openMPIsCyclic      = 1
	openMPIsDefaultDarg = -1
	openMPIsFortran     = 1
)

func order(o int) datatype.Order {
	if o == C.MPI_ORDER_FORTRAN || o == openMPIsFortran {
		return datatype.OrderFortran
	}
	return datatype.OrderC
}

func darray(c *contents, part *datatype.Type) (*datatype.Type, error) {
	size, rank, dims := c.number(), c.number(), c.number()
	gsizes := list(dims, c.count)
	distribs := make([]datatype.Distribution, dims)
	for i := range distribs {
		switch n := c.number(); {
		case n == C.MPI_DISTRIBUTE_BLOCK || n == openMPIsBlock:
			distribs[i] = datatype.DistributeBlock
		case n == C.MPI_DISTRIBUTE_CYCLIC || n == openMPIsCyclic:
			distribs[i] = datatype.DistributeCyclic
		default:
			distribs[i] = datatype.DistributeNone
		}
	}
	dargs := list(dims, func() int {
		if n := c.number(); n != C.MPI_DISTRIBUTE_DFLT_DARG && n != openMPIsDefaultDarg {
			return n
		}
		return datatype.DistributeDefault
	})
	psizes := list(dims, c.number)
	return datatype.Darray(size, rank, gsizes, distribs, dargs, psizes, order(c.number()), part)
}

// bounded gives a type the bounds that it has at the host.
func bounded(h C.MPI_Datatype, t *datatype.Type) (*datatype.Type, error) {
	var lb, extent, size C.MPI_Count
	C.PMPI_Type_get_extent_x(h, &lb, &extent)
	C.PMPI_Type_size_x(h, &size)
	if int(size) != t.Size() {
		return nil, badType("its size is not that of its parts")
	}
	if l, e := t.Extent(); l == int(lb) && e == int(extent) {
		return t, nil
	}
	r, err := datatype.Resized(t, int(lb), int(extent))
	if err != nil {
		return nil, badType(err.Error())
	}
	return r, nil
}

// fortran90 is a type of MPI_Type_create_f90_integer and so on, which are known by
// their size.
func fortran90(h C.MPI_Datatype, combiner C.int) (*datatype.Type, error) {
	var size C.MPI_Count
	C.PMPI_Type_size_x(h, &size)
	by := map[C.MPI_Count]*datatype.Type{1: datatype.Int8, 2: datatype.Int16, 4: datatype.Int32, 8: datatype.Int64}
	switch combiner {
	case C.MPI_COMBINER_F90_REAL:
		by = map[C.MPI_Count]*datatype.Type{4: datatype.Float32, 8: datatype.Float64, 16: datatype.LongDouble}
	case C.MPI_COMBINER_F90_COMPLEX:
		by = map[C.MPI_Count]*datatype.Type{8: datatype.Complex64, 16: datatype.Complex128,
			32: datatype.LongDoubleComplex}
	}
	if t := by[size]; t != nil {
		return t, nil
	}
	return nil, badType("a Fortran type of unknown size")
}
