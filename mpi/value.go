package mpi

import (
	"context"
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/variants"
)

// Calls on single values: a value goes in, and values come out, without slices.
//
// A value of a type without pointers, as a number or a struct of numbers, travels as
// it lies in memory, and the call costs a small allocation more than the one on slices. Any
// other, as a string, a slice, a map or a struct of these, is encoded by package
// encoding/gob (gob.go). All ranks give the same type T, which says which of
// the two it is.

// SendValue sends one value of any type to rank dest. RecvValue of the same type
// receives it.
//
// A value without pointers is a message of one element: Recv into a slice of one
// receives it too. Any other is encoded by package encoding/gob,
// which is slow: it costs far more than the message itself. What gob leaves out
// does not arrive: unexported fields, functions and channels. An empty slice or map
// may arrive as nil. Types of values in interfaces must be registered
// (gob.Register), and a value must not contain itself. A type of which gob can send
// nothing is refused with ErrType.
func SendValue[T any](c *Comm, v T, dest, tag int) error {
	p := parcelOf(v)
	return c.send("SendValue", variants.Standard, &p, dest, tag)
}

// RecvValue receives a value that SendValue has sent, from rank source or AnySource, with the
// given tag or AnyTag. From ProcNull the value is zero.
//
// A message that is no T is lost, and the value is zero: the error wraps ErrType, or, if T has no
// pointers and the size is another, ErrTruncate or ErrCount. RecvValue probes for the size
// of an encoded value, which the protocol optimistic refuses with ErrAssumption.
func RecvValue[T any](c *Comm, source, tag int) (v T, st Status, err error) {
	const op = "RecvValue"
	if plain[T]() {
		one := make([]T, 1)
		p := of(one)
		st, err := c.recv(op, &p, source, tag)
		if err == nil && st.Source != ProcNull && st.bytes != p.payload() {
			err = c.fail(op, st.Source, st.Tag, p.payload(), fmt.Errorf("%w: %d bytes were sent", ErrCount, st.bytes),
				sameType)
		}
		if e := (*Error)(nil); errors.Is(err, ErrTruncate) && errors.As(err, &e) {
			e.Do = sameType // there is no buffer that could be larger
		}
		if err != nil {
			return v, st, err
		}
		return one[0], st, nil
	}
	m, st, err := c.await(context.Background(), op, source, tag, true) // since its size is not known
	if err != nil {
		return v, st, err
	}
	b := make([]byte, st.bytes)
	if st, err = m.receive(op, of(b)); err != nil || st.Source == ProcNull {
		return v, st, err
	}
	v, err = decode[T](b)
	if err != nil {
		err = c.fail(op, st.Source, st.Tag, len(b), err, sameType)
	}
	return v, st, err
}

const sameType = "receive the type that is sent"

// parcelOf is a value as a message.
func parcelOf[T any](v T) parcel {
	if plain[T]() {
		return of([]T{v})
	}
	b, err := encode(v)
	return parcel{memory: raw(b), err: err}
}

// BcastValue returns the value that rank root gives, at every rank; what the others give
// is ignored. The value may be of any type, as with SendValue.
func BcastValue[T any](c *Comm, v T, root int) (T, error) {
	if !plain[T]() {
		return bcastGob(c, "BcastValue", v, root)
	}
	one := []T{v}
	return first(one, block(bcast(c, "BcastValue", one, root)))
}

// GatherValue returns, at rank root, the values that the ranks give, in their order;
// nil at the others. The values may be of any type, as with SendValue.
func GatherValue[T any](c *Comm, v T, root int) ([]T, error) {
	if !plain[T]() {
		return gatherGob(c, "GatherValue", v, root, false)
	}
	var all []T
	if c.Rank() == root {
		all = make([]T, c.Size())
	}
	return allOf(all, block(gather(c, "GatherValue", []T{v}, all, root)))
}

// AllgatherValue returns the values that the ranks give, in their order, at every
// rank. The values may be of any type, as with SendValue.
func AllgatherValue[T any](c *Comm, v T) ([]T, error) {
	if !plain[T]() {
		return gatherGob(c, "AllgatherValue", v, 0, true)
	}
	all := make([]T, c.Size())
	return allOf(all, block(allgather(c, "AllgatherValue", []T{v}, all)))
}

// ScatterValue returns values[i] of rank root at rank i. The root gives a value for each rank;
// what the others give is ignored. The values may be of any type, as with SendValue.
func ScatterValue[T any](c *Comm, values []T, root int) (T, error) {
	if !plain[T]() {
		return scatterGob(c, "ScatterValue", values, root)
	}
	one := make([]T, 1)
	return first(one, block(scatter(c, "ScatterValue", values, one, root)))
}

// ReduceValue returns the combination of the values that the ranks give at rank root, and
// zero at the others. T has no pointers; op is Sum, Max or its like, or one that NewOp has made.
func ReduceValue[T Element](c *Comm, v T, op Op, root int) (T, error) {
	one := make([]T, 1)
	return first(one, block(reduce(c, "ReduceValue", []T{v}, one, op, root)))
}

// AllreduceValue is ReduceValue whose result every rank gets.
func AllreduceValue[T Element](c *Comm, v T, op Op) (T, error) {
	one := []T{v}
	return first(one, block(whole(c, "AllreduceValue", coll.Allreduce, nil, one, op)))
}

// ScanValue returns the combination of the values of the ranks up to the caller.
func ScanValue[T Element](c *Comm, v T, op Op) (T, error) {
	one := []T{v}
	return first(one, block(whole(c, "ScanValue", coll.Scan, nil, one, op)))
}

// ExscanValue is ScanValue without the caller's own value. At rank 0, which has none before
// it, the result is zero, whatever op is.
func ExscanValue[T Element](c *Comm, v T, op Op) (T, error) {
	one := make([]T, 1)
	return first(one, block(whole(c, "ExscanValue", coll.Exscan, []T{v}, one, op)))
}

// first is the result of a call whose buffer has one element.
func first[T any](one []T, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	return one[0], nil
}

// allOf is the result of a call that fills a buffer.
func allOf[T any](all []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	return all, nil
}
