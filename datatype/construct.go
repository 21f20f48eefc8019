package datatype

import (
	"errors"
	"fmt"
	"slices"
)

// What the constructors find wrong, for errors.Is.
var (
	ErrCount = errors.New("invalid count")    // MPI_ERR_COUNT
	ErrArg   = errors.New("invalid argument") // MPI_ERR_ARG
	ErrType  = errors.New("invalid datatype") // MPI_ERR_TYPE
)

// Error says which argument of a call is wrong, and why.
type Error struct {
	Op  string // the call
	Why string
	Err error // a sentinel
}

func (e *Error) Error() string { return fmt.Sprintf("datatype: %s: %v: %s", e.Op, e.Err, e.Why) }

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

func bad(op string, err error, why string, args ...any) error {
	return &Error{op, fmt.Sprintf(why, args...), err}
}

// Contiguous makes a type of count elements of t in a row
// (MPI_Type_contiguous).
func Contiguous(count int, t *Type) (*Type, error) {
	b := start("Contiguous", Envelope{Combiner: CombinerContiguous, Ints: []int{count}, Types: []*Type{t}})
	b.count(count, "count")
	b.loop(t, 0, 1, 0, count)
	return b.finish()
}

// Vector makes a type of count blocks of blocklen elements of t, stride elements
// from one to the next (MPI_Type_vector).
func Vector(count, blocklen, stride int, t *Type) (*Type, error) {
	b := start("Vector", Envelope{Combiner: CombinerVector, Ints: []int{count, blocklen, stride}, Types: []*Type{t}})
	b.count(count, "count")
	b.count(blocklen, "block length")
	b.loop(t, 0, count, b.times(stride, b.extent(t)), blocklen)
	return b.finish()
}

// Hvector is Vector with the stride in bytes (MPI_Type_create_hvector).
func Hvector(count, blocklen, stride int, t *Type) (*Type, error) {
	b := start("Hvector", Envelope{Combiner: CombinerHvector, Ints: []int{count, blocklen}, Addrs: []int{stride},
		Types: []*Type{t}})
	b.count(count, "count")
	b.count(blocklen, "block length")
	b.loop(t, 0, count, stride, blocklen)
	return b.finish()
}

// Indexed makes a type of blocks of t: block i has blocklens[i] elements and
// begins displs[i] elements from the origin (MPI_Type_indexed).
func Indexed(blocklens, displs []int, t *Type) (*Type, error) {
	b := start("Indexed", Envelope{Combiner: CombinerIndexed,
		Ints: slices.Concat([]int{len(blocklens)}, blocklens, displs), Types: []*Type{t}})
	b.list(t, blocklens, 0, displs, b.extent(t))
	return b.finish()
}

// Hindexed is Indexed with displacements in bytes (MPI_Type_create_hindexed).
func Hindexed(blocklens, displs []int, t *Type) (*Type, error) {
	b := start("Hindexed", Envelope{Combiner: CombinerHindexed,
		Ints: slices.Concat([]int{len(blocklens)}, blocklens), Addrs: slices.Clone(displs), Types: []*Type{t}})
	b.list(t, blocklens, 0, displs, 1)
	return b.finish()
}

// IndexedBlock is Indexed with blocks of one length
// (MPI_Type_create_indexed_block).
func IndexedBlock(blocklen int, displs []int, t *Type) (*Type, error) {
	b := start("IndexedBlock", Envelope{Combiner: CombinerIndexedBlock,
		Ints: slices.Concat([]int{len(displs), blocklen}, displs), Types: []*Type{t}})
	b.count(blocklen, "block length")
	b.list(t, nil, blocklen, displs, b.extent(t))
	return b.finish()
}

// HindexedBlock is IndexedBlock with displacements in bytes
// (MPI_Type_create_hindexed_block).
func HindexedBlock(blocklen int, displs []int, t *Type) (*Type, error) {
	b := start("HindexedBlock", Envelope{Combiner: CombinerHindexedBlock,
		Ints: []int{len(displs), blocklen}, Addrs: slices.Clone(displs), Types: []*Type{t}})
	b.count(blocklen, "block length")
	b.list(t, nil, blocklen, displs, 1)
	return b.finish()
}

// Struct makes a type of blocks of different types: block i has blocklens[i]
// elements of types[i] and begins displs[i] bytes from the origin
// (MPI_Type_create_struct). Unless bounds were given to a part, the extent is
// rounded up to the alignment of the widest element, as C does.
func Struct(blocklens, displs []int, types []*Type) (*Type, error) {
	b := start("Struct", Envelope{Combiner: CombinerStruct, Ints: slices.Concat([]int{len(blocklens)}, blocklens),
		Addrs: slices.Clone(displs), Types: slices.Clone(types)})
	if len(displs) != len(blocklens) || len(types) != len(blocklens) {
		b.fail(ErrArg, "%d block lengths, %d displacements and %d types", len(blocklens), len(displs), len(types))
		return b.finish()
	}
	for i, t := range types {
		b.count(blocklens[i], "block length")
		b.loop(t, displs[i], 1, 0, blocklens[i])
	}
	b.round = true
	return b.finish()
}

// Resized makes a type of the data of t with other bounds, in bytes
// (MPI_Type_create_resized).
func Resized(t *Type, lb, extent int) (*Type, error) {
	b := start("Resized", Envelope{Combiner: CombinerResized, Addrs: []int{lb, extent}, Types: []*Type{t}})
	b.loop(t, 0, 1, 0, 1)
	b.give(lb, extent)
	return b.finish()
}

// Dup makes a type like t (MPI_Type_dup).
func Dup(t *Type) (*Type, error) {
	b := start("Dup", Envelope{Combiner: CombinerDup, Types: []*Type{t}})
	if !b.valid(t) {
		return b.finish()
	}
	d := *t
	d.env, d.parts, d.name = b.env, []part{{1, t}}, ""
	return &d, nil
}
