/* The bells of a rank of the job, as package emu/host has them: who has raised a flag
   sleeps on the word beside it, or is about to, and a ring counts the word up. */
#ifndef EXANET_BELL_H
#define EXANET_BELL_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

struct berth {
	uint32_t flags, core, napping;
	char rest[52];
	uint32_t foreground, background;
};

/* The flags; the last asks for a ring when a long message is announced, by who announces it. */
enum { BELL_FOREGROUND = 1, BELL_BACKGROUND = 2, BELL_ANNOUNCED = 4 };

/* Wakes the call of a rank that waits. */
static inline void bell_wake(struct berth *r)
{
	__atomic_and_fetch(&r->flags, ~BELL_FOREGROUND, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->napping, 0, __ATOMIC_RELEASE);
	__atomic_add_fetch(&r->foreground, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &r->foreground, FUTEX_WAKE, INT_MAX, 0, 0, 0);
}

/* Wakes a rank whose flags were found up after a message: the call that waits if there
   is one, else what makes progress meanwhile. */
static inline void bell_ring(struct berth *r)
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
