/* The biased lock, see package fastpath: what a call in C does. */
#ifndef EXANET_LOCK_H
#define EXANET_LOCK_H

#include "layout.h"

/* As mem.Thread has it. */
static inline uint64_t this_thread(void)
{
#ifdef __x86_64__
	uint64_t thread;
	__asm__("mov %%fs:0, %0" : "=r"(thread));
	return thread;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

static inline void lock_leave(struct biased_lock *l) { __atomic_store_n(&l->inside, 0, __ATOMIC_RELEASE); }

/* Takes the lock, and reports whether it could. That this thread is inside may be seen after it has looked whether
   the lock is shut: who shuts it sees to that. On ARM64 a load that acquires would wait for the store by
   which the call before left, so the fence is apart. */
static inline int lock_enter(struct biased_lock *l)
{
	uint32_t shut, out = 0;
	if (__builtin_expect(l->many, 0)) {
		if (!__atomic_compare_exchange_n(&l->inside, &out, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return 0;
		shut = __atomic_load_n(&l->shut, __ATOMIC_SEQ_CST);
	} else {
		uint64_t thread = this_thread();
		if (__builtin_expect(__atomic_load_n(&l->caller, __ATOMIC_RELAXED) != thread, 0)) {
			/* A thread of Go's may have the number of one that has ended: it sees that another calls, or is
			   seen to shut. */
			__atomic_store_n(&l->caller, thread, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		}
		__atomic_store_n(&l->inside, 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		shut = __atomic_load_n(&l->shut, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	}
	if (__builtin_expect(shut, 0))
		lock_leave(l);
	return !shut;
}

#endif
