/*
 * The preload library: entry points in front of the host MPI's (entries.c,
 * generated), which is all that programs see that never initialise MPI. MPI_Init
 * loads the Go part. This library needs no libmpi, since LD_PRELOAD reaches
 * launchers and shells, and a program may load its MPI late.
 */
#include "entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int exanet_live, exanet_counting, exanet_checking;
__thread void *exanet_caller;
int64_t (*exanet_adopt)(exanet_handle, void *, int32_t, void *);
void (*exanet_made_comm)(void *);
void (*exanet_made_request)(void *);
void (*exanet_windows)(int32_t);

static void (*show)(int32_t level, void *card);
static int32_t (*start)(void *cards);
static int64_t (*finalize)(void);
static void (*counted)(const char *, uint64_t);
static void (*share)(void *shared, uint64_t size);
static uint64_t (*fast)(void *no_request, uint64_t size);
static void (*trace)(void *(*caller)(void));
#ifdef EXANET_ABI
static int (*find_count)(void);
#endif

/* What this part calls of the Go part beside what the entry points call. */
static const struct exanet_slot own[] = {
	{"exanet_card", (void **)&show},
	{"exanet_start", (void **)&start},
	{"exanet_finalize", (void **)&finalize},
	{"exanet_counted", (void **)&counted},
	{"exanet_whose", (void **)&exanet_whose},
	{"exanet_adopt", (void **)&exanet_adopt},
	{"exanet_made_comm", (void **)&exanet_made_comm},
	{"exanet_made_request", (void **)&exanet_made_request},
	{"exanet_windows", (void **)&exanet_windows},
	{"exanet_fast", (void **)&fast},
	{"exanet_share", (void **)&share},
	{"exanet_trace", (void **)&trace},
#ifdef EXANET_ABI
	{"exanet_find_count", (void **)&find_count},
#endif
	{0, 0}
};

/* Handles of one MPI, passed on as those of another, lead anywhere: the program is
   not begun with the wrong library. */
static void fits(void)
{
	enum { OF_MPICH, OF_OPEN_MPI, OF_ABI };
	static const char *const names[] = {"MPICH", "Open MPI", "one of the standard ABI"},
		*const files[] = {"mpich", "openmpi", "abi"};
	int (*version)(int *, int *) = (int (*)(int *, int *))exanet_symbol("PMPI_Abi_get_version");
	int major = -1, minor, of = exanet_symbol("ompi_mpi_comm_world") ? OF_OPEN_MPI : OF_MPICH;
	if (version && version(&major, &minor) == 0 && major > 0) /* others have the function, too */
		of = OF_ABI;
	if (strcmp(files[of], EXANET_HOST) == 0)
		return;
	fprintf(stderr, "exanet: libexanet-" EXANET_HOST ".so is preloaded, but the program's MPI is %s: "
			"preload libexanet-%s.so, or use exanet preload\n", names[of], files[of]);
	exit(2);
}

/* Why the Go part is not there, if it should be. */
static char complaint[256];

static void complain(const char *what, const char *why)
{
	snprintf(complaint, sizeof complaint, "exanet: %s: %s; the program runs over its own MPI\n", what, why);
}

/* Go ends the process if it cannot have the memory that it wants: addresses, and what may
   be written to (ulimit -v, ulimit -l with mlockall, ulimit -d). */
