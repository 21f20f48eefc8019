/* Doorbells, see package emu/host: bell.go says who rings when, wait.go in which order flags and messages are seen. */
#ifndef EXANET_DOORBELL_H
#define EXANET_DOORBELL_H

#include "layout.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Wakes who sleeps on a doorbell with that flag. */
static inline void doorbell_wake(struct doorbell *d, uint32_t flag)
{
	uint32_t *word = flag == BELL_FOREGROUND ? &d->foreground : &d->background;
	__atomic_and_fetch(&d->flags, ~flag, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* After a message: wakes the call that waits if there is one, else what makes progress meanwhile. */
static inline void doorbell_ring(struct doorbell *d)
{
	uint32_t flags = __atomic_load_n(&d->flags, __ATOMIC_ACQUIRE);
	if (__builtin_expect(flags & BELL_MESSAGES, 0))
		doorbell_wake(d, flags & BELL_FOREGROUND ? BELL_FOREGROUND : BELL_BACKGROUND);
}

/* Tells a rank that had run out of room that there is some again: it may be between its last look and its sleep. */
static inline void doorbell_nudge(struct doorbell *d)
{
	__atomic_add_fetch(&d->foreground, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&d->background, 1, __ATOMIC_SEQ_CST);
	uint32_t flags = __atomic_load_n(&d->flags, __ATOMIC_SEQ_CST);
	if (flags & BELL_FOREGROUND)
		doorbell_wake(d, BELL_FOREGROUND);
	if (flags & BELL_BACKGROUND)
		doorbell_wake(d, BELL_BACKGROUND);
}

#endif
