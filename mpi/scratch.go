package mpi

import "github.com/exanet-mpi/exanet/internal/mem"

// borrow returns scratch memory of the rank for n elements.
func borrow[T Element](c *Comm, n int) []T {
	var t [1]T
	bytes := n * len(mem.Bytes(t[:]))
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, b := range k.scratch {
		if len(b) >= bytes {
			last := len(k.scratch) - 1
			k.scratch[i] = k.scratch[last]
			k.scratch = k.scratch[:last]
			return mem.Slice[T](b)[:n]
		}
	}
	return mem.Slice[T](mem.Bytes(make([]uint64, max(bytes, 4096)/8+1)))[:n]
}

// scratchKept bounds the scratch buffers that a rank keeps.
const scratchKept = 4

func giveBack[T Element](c *Comm, s []T) {
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.scratch) < scratchKept {
		k.scratch = append(k.scratch, mem.Bytes(s[:cap(s)]))
	}
}
