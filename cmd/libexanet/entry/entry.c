/*
 * The preload library: entry points in front of the host MPI's (entries.c,
 * generated), which is all that programs see that never initialise MPI. MPI_Init
 * loads the Go part. This library needs no libmpi, since LD_PRELOAD reaches
 * launchers and shells, and a program may load its MPI late.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int exanet_live;
int64_t (*exanet_adopt)(uintptr_t, void *, int32_t);
void (*exanet_note)(void);
void (*exanet_hello)(void);

static int32_t (*start)(int32_t level);
static int64_t (*finalize)(void);

void *exanet_host(const char *name)
{
	char real[128];
	snprintf(real, sizeof real, "P%s", name);
	void *f = dlsym(RTLD_DEFAULT, real);
	if (!f) {
		/* Loaded by a plug-in whose symbols are its own, as mpi4py. */
		void *lib = dlopen(EXANET_HOST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
		f = lib ? dlsym(lib, real) : 0;
	}
	if (!f) {
		fprintf(stderr, "exanet: the program calls %s, but there is no %s in its MPI library: is this library the one for another MPI?\n", name, real);
		abort();
	}
	return f;
}

int exanet_failed(int64_t result)
{
	static int (*host)(MPI_Comm, int);
	if (!host)
		host = (int (*)(MPI_Comm, int))exanet_host("MPI_Comm_call_errhandler");
	int code = (int)(result & 0x7fffffff);
	host((MPI_Comm)(result >> 32), code);
	return code;
}

static void complain(const char *what, const char *why)
{
	fprintf(stderr, "exanet: %s: %s; the program runs over its own MPI\n", what, why);
}

/* load loads the Go part, which lies beside this library. */
static int load(void)
{
	Dl_info self;
	char here[PATH_MAX], path[PATH_MAX + sizeof EXANET_GO_PART + 1];
	if (!dladdr((void *)load, &self) || !realpath(self.dli_fname, here))
		return 0;
	snprintf(path, sizeof path, "%s/%s", dirname(here), EXANET_GO_PART);
	void *lib = exanet_open(path);
	if (!lib) {
		complain("the Go part cannot be loaded", dlerror());
		return 0;
	}
	for (const struct exanet_slot *s = exanet_slots; s->name; s++)
		if (!(*s->slot = dlsym(lib, s->name))) {
			complain(s->name, "not in the Go part, which is of another version");
			return 0;
		}
	start = (int32_t (*)(int32_t))dlsym(lib, "exanet_start");
	finalize = (int64_t (*)(void))dlsym(lib, "exanet_finalize");
	exanet_adopt = (int64_t (*)(uintptr_t, void *, int32_t))dlsym(lib, "exanet_adopt");
	exanet_note = (void (*)(void))dlsym(lib, "exanet_note");
	exanet_hello = (void (*)(void))dlsym(lib, "exanet_hello");
	return start && finalize && exanet_adopt && exanet_note && exanet_hello;
}

static void initialised(int level)
{
	const char *off = getenv("EXANET_DISABLE");
	if (exanet_live || (off && *off && strcmp(off, "0")))
		return;
	/* Either all ranks have the Go part, or none uses it. */
	static int (*allreduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
	allreduce = (int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))exanet_host("MPI_Allreduce");
	int mine = load(), all = 0;
	if (allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all)
		exanet_live = exanet_greet() && start(level);
}

int MPI_Init(int *argc, char ***argv)
{
	HOST(MPI_Init, int *, char ***);
	int code = host(argc, argv);
	if (code == MPI_SUCCESS)
		initialised(MPI_THREAD_SINGLE);
	return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	HOST(MPI_Init_thread, int *, char ***, int, int *);
	int code = host(argc, argv, required, provided);
	if (code == MPI_SUCCESS)
		initialised(*provided);
	return code;
}

int MPI_Finalize(void)
{
	HOST(MPI_Finalize, void);
	if (exanet_on) {
		int64_t r = finalize();
		exanet_live = 0;
		if (r)
			return exanet_failed(r);
	}
	return host();
}
