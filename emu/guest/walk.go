package guest

import "github.com/exanet-mpi/exanet/internal/mem"

// ram is the RAM of a guest, which changes at any time.
type ram struct {
	b    []byte
	base uint64 // physical address of b[0]
}

// at returns size bytes at a physical address, nil if it has no RAM.
func (r ram) at(phys, size uint64) []byte {
	from, end := phys-r.base, uint64(len(r.b)) // below the base it wraps around
	if from > end || size > end-from {
		return nil
	}
	return r.b[from:][:size:size]
}

// word reads an entry of a table, 0, which is not valid, if there is no RAM.
func (r ram) word(phys uint64) uint64 {
	b := r.at(phys, 8)
	if b == nil {
		return 0
	}
	return mem.U64(b, 0).Load()
}

// Tables of ARMv8 with pages of 4 KiB and addresses of 48 bits: four levels of 512 entries.
const (
	levels    = 4
	pageShift = 12
	pageSize  = 1 << pageShift
	virtual   = 1 << 48
)

// In an entry.
const (
	valid    = 1 << 0
	table    = 1 << 1 // to the next level; in the last one: to a page, as it must be there
	user     = 1 << 6 // the process may access it, not just the kernel
	readOnly = 1 << 7
	address  = virtual - pageSize
)

// access is what a page is wanted for.
type access bool

const (
	forReading access = false
	forWriting access = true
)

// span is how much an entry of a level leads to.
func span(level int) uint64 { return pageSize << (9 * (levels - 1 - level)) }

// slot is where in its table of a level the entry for an address is.
func slot(addr uint64, level int) uint64 { return addr / span(level) % 512 * 8 }

// walk translates an address by the tables from root, and tells how many bytes from there
// on lie together. It fails where the process itself would fault.
func (r ram) walk(root, addr uint64, how access) (phys, left uint64, ok bool) {
	if addr >= virtual {
		return 0, 0, false
	}
	at := root
	for level := range levels {
		e := r.word(at + slot(addr, level))
		if e&valid == 0 {
			return 0, 0, false
		}
		if (level == levels-1) == (e&table != 0) { // a page, or a block that takes the place of a table
			if level == 0 || e&user == 0 || how == forWriting && e&readOnly != 0 {
				return 0, 0, false
			}
			within := addr % span(level)
			return e&address&^(span(level)-1) + within, span(level) - within, true
		}
		at = e & address
	}
	return 0, 0, false // no table follows that of the last level
}

// pair is a virtual address and the physical one that it has.
type pair struct{ virtual, physical uint64 }

// joins reports whether the tables from root have all of the pairs.
func (r ram) joins(root uint64, pairs []pair) bool {
	for _, p := range pairs {
		if phys, _, ok := r.walk(root, p.virtual, forReading); !ok || phys != p.physical {
			return false
		}
	}
	return true
}
