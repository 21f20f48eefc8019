package shm

import (
	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// View is an area as code in C sees it, which makes short calls of one round: it publishes and waits in
// the same memory. What takes long it leaves to Go, with this rank's part published (line.posted).
//
//exanet:c collective_area
type View struct {
	ID                                uint64 // 0: there is none
	head, own, lines, slots, segments uint64 // addresses
	Bells                             uint64 // the address of rank 0's doorbell
	BellStep                          uint32 // bytes from one rank's to the next
	segment, me, ranks, fenced        uint32
	spins, yields, handOver           uint32                   // see Area; nanoseconds
	Limit                             [coll.Collectives]uint64 // C makes calls of fewer bytes
	Counts                            [coll.Collectives]Count
}

// Count is the calls of a collective that have ended in C, and their bytes.
//
//exanet:c collective_count
type Count struct{ Calls, Bytes uint64 }

// Operators for which C has functions.
//
//exanet:c OPERATOR_
const (
	Sum uint32 = iota
	Prod
	Max
	Min
	Band
	Bor
	Bxor
	Operators
)

// Type is a predefined type whose elements lie in one piece, by its handle.
//
//exanet:c shared_type
type Type struct {
	Handle    uint64
	Size      uint32
	Kind      uint32 // datatype.Kind
	Operators uint32 // a bit for each that serves the type; none but those of Sum and Prod for real kinds
	_         uint32
}

// Operator is a predefined operator, by its handle.
//
//exanet:c shared_op
type Operator struct {
	Handle   uint64
	Operator uint64
}

// The rooms of Shared. Areas and types lie where exanet_spread (cmd/libexanet/c/shared.h) has it for
// their handles, types behind there if need be.
//
//exanet:c SHARED_
const (
	Areas = 64
	Types = 256
	Ops   = 16
)

// Shared is what C is told.
//
//exanet:c shared
type Shared struct {
	Areas [Areas]View
	Types [Types]Type
	Ops   [Ops]Operator
	Known uint64 // of them
}

// View fills in what C needs of an area, but for the bells, and the ID, which comes last.
// Calls up to so many bytes are made with copies, as the table has it.
func (a *Area) View(v *View, upTo func(coll.Collective) int) {
	fenced := uint32(0)
	if a.Fenced {
		fenced = 1
	}
	*v = View{
		head: mem.Ref(a.head), own: mem.Ref(a.own),
		lines: mem.AddrOf(a.lines), slots: mem.AddrOf(a.slots), segments: mem.AddrOf(a.segments),
		segment: uint32(a.segment), me: uint32(a.Me), ranks: uint32(a.Ranks), fenced: fenced,
		spins: uint32(a.Spins), yields: uint32(a.Yields), handOver: uint32(a.HandOver),
	}
	for op := coll.Barrier; op <= coll.Exscan; op++ {
		if Vector(op) && a.FormOf(&coll.Call{Op: op}, false) != Copied {
			continue
		}
		room := a.segment
		if op == coll.Scatter || op == coll.Alltoall {
			room /= a.Ranks
		}
		limit := min(upTo(op), room) + 1
		if op == coll.Allreduce {
			limit = min(limit, a.Split)
		}
		v.Limit[op] = uint64(max(0, limit))
	}
}
