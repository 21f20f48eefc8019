/* Preloaded behind the library: it gets no threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
	static int ours;
	Dl_info in;
	if (dladdr((void *)run, &in) && strstr(in.dli_fname, "libexanet") && ++ours > 3)
		return EAGAIN;
	return next(t, attr, run, arg);
}
