/* The bells of a rank of the job, as package emu/host has them: who has raised a flag
   sleeps on the word beside it, or is about to, and a ring counts the word up. */
#ifndef EXANET_BELL_H
#define EXANET_BELL_H

#include "../../cmd/libexanet/c/layout.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the bells of the job's ranks are: the addresses of the first one's and of this rank's, the bytes from one
   to the next, and how many there are; and how many of them a core has at most if they are spread evenly. */
struct berths {
	uint64_t first, own;
	uint32_t step, n, percore, spare;
};

static inline struct doorbell *bell_of(const struct berths *all, uint64_t rank) { return (struct doorbell *)(uintptr_t)(all->first + rank * all->step); }
static inline struct doorbell *bell_own(const struct berths *all) { return (struct doorbell *)(uintptr_t)all->own; }

/* The core that this rank runs on, from 1, of which it tells the others: they know where it was when it waited last. */
static inline uint32_t bell_core(const struct berths *all)
{
	struct doorbell *own = bell_own(all);
	uint32_t core = sched_getcpu() + 1;
	if (__atomic_load_n(&own->core, __ATOMIC_RELAXED) != core)
		__atomic_store_n(&own->core, core, __ATOMIC_RELEASE);
	return core;
}

/* Whether another rank of a core is awake. */
static inline int bell_wanted(const struct berths *all, uint32_t core)
{
	const struct doorbell *own = bell_own(all);
	for (uint32_t i = 0; i < all->n; i++) {
		struct doorbell *r = bell_of(all, i);
		if (r != own && __atomic_load_n(&r->core, __ATOMIC_ACQUIRE) == core && !__atomic_load_n(&r->napping, __ATOMIC_ACQUIRE) && !(__atomic_load_n(&r->flags, __ATOMIC_ACQUIRE) & BELL_FOREGROUND))
			return 1;
	}
	return 0;
}

/* Whether a core has more ranks than its share, of which this one is the last: then it is to wait in Go, which moves it. */
static inline int bell_moves(const struct berths *all, uint32_t core)
{
	const struct doorbell *own = bell_own(all);
	uint32_t mates = 0;
	for (uint32_t i = 0; i < all->n; i++) {
		struct doorbell *r = bell_of(all, i);
		if (__atomic_load_n(&r->core, __ATOMIC_RELAXED) != core)
			continue;
		if (r > own)
			return 0;
		mates++;
	}
	return mates > all->percore;
}

/* Wakes the call of a rank that waits. */
static inline void bell_wake(struct doorbell *r)
{
	__atomic_and_fetch(&r->flags, ~BELL_FOREGROUND, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->napping, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&r->foreground, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->foreground, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* Wakes a rank whose flags were found up after a message: the call that waits if there
   is one, else what makes progress meanwhile. */
static inline void bell_ring(struct doorbell *r)
{
	if (__atomic_load_n(&r->flags, __ATOMIC_ACQUIRE) & BELL_FOREGROUND) {
		bell_wake(r);
		return;
	}
	__atomic_and_fetch(&r->flags, ~BELL_BACKGROUND, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&r->background, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->background, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

#endif
