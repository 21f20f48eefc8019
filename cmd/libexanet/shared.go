//go:build mpich || openmpi || abi

package main

// #include "c/shared.h"
import "C"

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll/shm"
	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// The Go side of c/shared.c: short blocking collectives that do not enter Go.

// sharing is in the memory of that part of the library; nil until it has been told of, or if it
// is of another version.
var (
	sharing *shm.Shared
	areas   sync.Mutex // of threads that give C an area, or take one away
)

// cOps and cKinds are those for which C has functions.
var (
	cOps = map[string]uint32{
		mpi.Sum.String(): shm.Sum, mpi.Prod.String(): shm.Prod, mpi.Max.String(): shm.Max, mpi.Min.String(): shm.Min,
		mpi.Band.String(): shm.Band, mpi.Bor.String(): shm.Bor, mpi.Bxor.String(): shm.Bxor,
	}
	cKinds = []datatype.Kind{
		datatype.KindInt8, datatype.KindInt16, datatype.KindInt32, datatype.KindInt64,
		datatype.KindUint8, datatype.KindUint16, datatype.KindUint32, datatype.KindUint64,
		datatype.KindFloat32, datatype.KindFloat64,
	}
)

// Real kinds have no more functions than Sum and Prod.
const realOps = 1<<shm.Sum | 1<<shm.Prod

// exanet_share takes the memory of struct shared, of the given size, and fills it in.
//
//export exanet_share
func exanet_share(p unsafe.Pointer, size uint64) {
	if size != uint64(unsafe.Sizeof(shm.Shared{})) {
		return
	}
	s := (*shm.Shared)(p)
	n := 0
	for h, o := range basicOps {
		if operator, ok := cOps[o.op.String()]; ok && n < shm.Ops {
			s.Ops[n] = shm.Operator{Handle: uint64(h), Operator: uint64(operator)}
			n++
		}
	}
	s.Known = uint64(n)
	for h, b := range basicTypes {
		if _, extent := b.Extent(); extent != b.Size() || extent == 0 {
			continue
		}
		k := b.Kind()
		t := shm.Type{Handle: uint64(h), Size: uint32(b.Size()), Kind: uint32(k)}
		for _, o := range s.Ops[:n] {
			if _, err := opOf(handle(o.Handle), h); err == nil && slices.Contains(cKinds, k) && !hostOnly[h] {
				t.Operators |= 1 << o.Operator
			}
		}
		if k == datatype.KindFloat32 || k == datatype.KindFloat64 {
			t.Operators &= realOps
		}
		at := spread(h) % shm.Types
		for s.Types[at].Size > 0 {
			at = (at + 1) % shm.Types
		}
		s.Types[at] = t
	}
	sharing = s
	shareArea(worldHandle, world())
}

// spread is where C looks for the area or the type of a handle first.
func spread(h handle) int { return int(C.exanet_spread(C.uint64_t(h))) }

// shareArea lets C use the area of a communicator, if it has one and there is a
// place; nil takes it away.
func shareArea(h handle, c *mpi.Comm) {
	if sharing == nil {
		return
	}
	v := &sharing.Areas[spread(h)%shm.Areas]
	if c != nil && atomic.LoadUint64(&v.ID) != 0 {
		return
	}
	areas.Lock()
	defer areas.Unlock()
	switch id := atomic.LoadUint64(&v.ID); {
	case c == nil && id == uint64(h):
		atomic.StoreUint64(&v.ID, 0)
	case c != nil && id == 0 && within.SharedArea(c, v):
		atomic.StoreUint64(&v.ID, uint64(h))
	}
}
