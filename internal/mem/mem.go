// Package mem holds the conversions between typed memory, bytes and addresses
// that Go's type system cannot express. No package but this one, internal/sys
// and the ring in emu/host converts pointers.
package mem

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	_ "github.com/exanet-mpi/exanet/internal/platform"
)

// CacheLine is the size in bytes that keeps two writers apart on both
// supported architectures.
const CacheLine = 64

// Bytes returns the memory of s as bytes. The result keeps s alive.
func Bytes[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// Slice returns the memory of b as elements of T; b must be aligned for T and
// hold a whole number of them.
func Slice[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// Size is the size of a T in bytes.
func Size[T any]() int {
	var t T
	return int(unsafe.Sizeof(t))
}

// Addr returns the address of the first byte of b, 0 if b is empty. It does
// not keep b alive: whoever publishes the address must hold b as well, in
// memory that the collector sees.
func Addr(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// AddrOf returns the address that p holds. It does not keep p alive.
func AddrOf(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// Pointer returns the pointer to an address of this process that came from Addr
// or AddrOf. The caller knows that its owner still holds what is there.
func Pointer(addr uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

// Ref returns the address of an object, and Deref the object at an address of this
// process that came from Ref. Its owner still holds it.
func Ref[T any](p *T) uint64 { return AddrOf(unsafe.Pointer(p)) }

// Deref is the inverse of Ref.
func Deref[T any](addr uint64) *T { return (*T)(Pointer(addr)) }

// At returns the n bytes at an address of this process that came from Addr.
// The caller knows that its owner still holds them.
func At(addr uint64, n int) []byte {
	return unsafe.Slice((*byte)(Pointer(addr)), n)
}

// U32 and U64 return the word at byte offset off of b, which must be aligned.
func U32(b []byte, off int) *atomic.Uint32 {
	_ = b[off+3]
	return (*atomic.Uint32)(unsafe.Pointer(&b[off]))
}

// U64 is U32 for 64-bit words.
func U64(b []byte, off int) *atomic.Uint64 {
	_ = b[off+7]
	return (*atomic.Uint64)(unsafe.Pointer(&b[off]))
}

// Struct returns the memory at byte offset off of b as a *T. T must hold no
// pointers and off must suit its alignment.
func Struct[T any](b []byte, off int) *T {
	var t T
	_ = b[off+int(unsafe.Sizeof(t))-1]
	return (*T)(unsafe.Pointer(&b[off]))
}

// Plain reports whether values of type t have a fixed size and no pointers,
// so that their bytes mean the same in another process.
func Plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return Plain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !Plain(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return false
}
