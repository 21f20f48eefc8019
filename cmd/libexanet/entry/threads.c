/*
 * Threads of the Go part take no signals that are meant for the program: a process
 * that blocks one, to wait for it or while it must not come, would get it there.
 *
 * Go's threads begin with all signals blocked, and then unblock those that its
 * runtime wants to see in any case, SIGCHLD and SIGPROF among them. One of those is
 * EXANET_QUIET, which no kernel sends. Each thread sends it to itself while it is
 * blocked: so it comes when Go unblocks it, and the handler blocks everything again.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread int loading, gos; /* this thread loads the Go part; is one of its own */
static uintptr_t text, textend;   /* of the Go part */

struct beginning {
	void *(*run)(void *);
	void *arg;
};

static void quiet(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	sigset_t *mask = &((ucontext_t *)context)->uc_sigmask;
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	int error = errno;
	/* Not all of a sigset_t: the kernel's is shorter. The C library's own stay out. */
	for (int s = 1; s <= 64; s++)
		sigaddset(mask, s);
	for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(mask, faults[i]);
	errno = error;
}

static void *begin(void *arg)
{
	struct beginning b = *(struct beginning *)arg;
	free(arg);
	gos = 1;
	syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), EXANET_QUIET);
	return b.run(b.arg);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);
	if (!loading && !gos && caller - text >= textend - text)
		return next(t, attr, run, arg);
	struct beginning *b = malloc(sizeof *b);
	if (!b)
		return EAGAIN;
	*b = (struct beginning){run, arg};
	int code = next(t, attr, begin, b);
	if (code)
		free(b);
	return code;
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

void *exanet_open(const char *path)
{
	struct exanet_signals signals;
	struct sigaction s;
	struct link_map *map;
	exanet_signals_hold(&signals);
	memset(&s, 0, sizeof s);
	s.sa_sigaction = quiet;
	s.sa_flags = SA_SIGINFO | SA_ONSTACK;
	__sigaction(EXANET_QUIET, &s, 0);
	loading = 1;
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	loading = 0;
	if (lib && dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0)
		dl_iterate_phdr(find, map->l_name);
	exanet_signals_release(&signals, lib != 0);
	return lib;
}
