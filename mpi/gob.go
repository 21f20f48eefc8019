package mpi

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"
	"slices"
)

// Values with pointers, encoded. The collectives on them exchange the sizes first. A
// rank that cannot encode its value says so by a negative size, so that nobody waits for it.

// unencoded is the size of a value that could not be encoded.
const unencoded = -1

// boxed is what is encoded: a field may be a nil pointer, and any type of which gob
// can send something.
type boxed[T any] struct{ Value T }

func encode[T any](v T) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(boxed[T]{v}); err != nil {
		return nil, &dataError{ErrType, fmt.Sprintf("a %v cannot be sent: %v", reflect.TypeFor[T](), err)}
	}
	return b.Bytes(), nil
}

func decode[T any](b []byte) (T, error) {
	var v boxed[T]
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&v); err != nil {
		var zero T
		return zero, &dataError{ErrType, fmt.Sprintf("what came is no %v: %v", reflect.TypeFor[T](), err)}
	}
	return v.Value, nil
}

// sizeOf is the size that a rank tells the others.
func sizeOf(b []byte, err error) int {
	if err != nil {
		return unencoded
	}
	return len(b)
}

// refused is the error of a call whose value this rank could not encode, for the reason
// own, or else rank peer.
func (c *Comm) refused(op string, peer int, own error) error {
	if own != nil {
		return c.fail(op, noValue, noValue, noValue, own, "")
	}
	return c.fail(op, peer, noValue, noValue, &dataError{ErrType, "that rank could not encode its value"},
		"see the error there")
}

func bcastGob[T any](c *Comm, op string, v T, root int) (zero T, _ error) {
	var b []byte
	var failed error
	if c.Rank() == root {
		b, failed = encode(v)
	}
	size := []int{sizeOf(b, failed)}
	if err := block(bcast(c, op, size, root)); err != nil {
		return zero, err
	}
	if size[0] == unencoded {
		return zero, c.refused(op, root, failed)
	}
	if c.Rank() != root {
		b = make([]byte, size[0])
	}
	if err := block(bcast(c, op, b, root)); err != nil {
		return zero, err
	}
	return decodeOf[T](c, op, root, b)
}

// decodeOf decodes the value of rank peer.
func decodeOf[T any](c *Comm, op string, peer int, b []byte) (T, error) {
	v, err := decode[T](b)
	if err != nil {
		err = c.fail(op, peer, noValue, len(b), err, "give the same type at all ranks")
	}
	return v, err
}

// gatherGob returns the values of all ranks at the root, or everywhere.
func gatherGob[T any](c *Comm, op string, v T, root int, everywhere bool) ([]T, error) {
	b, failed := encode(v)
	counts, total := make([]int, c.Size()), 0
	if err := block(allgather(c, op, []int{sizeOf(b, failed)}, counts)); err != nil {
		return nil, err
	}
	for i, n := range counts {
		if n == unencoded {
			return nil, c.refused(op, i, failed)
		}
		total += n
	}
	var all []byte
	var err error
	if everywhere || c.Rank() == root {
		all = make([]byte, total)
	}
	if everywhere {
		err = block(allgatherv(c, op, b, all, counts, nil))
	} else {
		err = block(gatherv(c, op, b, all, counts, nil, root))
	}
	if err != nil || all == nil {
		return nil, err
	}
	values := make([]T, len(counts))
	for i, n := range counts {
		if values[i], err = decodeOf[T](c, op, i, all[:n]); err != nil {
			return nil, err
		}
		all = all[n:]
	}
	return values, nil
}

func scatterGob[T any](c *Comm, op string, values []T, root int) (zero T, _ error) {
	var sizes []int
	var all []byte
	var failed error
	if c.Rank() == root {
		sizes, all, failed = encodeAll(c, values)
	}
	mine := make([]int, 1)
	if err := block(scatter(c, op, sizes, mine, root)); err != nil {
		return zero, err
	}
	if mine[0] == unencoded {
		return zero, c.refused(op, root, failed)
	}
	b := make([]byte, mine[0])
	if err := block(scatterv(c, op, all, sizes, nil, b, root)); err != nil {
		return zero, err
	}
	return decodeOf[T](c, op, root, b)
}

// encodeAll encodes a value for each rank, one behind the other, or tells all that it cannot.
func encodeAll[T any](c *Comm, values []T) (sizes []int, all []byte, failed error) {
	if n := c.Size(); len(values) != n {
		failed = &dataError{ErrCount, fmt.Sprintf("the root gives %d values for %d ranks", len(values), n)}
	}
	for _, v := range values {
		var b []byte
		if failed == nil {
			b, failed = encode(v)
		}
		sizes, all = append(sizes, len(b)), append(all, b...)
	}
	if failed != nil {
		sizes = slices.Repeat([]int{unencoded}, c.Size())
	}
	return sizes, all, failed
}
