/*
 * The host MPI, which is loaded before or after this library.
 */
#include "symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void *exanet_symbol(const char *name)
{
	void *s = dlsym(RTLD_DEFAULT, name);
	if (!s) {
		/* Loaded by a plug-in whose symbols are its own, as mpi4py. */
		void *lib = dlopen(EXANET_HOST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
		s = lib ? dlsym(lib, name) : 0;
	}
	return s;
}

void *exanet_host(const char *name)
{
	char real[128];
	snprintf(real, sizeof real, "P%s", name);
	void *f = exanet_symbol(real);
	if (!f && !(f = dlsym(RTLD_NEXT, name))) { /* MPICH 5's library of the standard ABI has some without the P */
		fprintf(stderr, "exanet: the program calls %s, but there is no %s in its MPI library: "
				"is this library the one for another MPI?\n", name, real);
		abort();
	}
	return f;
}
