package guest

import (
	"os"

	"golang.org/x/sys/unix"
)

// extent is a part of the RAM, in bytes from its start.
type extent struct{ from, to uint64 }

// written are the parts of the RAM that the guest has ever touched. To read others would
// give them memory.
func (r ram) written(file *os.File) (list []extent) {
	for at := int64(0); ; {
		from, err := file.Seek(at, unix.SEEK_DATA)
		if err != nil {
			return list // none follows
		}
		to, err := file.Seek(from, unix.SEEK_HOLE)
		if err != nil {
			return list
		}
		list = append(list, extent{uint64(from) &^ (pageSize - 1), min(uint64(to), uint64(len(r.b)))})
		at = to
	}
}

// roots finds the tables of the first level that join all pairs. It goes the way back: from
// the page of the first pair to all pages that have an entry for it at the right place, from
// those to theirs, and so on up. What has such an entry by chance, or was a table once, falls
// away with the other pairs.
func (r ram) roots(where []extent, pairs []pair) (roots []uint64) {
	first := pairs[0]
	leads := map[uint64]bool{first.physical &^ (pageSize - 1): true}
	for level := levels - 1; level >= 0; level-- {
		tables := make(map[uint64]bool)
		for _, x := range where {
			for at := x.from; at < x.to; at += pageSize {
				e := r.word(r.base + at + slot(first.virtual, level))
				if e&valid != 0 && e&table != 0 && leads[e&address] {
					tables[r.base+at] = true
				}
			}
		}
		leads = tables
	}
	for root := range leads {
		if r.joins(root, pairs) {
			roots = append(roots, root)
		}
	}
	return roots
}
