package interleave

import (
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
)

// What rewritten code calls. Outside of a replay each does what it stands for.

type word interface {
	uint32 | uint64 | int32 | int64
}

// Word is an atomic word, whichever type it has.
type Word[T word] struct{ p *T }

// U32, U64, I32 and I64 are the words of package sync/atomic.
func U32(p *atomic.Uint32) Word[uint32] { return Word[uint32]{(*uint32)(unsafe.Pointer(p))} }
func U64(p *atomic.Uint64) Word[uint64] { return Word[uint64]{(*uint64)(unsafe.Pointer(p))} }
func I32(p *atomic.Int32) Word[int32]   { return Word[int32]{(*int32)(unsafe.Pointer(p))} }
func I64(p *atomic.Int64) Word[int64]   { return Word[int64]{(*int64)(unsafe.Pointer(p))} }

// P is a word that functions of sync/atomic are applied to.
func P[T word](p *T) Word[T] { return Word[T]{p} }

func (w Word[T]) access(k kind, o Order, fn rmw, val, cmp T) T {
	size := unsafe.Sizeof(val)
	if r := current; r != nil && !r.over {
		o := op{kind: k, order: o, fn: fn, val: low(val, size), cmp: low(cmp, size)}
		return T(r.access(unsafe.Pointer(w.p), size, o))
	}
	old := *w.p // nobody else runs
	if k != load {
		*w.p = T(fn.apply(low(old, size), low(val, size), low(cmp, size)))
	}
	return old
}

// low is v without the sign that int32 would extend.
func low[T word](v T, size uintptr) uint64 { return uint64(v) & (1<<(8*size-1)<<1 - 1) }

// What sync/atomic does is sequentially consistent.

func (w Word[T]) Load() T     { return w.access(load, SeqCst, 0, 0, 0) }
func (w Word[T]) Store(v T)   { w.access(store, SeqCst, swap, v, 0) }
func (w Word[T]) Swap(v T) T  { return w.access(update, SeqCst, swap, v, 0) }
func (w Word[T]) Add(v T) T   { return w.access(update, SeqCst, add, v, 0) + v }
func (w Word[T]) And(v T) T   { return w.access(update, SeqCst, and, v, 0) }
func (w Word[T]) Or(v T) T    { return w.access(update, SeqCst, or, v, 0) }
func (w Word[T]) Release(v T) { w.access(store, Release, swap, v, 0) }

func (w Word[T]) CompareAndSwap(old, v T) bool {
	return w.access(update, SeqCst, cas, v, old) == old
}

// With returns the word with another order, for what is not written in Go.
func (w Word[T]) With(o Order) Ordered[T] { return Ordered[T]{w, o} }

// Ordered is a word whose accesses have an order of their own.
type Ordered[T word] struct {
	w Word[T]
	o Order
}

func (w Ordered[T]) Load() T           { return w.w.access(load, w.o, 0, 0, 0) }
func (w Ordered[T]) Store(v T)         { w.w.access(store, w.o, swap, v, 0) }
func (w Ordered[T]) Swap(v T) T        { return w.w.access(update, w.o, swap, v, 0) }
func (w Ordered[T]) Add(v T) T         { return w.w.access(update, w.o, add, v, 0) + v }
func (w Ordered[T]) And(v T) T         { return w.w.access(update, w.o, and, v, 0) }
func (w Ordered[T]) Or(v T) T          { return w.w.access(update, w.o, or, v, 0) }
func (w Ordered[T]) Update(old, v T) T { return w.w.access(update, w.o, cas, v, old) }

// Publish is mem.Publish.
func Publish(p *uint64, v uint64) { P(p).Release(v) }

// Read makes *p what a plain load of it reads, and returns p.
func Read[T any](p *T) *T {
	if r := current; r != nil && !r.over {
		r.plain(unsafe.Pointer(p), unsafe.Sizeof(*p), load)
	}
	return p
}

