package boardc

// #cgo CFLAGS: -O2
// #include "board.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/coll/board"
)

// Perform makes a call on a board, with sums of bytes as its reductions, and reports
// whether it has ended; else it is to be made in Go.
func Perform(v *board.View, op coll.Collective, root int, send, recv []byte, n int) bool {
	if unsafe.Sizeof(*v) != C.sizeof_struct_board {
		panic("boardc: the views differ in Go and in C")
	}
	sum := C.board_fold_of(C.BOARD_SUM, C.BOARD_U8)
	return C.board_perform((*C.struct_board)(unsafe.Pointer(v)), C.enum_board_op(op), C.int(root),
		unsafe.Pointer(unsafe.SliceData(send)), unsafe.Pointer(unsafe.SliceData(recv)), C.size_t(n), 1, sum) != 0
}
