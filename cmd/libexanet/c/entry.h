/* What the generated entry points and entry.c share. */
#ifndef EXANET_ENTRY_H
#define EXANET_ENTRY_H

#include "calls.h"
#include "shared.h"

#include <signal.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* What ours return: 0, EXANET_PASS, or an error code with a number above it, by
   which exanet_failed finds the communicator whose error handler is to be called;
   0 if the host has called it. */
#define EXANET_PASS ((int64_t)-1)

/* Addresses as ours take them. Go's stacks must not hold small numbers in place of
   pointers, which MPI_STATUS_IGNORE is in MPICH and MPI_IN_PLACE in Open MPI. Ours
   take the highest address for MPI_IN_PLACE, and none for other such constants and
   for what a program passes along with a count of 0. */
static inline const void *exanet_address(const void *p)
{
	return (uintptr_t)p < 4096 ? 0 : p;
}

static inline const void *exanet_buffer(const void *p)
{
	return p == MPI_IN_PLACE ? (const void *)UINTPTR_MAX : exanet_address(p);
}

/* Whether this may be given for a status. */
#ifdef OPEN_MPI
#define exanet_status(p) 1
#else
#define exanet_status(p) ((p) != 0)
#endif

/* Whether the Go part is at work: between MPI_Init and MPI_Finalize. */
extern int exanet_live;

/* Whether this thread has called the Go part before. */
extern __thread int exanet_met __attribute__((tls_model("initial-exec")));

/* Calls the Go part for the first time in this thread, and returns 1. */
int exanet_greet(void);
extern void (*exanet_hello)(void);

/* Whether a call of this thread is to be tried with the Go part. */
#define exanet_on (exanet_live && (exanet_met || exanet_greet()))

/* Loads the Go part without a trace in the program's signals, as dlopen, and greets it; 0 and why if
   it cannot be. */
void *exanet_open(const char *path, const char **why);

/* The signals as they are before the Go part is loaded, and back to it. */
struct exanet_signals {
	sigset_t mask;
	struct sigaction actions[65];
	int known[65];
};
void exanet_signals_hold(struct exanet_signals *s);
void exanet_signals_release(struct exanet_signals *s, int loaded);

/* The C library's own sigaction. */
extern int __sigaction(int, const struct sigaction *, struct sigaction *);

/* A signal that nobody else uses, see threads.c. A thread that has it blocked, and lets Go
   unblock signals next, takes none but faults from then on, if it says so here. */
#define EXANET_QUIET SIGSTKFLT
void exanet_keep_quiet(void);

/* Whether the user wants the host alone (EXANET_DISABLE). */
int exanet_disabled(void);

struct exanet_slot {
	const char *name;
	void **slot;
};
extern const struct exanet_slot exanet_slots[];

extern int64_t (*exanet_adopt)(exanet_handle comm, void *newcomm, int32_t tag);
/* The communicator whose error handler is to be called for a number of a result. */
extern exanet_handle (*exanet_whose)(int32_t number);

/* The host has made something for which it must make progress while we wait: a
   communicator that is not ours, a request that is under way, a window, which has
   gone if it is -1. */
extern void (*exanet_made_comm)(void *comm);
extern void (*exanet_made_request)(void *request);
extern void (*exanet_windows)(int32_t n);

/* How often each function of exanet_names has been passed through to the host, if
   exanet_counting says that somebody wants to know (EXANET_STATS). */
extern int exanet_counting;
extern const char *const exanet_names[];
extern uint64_t exanet_passed[];
#define EXANET_PASSED(i)                                                              \
	do                                                                            \
		if (__builtin_expect(exanet_counting, 0))                             \
			__atomic_fetch_add(&exanet_passed[i], 1, __ATOMIC_RELAXED);   \
	while (0)

/* The host MPI's function of a name that begins with MPI. */
void *exanet_host(const char *name);

/* What the host MPI defines under a name; 0 if nothing. */
void *exanet_symbol(const char *name);

/* Predefined objects are data of Open MPI, to which this library is not linked. */
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)exanet_symbol("ompi_mpi_comm_world"))
#define BYTE ((MPI_Datatype)exanet_symbol("ompi_mpi_byte"))
#define NO_TYPE ((MPI_Datatype)exanet_symbol("ompi_mpi_datatype_null"))
#else
#define WORLD MPI_COMM_WORLD
#define BYTE MPI_BYTE
#define NO_TYPE MPI_DATATYPE_NULL
#endif

/* Calls the error handler and returns the code. */
int exanet_failed(int64_t result);

/* Whether an error is in an argument in which every host finds it before it does
   anything. Then the host is given the call, and reports it: in its own words, which
   name the call and the argument, to its error handler, with its code. */
int exanet_wrong_count(int64_t result, int64_t count);
int exanet_wrong_type(int64_t result, MPI_Datatype type, int64_t count);
int exanet_wrong_op(int64_t result);
int exanet_wrong_rank(int64_t result, int rank, MPI_Comm comm);
int exanet_wrong_root(int64_t result, int root, MPI_Comm comm);
int exanet_wrong_tag(int64_t result, int tag);

/* Drops an error that the host tells; returns whether it does. */
int exanet_told(int64_t result, int by_the_host);
/* The same for a call that is given no place for what it gives back. */
int exanet_nowhere(void);

/* Declares host, a pointer to the host MPI's own function. */
#define HOST(name, ...)                                          \
	static int (*host)(__VA_ARGS__);                         \
	if (!host)                                               \
		host = (int (*)(__VA_ARGS__))exanet_host(#name)

#endif
