/*
 * Threads of the Go part take no signals that are meant for the program: a process
 * that blocks one, to wait for it or while it must not come, would get it there.
 *
 * Go's threads begin with all signals blocked, and then unblock those that its
 * runtime wants to see in any case, SIGCHLD and SIGPROF among them. One of those is
 * EXANET_QUIET, which no kernel sends. Each thread sends it to itself while it is
 * blocked: so it comes when Go unblocks it, before any that is pending for the process
 * (the kernel takes a thread's own first), and its handler, in which all are blocked,
 * leaves them blocked.
 *
 * A thread of the program that calls the Go part for the first time does the same, for Go
 * unblocks them there too (exanet_greet). Once the Go part runs it leaves blocked what a program
 * may have use for (../signals.go): a fresh signal may come before EXANET_QUIET is taken.
 *
 * A debugger would stop there: threads of a process that one traces are left as Go
 * has them.
 *
 * The first of them are made before the Go part is loaded, for it ends the process
 * if it cannot have one. And they never end: a program whose main thread does, by
 * pthread_exit, is over when only they are left.
 */
#include "threads.h"

#include "signals.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread int exanet_met;
static void (*hello)(void); /* of the Go part: its first call in a thread */

static __thread int loading, gos; /* this thread loads the Go part; is one of its own */
static uintptr_t text, textend;   /* of the Go part */

struct beginning {
	void *(*run)(void *);
	void *arg;
};

enum { SPARES = 6 }; /* one more than most programs need */

/* What Go's threads may be late by when they sleep for a time, in nanoseconds; and the second that
   Go begins, which looks after the others: for 10 ms after each wait of a rank it sleeps for 20 us
   again and again, and the interrupt that wakes it takes many times as long as a short message
   from a rank that spins. Up to the kernel's next tick it may as well sleep on. */
enum { SLACK = 1000000, WATCH = 1, WATCH_SLACK = 5000000 };

/* Threads that wait for Go to begin them. */
static struct spare {
	pthread_t thread;
	sem_t begins;
	struct beginning what; /* run of 0: it is not needed */
} spares[SPARES];
static int begun; /* of them */

static int traced; /* by a debugger, which would stop at EXANET_QUIET */
static int living; /* threads of the Go part, spare ones too */

/* Adds all to a mask but faults. */
static void block(sigset_t *mask)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE};
	/* Not all of a sigset_t: the kernel's is shorter. The C library's own stay out. */
	for (int s = 1; s <= 64; s++)
		sigaddset(mask, s);
	for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(mask, faults[i]);
}

static void quiet(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	int error = errno;
	block(&((ucontext_t *)context)->uc_sigmask);
	errno = error;
}

/* A thread that has EXANET_QUIET blocked, and lets Go unblock signals next, takes none but faults from then on. */
static void keep_quiet(void)
{
	if (!traced)
		syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), EXANET_QUIET);
}

static void *go(struct beginning b)
{
	gos = 1;
	keep_quiet();
	void *result = b.run(b.arg);
	__atomic_fetch_sub(&living, 1, __ATOMIC_RELAXED);
	return result;
}

static void *begin(void *arg)
{
	struct beginning b = *(struct beginning *)arg;
	free(arg);
	return go(b);
}

static void *await(void *arg)
{
	struct spare *s = arg;
	while (sem_wait(&s->begins))
		;
	if (s == &spares[WATCH])
		prctl(PR_SET_TIMERSLACK, WATCH_SLACK, 0, 0, 0);
	return s->what.run ? go(s->what) : 0;
}

static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void resolve(void)
{
	if (!create)
		*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
}

static int debugged(void)
{
	char line[100];
	int pid = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof line, f) && sscanf(line, "TracerPid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid != 0;
}

static void dismiss(int n)
{
	while (n-- > 0) {
		sem_post(&spares[n].begins);
		pthread_join(spares[n].thread, 0);
	}
	living = 0;
}

