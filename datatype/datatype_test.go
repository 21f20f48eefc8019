package datatype

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (a arena) view(count int, t *Type) View { return View{unsafe.Pointer(&a.mem[a.org]), count, t} }

func (a arena) fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range a.mem {
		a.mem[i] = byte(r.Uint32())
	}
}

// Random types against the definition of the standard.
func TestTypesAgreeWithTheirTypemaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 3)
		count := rapid.IntRange(0, 3).Draw(t, "count")
		stream := x.o.stream(count)
		if len(stream) > 1<<14 {
			t.Skip("large")
		}
		size := 0
		for _, e := range x.o.entries {
			size += e.size
		}
		require.Equal(t, size, x.t.Size())
		require.Equal(t, len(x.o.entries), x.t.Elements())
		lb, extent := x.t.Extent()
		require.Equal(t, [2]int{x.o.lb, x.o.extent()}, [2]int{lb, extent})
		lb, extent = x.t.TrueExtent()
		wantLB, wantUB := x.o.trueBounds()
		require.Equal(t, [2]int{wantLB, wantUB - wantLB}, [2]int{lb, extent})

		a := arenaFor(stream)
		v := a.view(count, x.t)
		require.Equal(t, len(stream), v.Size())
		from, to := v.Span()
		for i, at := range stream {
			if i == 0 {
				wantLB, wantUB = at, at+1
			}
			wantLB, wantUB = min(wantLB, at), max(wantUB, at+1)
		}
		if len(stream) == 0 {
			wantLB, wantUB = 0, 0
		}
		require.Equal(t, [2]int{wantLB, wantUB}, [2]int{from, to})

		at := rapid.IntRange(0, len(stream)).Draw(t, "from")
		end := rapid.IntRange(at, len(stream)).Draw(t, "to")
		a.fill(rapid.Uint64().Draw(t, "seed"))
		want := make([]byte, end-at)
		for i := range want {
			want[i] = a.mem[a.org+stream[at+i]]
		}
		got := make([]byte, end-at)
		v.Pack(got, at)
		require.Equal(t, want, got)
		checkSegments(t, v, a, at, end, want)
		if b, ok := v.Contiguous(); ok {
			require.Equal(t, want, append([]byte{}, b[at:end]...))
		}
		if distinct(stream) {
			checkUnpack(t, v, a, stream, at, got)
		}
		for n := range len(stream) + 1 {
			require.Equal(t, x.o.elementsIn(n), x.t.ElementsIn(n), "elements in %d bytes", n)
		}
	})
}

func (o *oracle) elementsIn(n int) (count int) {
	for n > 0 && len(o.entries) > 0 {
		for _, e := range o.entries {
			if n == 0 {
				return count
			}
			if n < e.size {
				return -1
			}
			n -= e.size
			count++
		}
	}
	return count
}

func checkSegments(t *rapid.T, v View, a arena, from, to int, want []byte) {
	room := rapid.IntRange(1, 5).Draw(t, "room")
	var got []byte
	for at := from; at < to; {
		segs, next := v.Segments(make([]Segment, 0, room), at, to)
		require.Greater(t, next, at)
		for i, s := range segs {
			if i > 0 {
				require.NotEqual(t, segs[i-1].Off+segs[i-1].Len, s.Off, "neighbours are joined")
			}
			got = append(got, a.mem[a.org+s.Off:][:s.Len]...)
		}
		at = next
	}
	require.Equal(t, string(want), string(got))
}

func checkUnpack(t *rapid.T, v View, a arena, stream []int, from int, packed []byte) {
	b := arena{make([]byte, len(a.mem)), a.org}
	b.fill(77)
	want := append([]byte{}, b.mem...)
	for i, c := range packed {
		want[b.org+stream[from+i]] = c
	}
	b.view(v.Count, v.Type).Unpack(packed, from)
	require.Equal(t, want, b.mem, "nothing else is touched")
}

// Copy moves between any two layouts of the same size.
func TestCopyBetweenLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := draw(t, 2), draw(t, 2)
		if x.t.Size() == 0 || y.t.Size() == 0 {
			t.Skip("no data")
		}
		scale := rapid.SampledFrom([]int{1, 40}).Draw(t, "scale")
		xs, ys := x.o.stream(scale*y.t.Size()), y.o.stream(scale*x.t.Size())
		if len(xs) > 1<<15 || !distinct(ys) {
			t.Skip("large, or overlapping")
		}
		a, b := arenaFor(xs), arenaFor(ys)
		a.fill(1)
		b.fill(2)
		from := rapid.IntRange(0, len(xs)).Draw(t, "from")
		to := rapid.IntRange(from, len(xs)).Draw(t, "to")
		want := append([]byte{}, b.mem...)
		for i := from; i < to; i++ {
			want[b.org+ys[i]] = a.mem[a.org+xs[i]]
		}
		Copy(b.view(scale*x.t.Size(), y.t), a.view(scale*y.t.Size(), x.t), from, to)
		require.Equal(t, want, b.mem)
	})
}
