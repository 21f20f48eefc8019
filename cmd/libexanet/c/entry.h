/* What the generated entry points and entry.c share. */
#ifndef EXANET_ENTRY_H
#define EXANET_ENTRY_H

#include "calls.h"
#include "errors.h"
#include "shared.h"
#include "symbols.h"
#include "threads.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* What is given for a buffer of buffered sends that the library is to find itself, since MPI 4.1. */
#ifndef MPI_BUFFER_AUTOMATIC
#ifdef OPEN_MPI
#define MPI_BUFFER_AUTOMATIC ((void *)4)
#else
#define MPI_BUFFER_AUTOMATIC ((void *)-2)
#endif
#endif

/* Addresses as ours take them. Go's stacks must not hold small numbers in place of
   pointers, which MPI_STATUS_IGNORE is in MPICH and MPI_IN_PLACE in Open MPI. Ours
   take the highest address for MPI_IN_PLACE, which stands for MPI_BUFFER_AUTOMATIC in calls that take
   that, and none for other such constants and
   for what a program passes along with a count of 0. */
static inline const void *exanet_address(const void *p)
{
	return (uintptr_t)p < 4096 ? 0 : p;
}

static inline const void *exanet_buffer(const void *p)
{
	return p == MPI_IN_PLACE || p == MPI_BUFFER_AUTOMATIC ? (const void *)UINTPTR_MAX : exanet_address(p);
}

/* Whether this may be given for a status. */
#define exanet_status(p) (!MPI_STATUS_IGNORE || (p))

/* Whether the Go part is at work: between MPI_Init and MPI_Finalize. */
extern int exanet_live;

/* Whether a call of this thread is to be tried with the Go part. */
#define exanet_on (exanet_live && (exanet_met || exanet_greet()))

/* What the entry points of MPI_Init and MPI_Init_thread do before the host's, and then with the code and the level of
   thread support that it has given; and that of MPI_Finalize before the host's, which is not called unless
   the code is MPI_SUCCESS. */
void exanet_prepare(void);
int exanet_initialised(int code, const int *level);
int exanet_finish(void);

/* Whether the user wants the host alone (EXANET_DISABLE). */
int exanet_disabled(void);

struct exanet_slot {
	const char *name;
	void **slot;
};
extern const struct exanet_slot exanet_slots[];

extern int64_t (*exanet_adopt)(exanet_handle comm, void *newcomm, int32_t tag, void *request);

/* The host has made something for which it must make progress while we wait: a
   communicator that is not ours, a request that is under way, a window, which has
   gone if it is -1. */
extern void (*exanet_made_comm)(void *comm);
extern void (*exanet_made_request)(void *request);
extern void (*exanet_windows)(int32_t n);

/* Whether somebody wants to know where calls come from (EXANET_CHECK), and where this
   thread's last call of ours did. */
extern int exanet_checking;
extern __thread void *exanet_caller;
#define EXANET_HERE()                                                                 \
	do                                                                            \
		if (__builtin_expect(exanet_checking, 0))                             \
			exanet_caller = __builtin_return_address(0);                  \
	while (0)

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

#endif