/* Whether all could be had. */
static int keep(void)
{
	resolve();
	traced = debugged();
	for (living = 0; living < SPARES; living++) {
		struct spare *s = &spares[living];
		if (sem_init(&s->begins, 0, 0) || create(&s->thread, 0, await, s)) {
			dismiss(living);
			return 0;
		}
	}
	return 1;
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	resolve();
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	if (!loading && !gos && caller - text >= textend - text)
		return create(t, attr, run, arg);
	int i = __atomic_load_n(&begun, __ATOMIC_RELAXED);
	if (i < SPARES)
		i = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	if (i < SPARES) {
		*t = spares[i].thread;
		spares[i].what = (struct beginning){run, arg};
		sem_post(&spares[i].begins);
		return 0;
	}
	struct beginning *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (struct beginning){run, arg};
	__atomic_fetch_add(&living, 1, __ATOMIC_RELAXED);
	int code = create(t, attr, begin, b);
	if (code) {
		__atomic_fetch_sub(&living, 1, __ATOMIC_RELAXED);
		free(b);
	}
	return code;
}

/* How many threads there are; 0 if nobody says. */
static int threads(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* The main thread, at its end, waits for the program's others in the place of the C
   library, which takes Go's for some of them. This is the destructor of a value of
   the thread's, and lets those of others go first. */
static pthread_key_t last;

static void outlast(void *round)
{
	if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(last, (void *)((intptr_t)round + 1));
		return;
	}
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, 0);
	for (int n; (n = threads()) != 0; nanosleep(&(struct timespec){.tv_nsec = 10000000}, 0))
		if (n <= 1 + __atomic_load_n(&living, __ATOMIC_RELAXED))
			exit(0);
}

void pthread_exit(void *result)
{
	static void (*end)(void *) __attribute__((noreturn));
	if (!end)
		*(void **)&end = dlsym(RTLD_NEXT, "pthread_exit");
	/* Others may have yet to call MPI_Init. */
	if (syscall(SYS_gettid) == getpid() && dlsym(RTLD_DEFAULT, "PMPI_Init") && pthread_key_create(&last, outlast) == 0)
		pthread_setspecific(last, (void *)1);
	end(result);
}

static int find(struct dl_phdr_info *info, size_t size, void *name)
{
	(void)size;
	if (!info->dlpi_name || strcmp(info->dlpi_name, name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			text = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			textend = text + info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

int exanet_greet(void)
{
	sigset_t mask, first;
	sigemptyset(&first);
	sigaddset(&first, EXANET_QUIET);
	pthread_sigmask(SIG_BLOCK, &first, &mask);
	exanet_give_stack();
	keep_quiet();
	hello();
	pthread_sigmask(SIG_SETMASK, &mask, 0);
	return exanet_met = 1;
}

void *exanet_open(const char *path, const char **why)
{
	int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0); /* threads inherit it */
	struct exanet_signals signals;
	struct sigaction s;
	struct link_map *map;
	void *lib = 0;
	exanet_signals_hold(&signals);
	memset(&s, 0, sizeof s);
	s.sa_sigaction = quiet;
	s.sa_flags = SA_SIGINFO | SA_ONSTACK;
	block(&s.sa_mask);
	__sigaction(EXANET_QUIET, &s, 0);
	*why = "there is no room for its threads (ulimit -u, or the control group's limit)";
	prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0);
	if (keep()) {
		loading = 1;
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		loading = 0;
		if (!lib) {
			*why = dlerror();
			dismiss(living);
		} else if (dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0)
			dl_iterate_phdr(find, map->l_name);
	}
	/* It waits for the end of Go's beginning. */
	if (lib && (*(void **)&hello = dlsym(lib, "exanet_hello")))
		exanet_greet();
	prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0, 0, 0, 0); /* 0: as when the process began */
	exanet_signals_release(&signals, lib != 0);
	if (lib && !hello) {
		*why = "it is of another version";
		return 0;
	}
	return lib;
}
