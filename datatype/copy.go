package datatype

import "github.com/exanet-mpi/exanet/internal/mem"

// tiny is the average length in bytes of the segments below which Copy goes
// through a buffer in the cache.
const tiny = 1024

// Copy copies the bytes [from, to) of the packed stream of src to the same bytes
// of that of dst, which must not overlap in memory.
func Copy(dst, src View, from, to int) {
	if b, ok := src.Contiguous(); ok {
		dst.Unpack(b[from:to], from)
		return
	}
	if b, ok := dst.Contiguous(); ok {
		src.Pack(b[from:to], from)
		return
	}
	few, other, pack := dst, src, true
	if src.Blocks() < dst.Blocks() {
		few, other, pack = src, dst, false
	}
	if few.Size() < few.Blocks()*tiny {
		var buf [4096]byte
		for from < to {
			n := min(len(buf), to-from)
			src.Pack(buf[:n], from)
			dst.Unpack(buf[:n], from)
			from += n
		}
		return
	}
	var room [32]Segment
	for from < to {
		segs, next := few.Segments(room[:0], from, to)
		for _, s := range segs {
			other.move(mem.Region(few.Base, s.Off, s.Len), from, pack)
			from += s.Len
		}
		from = next
	}
}
