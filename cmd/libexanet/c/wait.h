/* How a call of the fast path waits for a message, see wait.c. */
#ifndef EXANET_WAIT_H
#define EXANET_WAIT_H

#include "layout.h"

#include <time.h>

/* The first word of the message, and what its low 16 bits are when it is there. */
struct awaited {
	const uint64_t *word;
	uint16_t phase;
};

/* Nanoseconds since some moment in the past. */
static inline int64_t fast_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Whether calls may wait here: not if they are to be in Go meanwhile. */
static inline int fast_waits(const struct fast_table *t)
{
	int64_t *outside = (int64_t *)(uintptr_t)t->outside;
	return t->waiting != FAST_IN_GO && !t->armed && (!outside || !__atomic_load_n(outside, __ATOMIC_RELAXED));
}

/* Waits a while, without the lock, and reports whether the message may be there: if not, the call is to wait in Go. */
int fast_wait_for(const struct fast_table *t, const struct awaited *a);

#endif
