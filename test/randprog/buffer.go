package randprog

import (
	"bytes"
	"hash/maphash"
	"math/rand/v2"
	"sync"
)

// Memory around and in buffers. A region is a guard, a buffer and a guard.
const (
	guardByte   = 0xA5
	scribbled   = 0x5C // what a sender leaves in its buffer once it may
	guardSize   = 64
	chunkSize   = 256 << 10
	patternSpan = 128 << 10 // messages start at so many offsets of patterns
)

// patterns is the random data that messages are cut from. guards and scribbles
// are constant data to compare with.
var patterns, guards, scribbles = func() (p, g, s []byte) {
	r := rand.NewChaCha8([32]byte{1})
	p = make([]byte, maxMessage+patternSpan)
	_, _ = r.Read(p) // never fails
	return p, bytes.Repeat([]byte{guardByte}, 2*maxMessage), bytes.Repeat([]byte{scribbled}, maxMessage)
}()

// payload returns the bytes of the message that operation op sends. They must
// not be changed.
func payload(seed uint64, op, size int) []byte {
	off := (seed*0x9e3779b97f4a7c15>>40 + uint64(op)*7919) % patternSpan
	return patterns[off : int(off)+size]
}

var sumSeed = maphash.MakeSeed()

// sum digests a region, to tell later whether it was written.
func sum(region []byte) uint64 { return maphash.Bytes(sumSeed, region) }

// inner returns the buffer of a region.
func inner(region []byte) []byte {
	return region[guardSize : len(region)-guardSize : len(region)-guardSize]
}

// allGuard reports whether b holds nothing but guard bytes.
func allGuard(b []byte) bool { return bytes.Equal(b, guards[:len(b)]) }

// arena hands out regions full of guard bytes. It belongs to one goroutine.
type arena struct {
	chunk []byte
	used  int
}

var chunks = sync.Pool{New: func() any {
	c := bytes.Clone(guards[:chunkSize])
	return &c
}}

// region returns a region for a buffer of size bytes at an odd alignment.
func (a *arena) region(size, align int) []byte {
	n := size + 2*guardSize
	if n+align > chunkSize {
		return bytes.Clone(guards[:n+align])[align:]
	}
	if a.chunk == nil || a.used+n+align > chunkSize {
		a.chunk, a.used = *chunks.Get().(*[]byte), 0
	}
	r := a.chunk[a.used+align : a.used+align+n : a.used+align+n]
	a.used += n + align
	return r
}

// clean refills the first chunk for reuse. Nothing must be written to any
// region any more; earlier chunks are left to the collector.
func (a *arena) clean() {
	if a.chunk != nil {
		c := a.chunk
		copy(c[:a.used], guards)
		chunks.Put(&c)
		a.chunk, a.used = nil, 0
	}
}
