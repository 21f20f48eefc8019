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
int64_t (*exanet_adopt)(exanet_handle, void *, int32_t);
void (*exanet_note)(void);
void (*exanet_hello)(void);

static int32_t (*start)(int32_t level);
static int64_t (*finalize)(void);
static exanet_handle (*whose)(int32_t number);

/* symbol finds what the host MPI defines. */
static void *symbol(const char *name)
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
	void *f = symbol(real);
	if (!f) {
		fprintf(stderr, "exanet: the program calls %s, but there is no %s in its MPI library: is this library the one for another MPI?\n", name, real);
		abort();
	}
	return f;
}

int exanet_failed(int64_t result)
{
	HOST(MPI_Comm_call_errhandler, MPI_Comm, int);
	int code = (int)(result & 0x7fffffff);
	int32_t number = (int32_t)(result >> 32);
	if (number)
		host((MPI_Comm)whose(number), code);
	return code;
}

/* Predefined objects are data of Open MPI, to which this library is not linked. */
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)symbol("ompi_mpi_comm_world"))
#define INT ((MPI_Datatype)symbol("ompi_mpi_int"))
#define MIN ((MPI_Op)symbol("ompi_mpi_op_min"))
#else
#define WORLD MPI_COMM_WORLD
#define INT MPI_INT
#define MIN MPI_MIN
#endif

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
	whose = (exanet_handle (*)(int32_t))dlsym(lib, "exanet_whose");
	exanet_adopt = (int64_t (*)(exanet_handle, void *, int32_t))dlsym(lib, "exanet_adopt");
	exanet_note = (void (*)(void))dlsym(lib, "exanet_note");
	exanet_hello = (void (*)(void))dlsym(lib, "exanet_hello");
	return start && finalize && whose && exanet_adopt && exanet_note && exanet_hello;
}

static void initialised(int level)
{
	const char *off = getenv("EXANET_DISABLE");
	if (exanet_live || (off && *off && strcmp(off, "0")))
		return;
	/* Either all ranks have the Go part, or none uses it. */
	HOST(MPI_Allreduce, const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
	int mine = load(), all = 0;
	if (host(&mine, &all, 1, INT, MIN, WORLD) == MPI_SUCCESS && all)
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

#ifdef OPEN_MPI
/* In Open MPI these look into the object; MPICH's are macros, which do not. */
#define CONVERSIONS(object, kind)                                                                   \
	MPI_Fint object##_c2f(object h)                                                             \
	{                                                                                           \
		static __typeof__(object##_c2f) *host;                                              \
		uintptr_t n = (uintptr_t)h;                                                         \
		if ((n & ((1 << EXANET_SHIFT) - 1)) == kind)                                        \
			return (MPI_Fint)(n >> EXANET_SHIFT) | EXANET_FORTRAN;                      \
		if (!host)                                                                          \
			host = (__typeof__(host))exanet_host(#object "_c2f");                       \
		return host(h);                                                                     \
	}                                                                                           \
	object object##_f2c(MPI_Fint n)                                                             \
	{                                                                                           \
		static __typeof__(object##_f2c) *host;                                              \
		if (n > 0 && n & EXANET_FORTRAN)                                                    \
			return (object)((uintptr_t)(n ^ EXANET_FORTRAN) << EXANET_SHIFT | kind);    \
		if (!host)                                                                          \
			host = (__typeof__(host))exanet_host(#object "_f2c");                       \
		return host(n);                                                                     \
	}
CONVERSIONS(MPI_Request, EXANET_REQUEST)
CONVERSIONS(MPI_Message, EXANET_MESSAGE)
#endif
