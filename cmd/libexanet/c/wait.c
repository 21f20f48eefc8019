/*
 * A call whose message is not there looks for it for some microseconds, then with yields in between, as package
 * emu/host does (wait.go), and then goes on in Go, which also sleeps. Where ranks share cores it yields at once.
 */
#include "wait.h"

#include <sched.h>

static inline int look(const struct awaited *a, uint32_t times)
{
	for (; times > 0; times--) {
		if ((uint16_t)__atomic_load_n(a->word, __ATOMIC_ACQUIRE) == a->phase)
			return 1;
#ifdef __x86_64__
		__builtin_ia32_pause();
#endif
	}
	return 0;
}

int fast_wait_for(const struct fast_table *t, const struct awaited *a)
{
	enum { IN_GO = 64 /* one wait in so many, which sees what is not seen here: that ranks run on one core, say */ };
	static unsigned waits;
	int dedicated = t->waiting == FAST_DEDICATED;
	if (dedicated && look(a, WAIT_POLLS))
		return 1;
	if (++waits % IN_GO == 0)
		return 0;
	int64_t begun = fast_now();
	do {
		sched_yield();
		if (look(a, dedicated ? WAIT_LOOKS : 1))
			return 1;
	} while (fast_now() - begun < WAIT_LONG_SPIN);
	return 0;
}
