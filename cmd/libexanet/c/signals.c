/*
 * Signals belong to the program. The Go part needs none: it is built without
 * preemption by signals, and a fault in it is better explained by the program's or
 * the host MPI's handler, or none. But its runtime installs handlers when it is
 * loaded, and its threads let some signals through. So
 *
 *   - every disposition is put back once the Go part is loaded, and the mask of a
 *     thread once it has called the Go part for the first time;
 *   - those that its first threads let through for a moment are noted meanwhile, and sent again when it is;
 *   - threads of the Go part block all signals but faults (threads.c);
 *   - a thread that is in the Go part may be on a small stack: every handler runs on
 *     the alternate stack, whatever its flags say, and that is large enough for any.
 *     sigaction and sigaltstack hide that.
 */
#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	LAST = 64,
	ALTERNATE = 256 << 10, /* bytes of a thread's alternate stack, at least */
};

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

/* Each thread that calls the Go part has an alternate stack of ours, with a page in
   front that nobody may touch, unless the program gives it a larger one: those of
   programs are often meant for one small handler. Where there is none, Go gives it one of
   32 KiB. */
static __thread struct {
	stack_t theirs; /* as the program knows it */
	char *ours;     /* 0: none yet */
} alternate;

static pthread_key_t ending;

static int own(const stack_t *s) { return s->ss_sp == alternate.ours && !(s->ss_flags & SS_DISABLE); }

static int small(const stack_t *s) { return s->ss_flags & SS_DISABLE || s->ss_size < ALTERNATE; }

static int altstack(const stack_t *new, stack_t *old) { return (int)syscall(SYS_sigaltstack, new, old); }

/* Puts ours in the place of a small one. */
static void enlarge(const stack_t *s)
{
	stack_t mine = {.ss_sp = alternate.ours, .ss_size = ALTERNATE};
	if (!(s->ss_flags & SS_DISABLE))
		mine.ss_flags = s->ss_flags & ~SS_ONSTACK;
	if (small(s))
		altstack(&mine, 0);
}

int sigaltstack(const stack_t *new, stack_t *old)
{
	stack_t was;
	if (!alternate.ours)
		return altstack(new, old);
	if (altstack(new, &was))
		return -1;
	if (old) {
		int on = was.ss_flags & SS_ONSTACK;
		*old = own(&was) ? alternate.theirs : was;
		if (on && !(old->ss_flags & SS_DISABLE))
			old->ss_flags |= on;
	}
	if (new) {
		alternate.theirs = *new;
		enlarge(new);
	}
	return 0;
}

/* At the end of a thread. */
static void take_stack(void *ours)
{
	stack_t now;
	long page = sysconf(_SC_PAGESIZE);
	if (altstack(0, &now) || now.ss_flags & SS_ONSTACK)
		return; /* it may have ended in a handler */
	if (own(&now))
		altstack(&alternate.theirs, 0);
	alternate.ours = 0;
	munmap((char *)ours - page, ALTERNATE + page);
}

void exanet_give_stack(void)
{
	long page = sysconf(_SC_PAGESIZE);
	if (alternate.ours || altstack(0, &alternate.theirs) || alternate.theirs.ss_flags & SS_ONSTACK)
		return;
	char *p = mmap(0, ALTERNATE + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (p == MAP_FAILED)
		return;
	mprotect(p, page, PROT_NONE);
	alternate.ours = p + page;
	enlarge(&alternate.theirs);
	if (syscall(SYS_gettid) != getpid())
		pthread_setspecific(ending, alternate.ours);
}

/* What has come while the Go part was loaded; more of a signal than these are lost, as of most the second is. */
enum { NOTED = 256 };
static struct {
	siginfo_t info;
	int sig; /* behind the rest, with release order */
} noted[NOTED];
static int notes;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)context; /* 0 of one that was pending */
	int i = __atomic_fetch_add(&notes, 1, __ATOMIC_RELAXED);
	if (i < NOTED) {
		noted[i].info = *info;
		__atomic_store_n(&noted[i].sig, sig, __ATOMIC_RELEASE);
	}
}

/* Sends them again. Another thread may still be at noting one. */
static void resend(void)
{
	for (int i = 0; i < __atomic_load_n(&notes, __ATOMIC_RELAXED) && i < NOTED; i++) {
		while (!__atomic_load_n(&noted[i].sig, __ATOMIC_ACQUIRE))
			sched_yield();
		syscall(SYS_rt_sigqueueinfo, getpid(), noted[i].sig, &noted[i].info);
	}
}

/* Whether a disposition ignores a signal: the kernel drops what is pending of it when that is put back. */
static int ignores(int sig, const struct sigaction *s)
{
	int by_default = sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH;
	return s->sa_handler == SIG_IGN || (s->sa_handler == SIG_DFL && by_default);
}

static void note_pending(int sig)
{
	sigset_t one;
	siginfo_t info;
	sigemptyset(&one);
	sigaddset(&one, sig);
	while (sigtimedwait(&one, &info, &(struct timespec){0, 0}) == sig)
		note(sig, &info, 0);
}

/* Go's threads let these through, of those that a program may have use for but as faults. */
static const int let_through[] = {SIGCHLD, SIGPROF, 34};

void exanet_signals_hold(struct exanet_signals *s)
{
	struct sigaction later = {.sa_sigaction = note};
	sigset_t all;
	sigfillset(&all);
	sigfillset(&later.sa_mask);
	pthread_sigmask(SIG_SETMASK, &all, &s->mask);
	for (int sig = 1; sig <= LAST; sig++)
		s->valid[sig] = __sigaction(sig, 0, &s->actions[sig]) == 0;
	for (unsigned i = 0; i < sizeof let_through / sizeof *let_through; i++) {
		struct sigaction *was = &s->actions[let_through[i]];
		later.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | (was->sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT));
		if (was->sa_handler != SIG_IGN)
			__sigaction(let_through[i], &later, 0);
	}
	pthread_key_create(&ending, take_stack);
	exanet_give_stack();
}

void exanet_signals_release(struct exanet_signals *s, int loaded)
{
	armed = loaded;
	for (int sig = 1; sig <= LAST; sig++) {
		struct sigaction now, *was = &s->actions[sig];
		if (!s->valid[sig] || sig == EXANET_QUIET)
			continue;
		if (loaded && lacks(was)) {
			was->sa_flags |= SA_ONSTACK;
			added[sig] = 1;
		}
		__sigaction(sig, 0, &now);
		if (now.sa_sigaction == was->sa_sigaction && now.sa_flags == was->sa_flags)
			continue;
		if (ignores(sig, was))
			note_pending(sig);
		__sigaction(sig, was, 0);
	}
	resend();
	pthread_sigmask(SIG_SETMASK, &s->mask, 0);
}
