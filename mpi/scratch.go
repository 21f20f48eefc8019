package mpi

import "github.com/exanet-mpi/exanet/internal/mem"

// borrow returns scratch memory of the rank for n elements.
func borrow[T Element](c *Comm, n int) []T {
	var t [1]T
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	return mem.Slice[T](k.takeScratch(n * len(mem.Bytes(t[:]))))[:n]
}

func giveBack[T Element](c *Comm, s []T) {
	k := c.rank
	k.mu.Lock()
	defer k.mu.Unlock()
	k.putScratch(mem.Bytes(s[:cap(s)]))
}

// takeScratch is borrow with the lock held. What it returns may be longer.
func (k *rank) takeScratch(bytes int) []byte {
	for i, b := range k.scratch {
		if len(b) >= bytes {
			last := len(k.scratch) - 1
			k.scratch[i] = k.scratch[last]
			k.scratch = k.scratch[:last]
			return b
		}
	}
	return mem.Bytes(make([]uint64, max(bytes, 4096)/8+1))
}

// scratchKept bounds the scratch buffers that a rank keeps.
const scratchKept = 4

func (k *rank) putScratch(b []byte) {
	if len(k.scratch) < scratchKept {
		k.scratch = append(k.scratch, b)
	}
}
