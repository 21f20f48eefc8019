//go:build mpich || openmpi

package main

import "C" // for what is exported

import (
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// The Go side of entry/shared.c: short blocking collectives that do not enter Go.

// sharing is struct shared of entry/shared.h, in the memory of that part of the library;
// nil until it has been told of, or if it is of another version.
var sharing *shared

type shared struct {
	boards [sharedBoards]board.View
	types  [sharedTypes]sharedType
	ops    [sharedOps]sharedOp
	known  uint64 // of them
}

const (
	sharedBoards = 64
	sharedTypes  = 256
	sharedOps    = 16
)

type sharedType struct {
	h                     handle
	size, kind, operators uint32
}

type sharedOp struct {
	h        handle
	operator uint32
}

// twinOps and twinKinds are those for which the twin has functions: enum board_operator
// and enum board_kind.
var (
	twinOps   = map[string]uint32{mpi.Sum.String(): 0, mpi.Prod.String(): 1, mpi.Max.String(): 2, mpi.Min.String(): 3, mpi.Band.String(): 4, mpi.Bor.String(): 5, mpi.Bxor.String(): 6}
	twinKinds = map[datatype.Kind]uint32{
		datatype.KindInt8: 1, datatype.KindInt16: 2, datatype.KindInt32: 3, datatype.KindInt64: 4,
		datatype.KindUint8: 5, datatype.KindUint16: 6, datatype.KindUint32: 7, datatype.KindUint64: 8,
		datatype.KindFloat32: 9, datatype.KindFloat64: 10,
	}
)

// real kinds have no more functions than Sum and Prod.
const realOps = 1<<0 | 1<<1

// exanet_share takes the memory of struct shared, of the given size, and fills it in.
//
//export exanet_share
func exanet_share(p unsafe.Pointer, size uint64) {
	if size != uint64(unsafe.Sizeof(shared{})) {
		return
	}
	s := (*shared)(p)
	n := 0
	for h, o := range basicOps {
		if operator, ok := twinOps[o.op.String()]; ok && n < sharedOps {
			s.ops[n] = sharedOp{h, operator}
			n++
		}
	}
	s.known = uint64(n)
	for _, b := range basicTypes.slots {
		if b.to == nil {
			continue
		}
		if _, extent := b.to.Extent(); extent != b.to.Size() || extent == 0 {
			continue
		}
		t := sharedType{h: b.h, size: uint32(b.to.Size()), kind: twinKinds[b.to.Kind()]}
		for _, o := range s.ops[:n] {
			if _, err := opOf(o.h, b.h); err == nil && t.kind > 0 && !hostOnly[b.h] {
				t.operators |= 1 << o.operator
			}
		}
		if k := b.to.Kind(); k == datatype.KindFloat32 || k == datatype.KindFloat64 {
			t.operators &= realOps
		}
		at := spread(b.h) % sharedTypes
		for s.types[at].size > 0 {
			at = (at + 1) % sharedTypes
		}
		s.types[at] = t
	}
	sharing = s
	shareBoard(worldHandle, world())
}

// spread is where a handle is looked for.
func spread(h handle) uint64 { return uint64(h) * 0x9e3779b97f4a7c15 >> 56 }

// shareBoard lets the twin use the board of a communicator, if it has one and there is a
// place; nil takes it away.
func shareBoard(h handle, c *mpi.Comm) {
	if sharing == nil {
		return
	}
	v := &sharing.boards[spread(h)%sharedBoards]
	switch id := atomic.LoadUint64(&v.ID); {
	case c == nil && id == uint64(h):
		atomic.StoreUint64(&v.ID, 0)
	case c != nil && id == 0 && c.Board(v):
		atomic.StoreUint64(&v.ID, uint64(h))
	}
}
