package boardc

// #cgo CFLAGS: -O2 -D_GNU_SOURCE
// #include "wait.h"
//
// static uint32_t gauge_way(struct across *g, size_t n, uint32_t forms) { struct across_way w = across_way(g, n, forms); return w.form << 1 | w.timed; }
// static int gauge_prepares(struct across *g, size_t n) { return across_prepares(g, n); }
// static void gauge_note(struct across *g, uint64_t told, uint64_t ticks, uint32_t forms) { across_note(g, told, ticks, forms); }
// static int rank_needs(const struct board *b, uint32_t core, uint64_t missing) { return needed(b, core, missing); }
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
	"github.com/exanet-mpi/exanet/internal/across"
)

// Perform makes a call of n bytes on a board, with sums of bytes as its reductions, and
// reports whether it has ended; else it is to be made in Go.
func Perform(v *board.View, x *coll.Call, n int) bool {
	if unsafe.Sizeof(*v) != C.sizeof_struct_board {
		panic("boardc: the views differ in Go and in C")
	}
	b, op, sum := (*C.struct_board)(unsafe.Pointer(v)), C.enum_board_op(x.Op), C.board_fold_of(C.BOARD_SUM, C.BOARD_U8)
	send, recv := unsafe.Pointer(unsafe.SliceData(x.Send)), unsafe.Pointer(unsafe.SliceData(x.Recv))
	switch x.Op {
	case coll.ReduceScatter, coll.ReduceScatterBlock:
		lo, hi := x.RecvBlocks.Span(x.Rank)
		return C.board_reduce_scatter(b, op, send, recv, C.size_t(n), C.size_t(lo), C.size_t(hi), 1, sum) != 0
	case coll.Allgatherv:
		return C.board_allgatherv(b, send, blocks(x, &x.RecvBlocks, recv)) != 0
	case coll.Gatherv:
		return C.board_gatherv(b, C.int(x.Root), send, C.size_t(len(x.Send)), blocks(x, &x.RecvBlocks, recv)) != 0
	case coll.Scatterv:
		return C.board_scatterv(b, C.int(x.Root), blocks(x, &x.SendBlocks, send), recv, C.size_t(len(x.Recv))) != 0
	case coll.Alltoallv:
		return C.board_alltoallv(b, blocks(x, &x.SendBlocks, send), blocks(x, &x.RecvBlocks, recv)) != 0
	}
	return C.board_perform(b, op, C.int(x.Root), send, recv, C.size_t(n), 1, sum) != 0
}

// Needed reports whether a rank that yields leaves a core, from 1, to another one that may go on;
// missing is what its line tells that it looks for.
func Needed(v *board.View, core uint32, missing uint64) bool {
	return C.rank_needs((*C.struct_board)(unsafe.Pointer(v)), C.uint32_t(core), C.uint64_t(missing)) != 0
}

// Passed is that of package board.
func Passed(v *board.View) { C.board_passed((*C.struct_board)(unsafe.Pointer(v))) }

// Way is the Way of a gauge, Prepares its Prepares, and Note its Note.
func Way(g *across.Gauge, n int, f across.Forms) across.Way {
	w := C.gauge_way((*C.struct_across)(unsafe.Pointer(g)), C.size_t(n), C.uint32_t(f))
	return across.Way{Form: across.Form(w >> 1), Timed: w&1 != 0}
}

func Prepares(g *across.Gauge, n int) bool {
	return C.gauge_prepares((*C.struct_across)(unsafe.Pointer(g)), C.size_t(n)) != 0
}

func Note(g *across.Gauge, t across.Told, ticks uint64, f across.Forms) {
	C.gauge_note((*C.struct_across)(unsafe.Pointer(g)), C.uint64_t(t), C.uint64_t(ticks), C.uint32_t(f))
}

// Direct is Perform of a call in the direct form.
func Direct(v *board.View, x *coll.Call, n int) bool {
	var list *C.struct_board_blocks
	var pinned runtime.Pinner
	defer pinned.Unpin()
	if x.Op == coll.Allgatherv {
		b := blocks(x, &x.RecvBlocks, unsafe.Pointer(unsafe.SliceData(x.Recv)))
		pinned.Pin(b.at)
		pinned.Pin(b.counts)
		pinned.Pin(b.displs)
		list = &b
	}
	return C.board_direct((*C.struct_board)(unsafe.Pointer(v)), C.enum_board_op(x.Op), C.int(x.Root), unsafe.Pointer(unsafe.SliceData(x.Send)), unsafe.Pointer(unsafe.SliceData(x.Recv)), C.size_t(n), list) != 0
}

// Announce makes the turn of a Gatherv or Scatterv of two ranks whose block is a message of n bytes,
// and ends the call if it is over with that; else, or if Announce reports that the twin could not,
// it is to go on in Go.
func Announce(v *board.View, x *coll.Call, n int, over bool) bool {
	b, op := (*C.struct_board)(unsafe.Pointer(v)), C.enum_board_op(x.Op)
	if C.board_announce(b, op, C.int(x.Root), C.size_t(n)) == 0 || !over {
		return false
	}
	C.board_announced(b, op, C.int(x.Root))
	return true
}

// blocks is blocks that follow each other in a buffer.
func blocks(x *coll.Call, b *coll.Blocks, at unsafe.Pointer) C.struct_board_blocks {
	var counts, displs []C.int
	for i := range x.Ranks {
		lo, hi := b.Span(i)
		counts, displs = append(counts, C.int(hi-lo)), append(displs, C.int(lo))
	}
	return C.struct_board_blocks{at: (*C.char)(at), counts: &counts[0], displs: &displs[0], elem: 1}
}
