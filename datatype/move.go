package datatype

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// move copies the bytes [from, from+len(buf)) of the packed stream between the
// layout and buf: out of the layout if pack is true, else into it. base is the
// address of the origin org.
func (n *node) move(base unsafe.Pointer, org int, buf []byte, from int, pack bool) {
	org += n.off
	switch n.op {
	case opBlock:
		moveBlock(base, org+from, buf, pack)
	case opStrided:
		n.moveStrided(base, org, buf, from, pack)
	case opBlocks:
		n.moveBlocks(base, org, buf, from, pack)
	case opLoop:
		for i, r := from/n.body.size, from%n.body.size; len(buf) > 0; i, r = i+1, 0 {
			k := min(n.body.size-r, len(buf))
			n.body.move(base, org+i*n.stride, buf[:k], r, pack)
			buf = buf[k:]
		}
	case opList:
		for i, begin := find(n.ends, from); len(buf) > 0; i++ {
			kid := &n.kids[i]
			k := min(begin+kid.size-from, len(buf))
			kid.move(base, org, buf[:k], from-begin, pack)
			buf = buf[k:]
			from += k
			begin += kid.size
		}
	}
}

func moveBlock(base unsafe.Pointer, off int, buf []byte, pack bool) {
	if pack {
		copy(buf, mem.Region(base, off, len(buf)))
	} else {
		copy(mem.Region(base, off, len(buf)), buf)
	}
}

func (n *node) moveStrided(base unsafe.Pointer, org int, buf []byte, from int, pack bool) {
	i, r := from/n.block, from%n.block
	org += i * n.stride
	if r > 0 || len(buf) < n.block {
		k := min(n.block-r, len(buf))
		moveBlock(base, org+r, buf[:k], pack)
		buf = buf[k:]
		org += n.stride
	}
	whole := len(buf) / n.block
	if pack {
		mem.Gather(buf, base, org, n.block, n.stride, whole)
	} else {
		mem.Scatter(buf, base, org, n.block, n.stride, whole)
	}
	if rest := buf[whole*n.block:]; len(rest) > 0 {
		moveBlock(base, org+whole*n.stride, rest, pack)
	}
}

func (n *node) moveBlocks(base unsafe.Pointer, org int, buf []byte, from int, pack bool) {
	for i, begin := n.seek(from); len(buf) > 0; i++ {
		if n.places.ends == nil && from == begin && len(buf) >= n.block {
			displs := n.places.offs[i : i+len(buf)/n.block]
			if pack {
				mem.GatherAt(buf, base, org, n.block, displs)
			} else {
				mem.ScatterAt(buf, base, org, n.block, displs)
			}
			whole := len(displs) * n.block
			buf, from, begin, i = buf[whole:], from+whole, begin+whole, i+len(displs)
			if len(buf) == 0 {
				return
			}
		}
		off, size := n.place(i)
		k := min(begin+size-from, len(buf))
		moveBlock(base, org+off+from-begin, buf[:k], pack)
		buf = buf[k:]
		from += k
		begin += size
	}
}
