package checking

import (
	"fmt"

	"github.com/exanet-mpi/exanet/datatype"
)

// Sequence is a type signature as MPI matches it: which basic elements follow each other. Integers
// are the same with and without sign.
type Sequence struct {
	Sum uint64 // a digest of the classes of the elements, in order
	N   int    // elements
	Any bool   // some are bytes without a type (MPI_BYTE, MPI_PACKED), which match everything
}

// base is odd, so the digests of sequences of one class of different length differ.
const base = 0x9e3779b97f4a7c15

// then is the sequence of a followed by b.
func (a Sequence) then(b Sequence) Sequence {
	return Sequence{Sum: a.Sum*power(b.N) + b.Sum, N: a.N + b.N, Any: a.Any || b.Any}
}

func power(n int) uint64 {
	p := uint64(1)
	for b := uint64(base); n > 0; n >>= 1 {
		if n&1 == 1 {
			p *= b
		}
		b *= b
	}
	return p
}

// times is a, n times.
func (a Sequence) times(n int) (s Sequence) {
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			s = s.then(a)
		}
		a = a.then(a)
	}
	return s
}

// element is the sequence of one element.
func element(k datatype.Kind) Sequence {
	if k >= datatype.KindUint8 && k <= datatype.KindUint64 {
		k -= datatype.KindUint8 - datatype.KindInt8
	}
	return Sequence{Sum: uint64(k) * base, N: 1, Any: k == datatype.KindByte}
}

// First is the sequence of the first n basic elements of a row of elements of t, as far as it goes.
func First(t *datatype.Type, n int) (s Sequence) {
	if t.Elements() == 0 || n <= 0 {
		return s
	}
	var whole, rest Sequence
	left := n % t.Elements()
	t.Runs(func(k datatype.Kind, count int) {
		e := element(k)
		whole = whole.then(e.times(count))
		some := min(left, count)
		rest = rest.then(e.times(some))
		left -= some
	})
	return whole.times(n / t.Elements()).then(rest)
}

// Of is the sequence of count elements of t.
func Of(t *datatype.Type, count int) Sequence { return First(t, count*t.Elements()) }

// Matches reports whether the sequences are the same, as far as can be known.
func (a Sequence) Matches(b Sequence) bool {
	return a.Any || b.Any || a.Sum == b.Sum && a.N == b.N
}

// Describe names count elements of a type, in words.
func Describe(t *datatype.Type, count int) string {
	if t.Elements() == 0 {
		return "no data"
	}
	if k := t.Kind(); k != 0 {
		n := count * t.Elements()
		if _, _, pair := k.Pair(); pair {
			n /= 2
		}
		return fmt.Sprintf("%d %v", n, k)
	}
	return fmt.Sprintf("%d structs of %d elements", count, t.Elements())
}