// Wrote is to be called behind a plain store to *p.
func Wrote[T any](p *T) {
	if r := current; r != nil && !r.over {
		r.plain(unsafe.Pointer(p), unsafe.Sizeof(*p), store)
	}
}

// ReadBytes is Read of n bytes at p.
func ReadBytes(p unsafe.Pointer, n uintptr) {
	if r := current; r != nil && !r.over {
		r.plain(p, n, load)
	}
}

// Writes is to be called before a plain store of n bytes at p, which is looked at by
// whatever comes next.
func Writes(p unsafe.Pointer, n uintptr) {
	if r := current; r != nil && !r.over {
		r.settle()
		if _, _, ok := r.all.mem.find(p); ok {
			r.pending = append(r.pending, span{p, n})
		}
	}
}

// Copy is copy, and what else copies bytes.
func Copy[T any](dst, src []T) int {
	n := min(len(dst), len(src))
	if r := current; r != nil && !r.over && n > 0 {
		size := uintptr(n) * unsafe.Sizeof(src[0])
		r.plain(unsafe.Pointer(&src[0]), size, load)
		copy(dst, src)
		r.plain(unsafe.Pointer(&dst[0]), size, store)
		return n
	}
	return copy(dst, src)
}

// Fence is a fence.
func Fence(o Order) { special(op{kind: fence, order: o}) }

// Barrier is sys.Barrier and sys.OwnBarrier: every other rank executes a full fence
// before it returns.
func Barrier() { special(op{kind: membarrier}) }

// OwnBarrier is Barrier.
func OwnBarrier() { special(op{kind: membarrier}) }

// RegisterOwnBarrier succeeds.
func RegisterOwnBarrier() bool { return true }

func special(o op) {
	if r := current; r != nil && !r.over {
		r.settle()
		r.do(o)
	}
}

// FutexWait is sys.FutexWait.
func FutexWait(w *atomic.Uint32, val uint32) {
	if r := current; r != nil && !r.over {
		r.access(unsafe.Pointer(w), 4, op{kind: futexWait, val: uint64(val)})
	}
}

// FutexWake is sys.FutexWake.
func FutexWake(w *atomic.Uint32, n int) {
	if r := current; r != nil && !r.over {
		r.access(unsafe.Pointer(w), 4, op{kind: futexWake, val: uint64(n)})
	}
}

// Yield and Nap let others go on, which they may do at any time.
func Yield() {}

// Nap is Yield.
func Nap() {}

// Thread is a number that only this rank has.
func Thread() uint64 {
	if r := current; r != nil {
		return uint64(r.rank) + 1
	}
	return 0
}

// Assert is a violation if a condition does not hold.
func Assert(holds bool, text string) {
	if r := current; r != nil && !r.over && !holds {
		r.settle()
		r.do(op{kind: fail, text: text})
	}
}

// At tells that all that this rank will do from here on depends on these values and
// the memory alone: histories that come here with the same values are one.
func At(key string) {
	if r := current; r != nil && !r.over {
		r.settle()
		r.at(key)
	}
}

// site is a number for how an access is come to.
func site() (n uint64) {
	for _, pc := range callers() {
		n = (n ^ uint64(pc)) * 0x9e3779b97f4a7c15
	}
	return n
}

// functions are those that an access is in, that one first which does it.
func functions() (names []string) {
	frames := runtime.CallersFrames(callers())
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		_, file, _ := strings.Cut(f.File, "/test/interleave/")
		ours := file == "hooks.go" || file == "rank.go" || file == "native/native.go"
		if between := strings.HasPrefix(f.Function, "runtime.") || strings.Contains(f.Function, "_cgoexp_"); between {
			continue
		}
		if !ours && f.Function != "" {
			names = append(names, f.Function[strings.LastIndexByte(f.Function, '/')+1:])
		}
	}
	return names
}

func callers() []uintptr {
	pcs := make([]uintptr, 48)
	return pcs[:runtime.Callers(3, pcs)]
}
