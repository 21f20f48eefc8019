/*
 * Signals belong to the program. The Go part needs none: it is built without
 * preemption by signals, and a fault in it is better explained by the program's or
 * the host MPI's handler, or none. But its runtime installs handlers when it is
 * loaded, and its threads let some signals through. So
 *
 *   - every disposition is put back once the Go part is loaded, and the mask of a
 *     thread once it has called the Go part for the first time;
 *   - threads of the Go part block all signals but faults (threads.c);
 *   - a thread that is in the Go part may be on a small stack: every handler runs on
 *     the alternate stack, whatever its flags say. sigaction hides that.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LAST = 64,
	ALTERNATE = 128 << 10, /* bytes of the main thread's alternate stack, if it has none */
};

__thread int exanet_met;

/* added: that SA_ONSTACK is ours. Nothing is locked: programs do not set one
   signal's disposition in two threads at once. */
static unsigned char added[LAST + 1];
static volatile int armed;

/* The next sigaction behind ours may be that of a library which keeps some signals
   for itself, as UCX. */
static int (*next)(int, const struct sigaction *, struct sigaction *);

/* Early, since sigaction may be called in a handler. */
__attribute__((constructor)) static void resolve(void)
{
	*(void **)&next = dlsym(RTLD_NEXT, "sigaction");
	if (!next)
		next = __sigaction;
}

/* Whether a disposition needs SA_ONSTACK and has it not. */
static int lacks(const struct sigaction *s)
{
	if (s->sa_flags & SA_ONSTACK)
		return 0;
	return s->sa_flags & SA_SIGINFO || (s->sa_handler != SIG_DFL && s->sa_handler != SIG_IGN);
}

int sigaction(int sig, const struct sigaction *new, struct sigaction *old)
{
	if (!next)
		resolve();
	if (!armed || sig < 1 || sig > LAST)
		return next(sig, new, old);
	struct sigaction mine;
	int before = added[sig], adds = new && lacks(new);
	if (adds) {
		mine = *new;
		mine.sa_flags |= SA_ONSTACK;
		new = &mine;
	}
	int code = next(sig, new, old);
	if (code == 0 && old && before)
		old->sa_flags &= ~SA_ONSTACK;
	if (code == 0 && new)
		added[sig] = adds;
	return code;
}

/* The other ways to install a handler do not come through sigaction in the C
   library. */
static sighandler_t install(int sig, sighandler_t handler, int flags)
{
	struct sigaction new, old;
	memset(&new, 0, sizeof new);
	new.sa_handler = handler;
	new.sa_flags = flags;
	sigemptyset(&new.sa_mask);
	return sigaction(sig, &new, &old) < 0 ? SIG_ERR : old.sa_handler;
}

#define OTHER(name, flags)                                                       \
	sighandler_t name(int sig, sighandler_t handler)                         \
	{                                                                        \
		static sighandler_t (*host)(int, sighandler_t);                  \
		if (armed)                                                       \
			return install(sig, handler, flags);                     \
		if (!host)                                                       \
			*(void **)&host = dlsym(RTLD_NEXT, #name);               \
		return host(sig, handler);                                       \
	}

OTHER(signal, SA_RESTART)
OTHER(bsd_signal, SA_RESTART)
OTHER(ssignal, SA_RESTART)
OTHER(sysv_signal, SA_RESETHAND | SA_NODEFER)
OTHER(__sysv_signal, SA_RESETHAND | SA_NODEFER)

/* Gives this thread an alternate stack, with a page in front that nobody may touch.
   Where a thread has none, Go gives it one of 32 KiB. */
static void give_stack(void)
{
	stack_t s;
	long page = sysconf(_SC_PAGESIZE);
	if (sigaltstack(0, &s) || !(s.ss_flags & SS_DISABLE))
		return;
	char *p = mmap(0, ALTERNATE + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		return;
	mprotect(p, page, PROT_NONE);
	memset(&s, 0, sizeof s);
	s.ss_sp = p + page;
	s.ss_size = ALTERNATE;
	sigaltstack(&s, 0);
}

void exanet_signals_hold(struct exanet_signals *s)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &s->mask);
	for (int sig = 1; sig <= LAST; sig++)
		s->known[sig] = __sigaction(sig, 0, &s->actions[sig]) == 0;
	give_stack();
}

void exanet_signals_release(struct exanet_signals *s, int loaded)
{
	armed = loaded;
	for (int sig = 1; sig <= LAST; sig++) {
		struct sigaction now, *was = &s->actions[sig];
		if (!s->known[sig] || sig == EXANET_QUIET)
			continue;
		if (loaded && lacks(was)) {
			was->sa_flags |= SA_ONSTACK;
			added[sig] = 1;
		}
		__sigaction(sig, 0, &now);
		if (now.sa_sigaction != was->sa_sigaction || now.sa_flags != was->sa_flags)
			__sigaction(sig, was, 0);
	}
	pthread_sigmask(SIG_SETMASK, &s->mask, 0);
}

int exanet_greet(void)
{
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, 0, &mask);
	exanet_hello();
	pthread_sigmask(SIG_SETMASK, &mask, 0);
	return exanet_met = 1;
}
