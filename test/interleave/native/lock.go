//go:build interleave && cgo

package native

// int native_enter(void *l);
// void native_leave(void *l);
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/fastpath"
)

func enter(l *fastpath.BiasedLock) bool { return C.native_enter(unsafe.Pointer(l)) != 0 }
func leave(l *fastpath.BiasedLock)      { C.native_leave(unsafe.Pointer(l)) }
