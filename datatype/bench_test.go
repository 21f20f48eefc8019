package datatype

import (
	"fmt"
	"testing"
)

// BenchmarkPack packs and unpacks 1 MiB of blocks that lie twice their length
// apart, at a constant stride, at listed places and in structs.
func BenchmarkPack(b *testing.B) {
	const total = 1 << 20
	for _, size := range []int{4, 8, 16, 24, 64, 512, 4096} {
		count := total / size
		displs := make([]int, count)
		for i := range displs {
			displs[i] = 2*i*size + i%2*(size/2)
		}
		two := must(Struct([]int{size / 2, size / 2}, []int{0, size}, []*Type{Byte, Byte}))
		for name, t := range map[string]*Type{
			"strided": must(Hvector(count, size, 2*size, Byte)),
			"listed":  must(HindexedBlock(size, displs, Byte)),
			"structs": must(Contiguous(count, must(Resized(two, 0, 2*size)))),
		} {
			v, err := Within(make([]byte, 2*total+2*size), 1, t)
			if err != nil {
				b.Fatal(err)
			}
			packed := make([]byte, v.Size())
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(2 * v.Size()))
				for b.Loop() {
					v.Pack(packed, 0)
					v.Unpack(packed, 0)
				}
			})
		}
	}
}

// BenchmarkCopy moves 1 MiB between two layouts.
func BenchmarkCopy(b *testing.B) {
	const total = 1 << 20
	for _, size := range []int{8, 64, 128, 512, 4096} {
		t := must(Hvector(total/size, size, 2*size, Byte))
		from, _ := Within(make([]byte, 2*total), 1, t)
		to, _ := Within(make([]byte, 2*total), 1, t)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(total)
			for b.Loop() {
				Copy(to, from, 0, total)
			}
		})
	}
}
