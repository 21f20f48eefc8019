// Package randtype draws random datatypes and messages of them, for tests of
// whatever moves them.
package randtype

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"github.com/exanet-mpi/exanet/datatype"
)

// Draw makes a random type of elements of t, none of whose data overlap, also if
// many follow each other. depth bounds how often constructors are nested, and block
// the elements that lie together.
func Draw(r *rand.Rand, t *datatype.Type, depth, block int) *datatype.Type {
	if depth == 0 {
		return must(datatype.Contiguous(1+r.IntN(block), t))
	}
	in := Draw(r, t, depth-1, block)
	_, extent := in.Extent()
	n, length := 1+r.IntN(6), 1+r.IntN(3)
	gap := r.IntN(3) * r.IntN(4)
	switch r.IntN(8) {
	case 0:
		return must(datatype.Contiguous(n, in))
	case 1:
		return enclosed(must(datatype.Vector(n, length, length+gap, in)))
	case 2:
		return enclosed(must(datatype.Hvector(n, length, -(length*extent + gap), in)))
	case 3:
		displs := r.Perm(n)
		for i := range displs {
			displs[i] *= length + gap
		}
		return enclosed(must(datatype.IndexedBlock(length, displs, in)))
	case 4:
		lens, displs := make([]int, n), make([]int, n)
		for at, i := range r.Perm(n) {
			lens[i], displs[i] = 1+r.IntN(length), at*(length*extent+gap)
		}
		return enclosed(must(datatype.Hindexed(lens, displs, in)))
	case 5:
		other := Draw(r, t, depth-1, block)
		_, size := other.Extent()
		return enclosed(must(datatype.Struct([]int{1, length, 1},
			[]int{length*extent + gap, 0, length*extent + extent + 2*gap + size},
			[]*datatype.Type{in, in, enclosed(other)})))
	case 6:
		sizes := []int{n + 1, length + 2, 1 + r.IntN(4)}
		subs := []int{1 + r.IntN(sizes[0]), 1 + r.IntN(sizes[1]), 1 + r.IntN(sizes[2])}
		starts := []int{r.IntN(sizes[0] - subs[0] + 1), r.IntN(sizes[1] - subs[1] + 1), r.IntN(sizes[2] - subs[2] + 1)}
		order := []datatype.Order{datatype.OrderC, datatype.OrderFortran}[r.IntN(2)]
		return must(datatype.Subarray(sizes, subs, starts, order, in))
	default:
		return must(datatype.Darray(4, 0, []int{n + 1, 3},
			[]datatype.Distribution{datatype.DistributeCyclic, datatype.DistributeBlock},
			[]int{1 + r.IntN(2), datatype.DistributeDefault}, []int{2, 2}, datatype.OrderC, in))
	}
}

// enclosed gives a type bounds that hold all its data.
func enclosed(t *datatype.Type) *datatype.Type {
	lb, extent := t.TrueExtent()
	_, had := t.Extent()
	return must(datatype.Resized(t, lb, max(extent, had)))
}

func must(t *datatype.Type, err error) *datatype.Type {
	if err != nil {
		panic(err)
	}
	return t
}

// Message is a view with the memory around it.
type Message struct {
	View   datatype.View
	memory []byte
	before []byte // what memory was when the message was made
}

// New makes a message of count elements of t in memory filled from a seed.
func New(count int, t *datatype.Type, seed uint64) *Message {
	from, to := datatype.View{Count: count, Type: t}.Span()
	from, to = min(from, 0), max(to, 0) // a pointer to the origin must be one to this memory
	const margin = 64
	memory := make([]byte, to-from+2*margin)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(memory) // never fails
	base := unsafe.Add(unsafe.Pointer(unsafe.SliceData(memory)), margin-from)
	return &Message{datatype.View{Base: base, Count: count, Type: t}, memory, bytes.Clone(memory)}
}

// Data returns the first n bytes of the packed stream.
func (m *Message) Data(n int) []byte {
	b := make([]byte, n)
	m.View.Pack(b, 0)
	return b
}

// Scribble overwrites all of the memory.
func (m *Message) Scribble() {
	for i := range m.memory {
		m.memory[i] = 0x5c
	}
}

// Check reports what is wrong if the message does not begin with data, or
// anything beside them has changed.
func (m *Message) Check(data []byte) error {
	if got := m.Data(len(data)); !bytes.Equal(got, data) {
		i := 0
		for got[i] == data[i] {
			i++
		}
		return fmt.Errorf("%d elements of %v: byte %d of %d is %#x, not %#x", m.View.Count, m.View.Type, i, len(data),
			got[i], data[i])
	}
	was := *m
	was.memory = bytes.Clone(m.before)
	off := uintptr(m.View.Base) - uintptr(unsafe.Pointer(unsafe.SliceData(m.memory)))
	was.View.Base = unsafe.Add(unsafe.Pointer(unsafe.SliceData(was.memory)), off)
	was.View.Unpack(data, 0)
	if !bytes.Equal(was.memory, m.memory) {
		i := 0
		for was.memory[i] == m.memory[i] {
			i++
		}
		return fmt.Errorf("%d elements of %v: byte %d of the memory around %d bytes of data is %#x, not %#x",
			m.View.Count, m.View.Type, i, len(data), m.memory[i], was.memory[i])
	}
	return nil
}
