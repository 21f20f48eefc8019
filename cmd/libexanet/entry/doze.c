/*
 * A call on the express lane whose message has not come for some microseconds, or at once
 * where ranks share cores. It spins on, and then sleeps with its bell's flag up, or yields, as package
 * emu/host does (wait.go, which says when, and why there is a membarrier): the way through Go, whose
 * scheduler has gone to sleep as well, takes microseconds more. What needs more than that belongs into
 * Go: other messages, deaths, waits of more than NAP_TIME or YIELD_TIME, and now and then a look where
 * the ranks run (spread.go).
 */
#include "doze.h"
#include "bell.h"

#include <sched.h>
#include <time.h>

enum { SPIN_TIME = 30000, LONG_SPIN = 200000, WAKE_UP = 100000, NAP_TIME = 10000000, DEAR = 1000000, SHUN = 100000000, LOOKS = 50, OWN = 16, VISIT = 2000000, YIELD_TIME = 50000 /* ns */ };

/* Of the one thread that makes calls here. Who has yielded to another program, which kept the
   processor for its time slice, does not for a while. */
static int64_t patience = SPIN_TIME, shunned;

/* Waits since one was in Go that may have been for a rank on this very core: they were over when
   this one had yielded, or slept. */
static unsigned aside;

/* When a wait where ranks share cores looks again whether it is better made in Go. */
static int64_t visit;

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int here(const struct exanet_awaited *a)
{
	return (__atomic_load_n(a->word, __ATOMIC_ACQUIRE) & 0xffff) == a->phase || (a->advert.word && express_met(a->advert));
}

/* With a core for each rank: spins, and reports whether the message is there. */
static int spin(struct exanet_awaited *a, int64_t begun)
{
	int64_t last = begun;
	do {
		if (last >= shunned) {
			int64_t before = last;
			sched_yield();
			last = now();
			if (last - before > DEAR)
				shunned = last + SHUN;
			if (before == begun && here(a)) {
				aside++;
				return 1;
			}
		}
		for (int i = 0; i < LOOKS; i++)
			if (here(a))
				return 1;
		last = now();
	} while (last - begun < patience);
	return 0;
}

/* Where yields hand the core over. */
static int yield(const struct exanet_awaited *a, int64_t begun)
{
	do
		sched_yield();
	while (!here(a) && now() - begun < YIELD_TIME);
	return here(a);
}

/* Where only who sleeps hands the core over: spins as long as no other rank needs it. */
static int hold(const struct berths *all, const struct exanet_awaited *a, int64_t begun)
{
	do {
		for (int i = 0; i < LOOKS; i++)
			if (here(a))
				return 1;
	} while (!bell_wanted(all, bell_core(all)) && now() - begun < SPIN_TIME);
	return 0;
}

int exanet_doze(const struct express_table *t, struct exanet_awaited *a)
{
	enum { MEMBARRIER_CMD_GLOBAL_EXPEDITED = 1 << 1 };
	struct doorbell *own = (struct doorbell *)(uintptr_t)t->own;
	int64_t begun = now();
	if (t->crowd != EXPRESS_ROOMY) {
		struct berths all = {t->berths, t->own, t->step, t->ranks, t->percore, 0};
		if (begun >= visit) {
			visit = begun + VISIT;
			if (bell_moves(&all, bell_core(&all)))
				return 0;
		}
		if (t->crowd == EXPRESS_YIELDING)
			return yield(a, begun);
		if (hold(&all, a, begun))
			return 1;
	} else {
		if (aside == OWN) {
			aside = 0;
			return 0;
		}
		if (spin(a, begun))
			return 1;
	}

	if (a->advert.word) { /* nobody would ring */
		if (!express_withdraw(a->port, a->advert))
			return 1;
		a->advert.word = 0;
	}
	aside++;
	uint32_t mark = __atomic_load_n(&own->foreground, __ATOMIC_ACQUIRE);
	__atomic_or_fetch(&own->flags, BELL_FOREGROUND, __ATOMIC_SEQ_CST);
	if (!t->fenced)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	struct timespec most = {0, NAP_TIME};
	if (!here(a))
		syscall(SYS_futex, &own->foreground, FUTEX_WAIT, mark, &most, 0, 0);
	/* Who rings takes the flag down. If nobody has, a call in Go may have raised it as well
	   meanwhile: it is to look again. */
	if (__atomic_load_n(&own->foreground, __ATOMIC_ACQUIRE) == mark)
		bell_wake(own);
	patience = now() - begun > LONG_SPIN + WAKE_UP ? SPIN_TIME : LONG_SPIN;
	return here(a);
}