static int fits_in(size_t size, int protection)
{
	void *p = mmap(0, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p != MAP_FAILED && munmap(p, size) == 0;
}

static int limited(int resource)
{
	struct rlimit r;
	return getrlimit(resource, &r) == 0 && r.rlim_cur != RLIM_INFINITY;
}

/* Go's runtime takes more than a gigabyte of addresses as it begins, with all its threads; the segment of two ranks has
   a tenth of that. */
static int enough_memory(void)
{
	return fits_in((size_t)7 << 28, PROT_NONE) && (!limited(RLIMIT_DATA) || fits_in(256 << 20, PROT_READ | PROT_WRITE));
}

/* Nor does it go on without descriptors, of which it takes a few. */
static int supplied(void)
{
	int fds[8], n = 0;
	while (n < 8 && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	int enough = n == 8 || errno != EMFILE;
	while (n > 0)
		close(fds[--n]);
	return enough;
}

/* A child of fork has the memory of the Go part, but none of its threads, and is no rank:
   it may go its own way, or end. */
static void child_calls(void)
{
	static const char line[] = "exanet: a child process calls MPI, which its parent has initialised: "
				   "with this library only that one can\n";
	if (write(2, line, sizeof line - 1)) {}
	_exit(1);
}

static void forked(void)
{
	for (const struct exanet_slot *s = exanet_slots; s->name; s++)
		*s->slot = (void *)child_calls;
	exanet_table = 0;
	for (int i = 0; i < SHARED_AREAS; i++)
		exanet_shared.areas[i].id = 0;
	exanet_met = 1;
	exanet_adopt = (int64_t (*)(exanet_handle, void *, int32_t, void *))child_calls;
	finalize = 0; /* the host's is called, if the child comes to its end in the same way */
}

static int find(void *lib, const struct exanet_slot *s)
{
	for (; s->name; s++)
		if (!(*s->slot = dlsym(lib, s->name))) {
			complain(s->name, "not in the Go part, which is of another version");
			return 0;
		}
	return 1;
}

/* load loads the Go part, which lies beside this library. */
#define GO_PART "libexanet-" EXANET_HOST "-go.so"
static int load(void)
{
	Dl_info self;
	char here[PATH_MAX], path[PATH_MAX + sizeof GO_PART + 1];
	if (!dladdr((void *)load, &self) || !realpath(self.dli_fname, here))
		return 0;
	snprintf(path, sizeof path, "%s/%s", dirname(here), GO_PART);
	if (!enough_memory()) {
		complain("the Go part needs 1.75 GiB of address space and 256 MiB of data", "ulimit -v, -d or -l leaves less");
		return 0;
	}
	if (!supplied()) {
		complain("the Go part needs 8 more open files", "ulimit -n leaves less");
		return 0;
	}
	const char *why;
	void *lib = exanet_open(path, &why);
	if (!lib) {
		complain("the Go part cannot be loaded", why);
		return 0;
	}
	if (!find(lib, exanet_slots) || !find(lib, own))
		return 0;
#ifdef EXANET_ABI
	if ((exanet_count_at = find_count()) < 0) {
		complain("the statuses of the program's MPI", "they are not as MPICH's or Open MPI's are");
		return 0;
	}
#endif
	pthread_atfork(0, 0, forked);
	return 1;
}

/* Every rank shows a card to all, even if it has no Go part or shall not use it, so
   that either all use it or none. Their first byte is a state of package bootstrap. */
enum { CARD = 128, DISABLED = 2, NOT_LOADED = 3 };

static int ended(MPI_Request *r, int *flag)
{
	HOST(MPI_Test, MPI_Request *, int *, MPI_Status *);
	return host(r, flag, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/* Whether this rank is the first of its host that asks. It may not be the one that the launcher counts as the first,
   which may have no library. The ranks of a host have one parent, most often: who is the first to bind a socket to a
   name with the parent's number is it, as long as it lives. */
static int first_here(void)
{
	static int first = -1;
	if (first < 0) {
		int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct sockaddr_un name = {.sun_family = AF_UNIX};
		int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "exanet waits, %d", (int)getppid());
		first = bind(s, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + n) == 0 ||
			errno != EADDRINUSE;
	}
	return first;
}

/* All ranks have come out of the host's MPI_Init by now, so they show their cards soon. But those without this library
   show none and go on, and a collective that has begun cannot be given up: then the job must end. */
enum { SOON = 10, LATE = 60 }; /* seconds */
#define TAKES_ALL "for other ranks to show that they have libexanet-" EXANET_HOST ".so, too"

static void wonder(void)
{
	if (first_here())
		fprintf(stderr, "exanet: MPI_Init has waited for %d seconds " TAKES_ALL ": is it on each host, under the same "
				"path?\n", SOON);
}

static void give_up(void)
{
	HOST(MPI_Abort, MPI_Comm, int);
	if (first_here())
		fprintf(stderr, "exanet: MPI_Init has waited for %d seconds " TAKES_ALL ", and ends the job: put it on each "
				"host, under the same path, or preload it nowhere; if it is there, see whether the program runs "
				"between these hosts without it\n", LATE);
	nanosleep(&(struct timespec){0, 50000000}, 0); /* what a launcher has not read it may forget */
	host(WORLD, 2);
}

/* A collective of a host may spin, in the way of the rank that it waits for if there
   are fewer cores than ranks. */
static int gather(void *mine, void *cards)
{
	HOST(MPI_Iallgather, const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *);
	static const struct timespec nap = {0, 50000};
	struct timespec began, now;
	clock_gettime(CLOCK_MONOTONIC, &began);
	MPI_Request r;
	int done = 0, wondered = 0, ok = host(mine, CARD, BYTE, cards, CARD, BYTE, WORLD, &r) == MPI_SUCCESS;
	for (int i = 0; ok && (ok = ended(&r, &done)) && !done; i++)
		if (i < 100) {
			sched_yield();
		} else {
			nanosleep(&nap, 0);
			clock_gettime(CLOCK_MONOTONIC, &now);
			if (now.tv_sec - began.tv_sec > LATE)
				give_up();
			if (!wondered && (wondered = now.tv_sec - began.tv_sec > SOON))
				wonder();
		}
	return ok;
}

/* The first of the ranks that miss the Go part says so. */
static void speak(const char *cards, int n)
{
	HOST(MPI_Comm_rank, MPI_Comm, int *);
	int me, first = 0;
	while (first < n && cards[first * CARD] != NOT_LOADED)
		first++;
	if (host(WORLD, &me) == MPI_SUCCESS && first == me)
		fputs(complaint, stderr);
}

int exanet_disabled(void)
{
	const char *off = getenv("EXANET_DISABLE");
	return off && *off && strcmp(off, "0");
}

/* Registers this process for membarrier, by which our ranks sleep and wake (emu/host/wait.go), and the lock of the
   fast path is shut. The kernel does that at once for a process of one thread, which it may not be any more when the
   host is up: then the kernel waits for all cores, for 10 ms or more. */
void exanet_prepare(void)
{
	fits();
	if (!exanet_disabled()) {
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
		syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	}
}

/* Opens the fast path, if there is one. */
static void open_fast(void)
{
	exanet_handle no_request;
	uint64_t table = fast(&no_request, sizeof(struct fast_table));
	share(&exanet_shared, sizeof exanet_shared);
	if (table)
		exanet_fast_open((struct fast_table *)(uintptr_t)table, no_request);
}

static void *caller(void) { return exanet_caller; }

/* Has the Go part know where calls come from, if it is to check them. */
static void open_trace(void)
{
	const char *check = getenv("EXANET_CHECK");
	if (!check || !*check || !strcmp(check, "0"))
		return;
	trace(caller);
	exanet_checking = 1;
}

int exanet_initialised(int code, const int *level)
{
	HOST(MPI_Comm_size, MPI_Comm, int *);
	char mine[CARD] = {0}, *cards;
	int n;
	if (code != MPI_SUCCESS || exanet_live || host(WORLD, &n) != MPI_SUCCESS || !(cards = calloc(n, CARD)))
		return code;
	if (exanet_disabled())
		mine[0] = DISABLED;
	else if (!load())
		mine[0] = NOT_LOADED;
	else
		show(*level, mine);
	if (gather(mine, cards)) {
		if (mine[0] == NOT_LOADED)
			speak(cards, n);
		else if (mine[0] != DISABLED)
			exanet_live = start(cards);
		if (exanet_live) {
			open_fast();
			open_trace();
		}
		exanet_counting = exanet_live && getenv("EXANET_STATS");
	}
	free(cards);
	return code;
}

int exanet_finish(void)
{
	if (!exanet_on || !finalize)
		return MPI_SUCCESS;
	exanet_counting = exanet_checking = 0;
	exanet_caller = 0;
	exanet_table = 0;
	for (int i = 0; i < SHARED_AREAS; i++)
		exanet_shared.areas[i].id = 0;
	for (int i = 0; exanet_names[i]; i++)
		if (exanet_passed[i])
			counted(exanet_names[i], exanet_passed[i]);
	int64_t r = finalize();
	exanet_live = 0;
	return r ? exanet_failed(r, "MPI_Finalize") : MPI_SUCCESS;
}

#ifdef EXANET_ADDRESSES
/* These look into the object, but in MPICH, whose handles are numbers as they are. The functions with ints are those
   of MPI 5; the standard ABI has no others. */
#define NUMBER(object, from, made, kind)                                                            \
	int object##from(object h)                                                                  \
	{                                                                                           \
		uintptr_t n = (uintptr_t)h;                                                         \
		if ((n & ((1 << EXANET_SHIFT) - 1)) == kind)                                        \
			return (int)(n >> EXANET_SHIFT) | EXANET_FORTRAN;                           \
		HOST_GIVES(int, #object #from, object);                                             \
		return host(h);                                                                     \
	}                                                                                           \
	object object##made(int n)                                                                  \
	{                                                                                           \
		if (n > 0 && n & EXANET_FORTRAN)                                                    \
			return (object)((uintptr_t)(n ^ EXANET_FORTRAN) << EXANET_SHIFT | kind);    \
		HOST_GIVES(object, #object #made, int);                                             \
		return host(n);                                                                     \
	}
NUMBER(MPI_Request, _toint, _fromint, EXANET_REQUEST)
NUMBER(MPI_Message, _toint, _fromint, EXANET_MESSAGE)
#ifdef OPEN_MPI
NUMBER(MPI_Request, _c2f, _f2c, EXANET_REQUEST)
NUMBER(MPI_Message, _c2f, _f2c, EXANET_MESSAGE)
#endif
#endif
