//go:build interleave && cgo

/*
 * What gcc's -fsanitize=thread calls. A Go function does it, which may leave this code by a panic: whoever comes
 * in from Go calls begun first.
 */
#include "sanitizer.h"

#include <stdint.h>

extern uint64_t interleaved(int what, int order, void *p, long size, uint64_t v, uint64_t old);

enum { LOAD, STORE, SWAP, ADD, AND, OR, COMPARE, FENCE, READS, WRITES, WAIT, WAKE };

#define HOOK __attribute__((no_sanitize_thread))

/* The way to Go and back is instrumented as well. */
static int asking;

HOOK void begun(void) { asking = 0; }

HOOK static uint64_t ask(int what, int order, const volatile void *p, long size, uint64_t v, uint64_t old)
{
	if (asking)
		return 0;
	asking = 1;
	uint64_t got = interleaved(what, order, (void *)p, size, v, old);
	asking = 0;
	return got;
}

HOOK void __tsan_init(void) {}
HOOK void __tsan_acquire(void *at) { (void)at; } /* of cgo */
HOOK void __tsan_release(void *at) { (void)at; }
HOOK void __tsan_func_entry(void *at) { (void)at; }
HOOK void __tsan_func_exit(void *at) { (void)at; }

#define PLAIN(n) \
	HOOK void __tsan_read##n(void *p) { ask(READS, 0, p, n, 0, 0); } \
	HOOK void __tsan_write##n(void *p) { ask(WRITES, 0, p, n, 0, 0); } \
	HOOK void __tsan_unaligned_read##n(void *p) { ask(READS, 0, p, n, 0, 0); } \
	HOOK void __tsan_unaligned_write##n(void *p) { ask(WRITES, 0, p, n, 0, 0); } \
	HOOK void __tsan_volatile_read##n(void *p) { ask(READS, 0, p, n, 0, 0); } \
	HOOK void __tsan_volatile_write##n(void *p) { ask(WRITES, 0, p, n, 0, 0); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
HOOK void __tsan_read_range(void *p, unsigned long n) { ask(READS, 0, p, n, 0, 0); }
HOOK void __tsan_write_range(void *p, unsigned long n) { ask(WRITES, 0, p, n, 0, 0); }

#define ATOMIC(bits, T) \
	HOOK T __tsan_atomic##bits##_load(const volatile void *p, int o) { return ask(LOAD, o, p, sizeof(T), 0, 0); } \
	HOOK void __tsan_atomic##bits##_store(volatile void *p, T v, int o) { ask(STORE, o, p, sizeof(T), v, 0); } \
	HOOK T __tsan_atomic##bits##_exchange(volatile void *p, T v, int o) { return ask(SWAP, o, p, sizeof(T), v, 0); } \
	HOOK T __tsan_atomic##bits##_fetch_add(volatile void *p, T v, int o) { return ask(ADD, o, p, sizeof(T), v, 0); } \
	HOOK T __tsan_atomic##bits##_fetch_sub(volatile void *p, T v, int o) { return ask(ADD, o, p, sizeof(T), -v, 0); } \
	HOOK T __tsan_atomic##bits##_fetch_and(volatile void *p, T v, int o) { return ask(AND, o, p, sizeof(T), v, 0); } \
	HOOK T __tsan_atomic##bits##_fetch_or(volatile void *p, T v, int o) { return ask(OR, o, p, sizeof(T), v, 0); } \
	HOOK _Bool __tsan_atomic##bits##_compare_exchange_strong(volatile void *p, void *expected, T v, int o, int failed) \
	{ \
		T *old = expected, was = ask(COMPARE, o, p, sizeof(T), v, *old); \
		_Bool equal = was == *old; \
		(void)failed; \
		*old = was; \
		return equal; \
	}
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

HOOK void __tsan_atomic_thread_fence(int o) { ask(FENCE, o, 0, 0, 0, 0); }
HOOK void __tsan_atomic_signal_fence(int o) { (void)o; }

/* Calls of the C library that the code makes. */
HOOK long native_futex(uint32_t *word, int wakes, uint32_t v)
{
	ask(wakes ? WAKE : WAIT, 5, word, sizeof *word, v, 0);
	return 0;
}

HOOK void *native_memcpy(void *to, const void *from, unsigned long n)
{
	ask(READS, 0, from, n, 0, 0);
	ask(WRITES, 0, to, n, 0, 0);
	for (unsigned long i = 0; i < n; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
	return to;
}
