/* The program's signals, see signals.c. */
#ifndef EXANET_SIGNALS_H
#define EXANET_SIGNALS_H

#include <signal.h>

/* A signal that nobody else uses, see threads.c. */
#define EXANET_QUIET SIGSTKFLT

/* The C library's own sigaction. */
extern int __sigaction(int, const struct sigaction *, struct sigaction *);

/* The signals as they are before the Go part is loaded, and back to it. */
struct exanet_signals {
	sigset_t mask;
	struct sigaction actions[65];
	int valid[65];
};
void exanet_signals_hold(struct exanet_signals *s);
void exanet_signals_release(struct exanet_signals *s, int loaded);

/* Gives this thread, which is about to call the Go part, an alternate stack that is large enough. */
void exanet_give_stack(void);

#endif
