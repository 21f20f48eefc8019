/* Handles of the host as numbers, and those of ours. */
#ifndef EXANET_HANDLES_H
#define EXANET_HANDLES_H

#include <mpi.h>
#include <stdint.h>

/* The header of the standard ABI is no host's: several have libraries for it. */
#if defined MPI_ABI_VERSION && !defined OPEN_MPI && !defined MPICH_VERSION
#define EXANET_ABI
#endif

#if defined OPEN_MPI || defined EXANET_ABI
#define EXANET_ADDRESSES
typedef uintptr_t exanet_handle; /* the address of an object */

/* A request or message of ours is a number, with its kind in the lowest bits: no
   address of an object is odd, nor has a constant of the standard ABI its kind there. In Fortran, where Open MPI
   counts its objects from 0, it stands above a bit that no count reaches. */
enum { EXANET_REQUEST = 1, EXANET_MESSAGE = 3, EXANET_SHIFT = 2, EXANET_FORTRAN = 1 << 30 };
#else
typedef int32_t exanet_handle;

/* A request of ours is a number; a message has a kind besides that MPICH does not have. */
enum { EXANET_REQUEST = 0, EXANET_MESSAGE = 0xf << 26 };
#endif

/* Above the numbers of requests and messages: the host never uses such handles for its own. */
enum { EXANET_NUMBERS = 1 << 26 };

/* The handle of ours that a number makes up, and the number of a handle, 0 if it is none of that kind. */
static inline exanet_handle exanet_handle_of(uint32_t n, exanet_handle kind)
{
#ifdef EXANET_ADDRESSES
	return (exanet_handle)n << EXANET_SHIFT | kind;
#else
	return n | kind;
#endif
}

static inline uint32_t exanet_number_of(exanet_handle h, exanet_handle kind)
{
#ifdef EXANET_ADDRESSES
	return (h & ((1 << EXANET_SHIFT) - 1)) == kind && h >> EXANET_SHIFT < EXANET_NUMBERS ? h >> EXANET_SHIFT : 0;
#else
	return (h & ~(EXANET_NUMBERS - 1)) == kind ? h & (EXANET_NUMBERS - 1) : 0;
#endif
}

/* The class of the errors that a rank's death makes: Open MPI 4 has none. */
#ifdef OPEN_MPI
enum { EXANET_ERR_FAILED = MPI_ERR_OTHER };
#elif defined EXANET_ABI
enum { EXANET_ERR_FAILED = MPI_ERR_PROC_ABORTED };
#else
enum { EXANET_ERR_FAILED = MPIX_ERR_PROC_FAILED };
#endif

#ifdef EXANET_ABI
/* Where the first of the two private ints of a status is that have the count of bytes. The other of the first two tells
   whether it was cancelled; in MPICH, whose count comes first, by its lowest bit. */
enum { EXANET_COUNT_OF_MPICH, EXANET_COUNT_OF_OPEN_MPI };

static inline void exanet_set_size(MPI_Status *s, int at, int64_t bytes, int cancelled)
{
	int *hidden = s->MPI_internal;
	hidden[at] = (int)bytes;
	hidden[at + 1] = (int)(at == EXANET_COUNT_OF_MPICH ? bytes >> 32 << 1 | cancelled : bytes >> 32);
	if (at == EXANET_COUNT_OF_OPEN_MPI)
		hidden[0] = cancelled;
}
#endif

/* What stands for the tag of a call that makes a communicator and has none: it can have a topology, or not. */
enum { EXANET_PLAIN = -1, EXANET_TOPOLOGY = -2 };

/* The forms of a call. */
enum { EXANET_DO, EXANET_BEGIN, EXANET_INIT };

/* Forms of user functions: as C has them before MPI-4, with large counts, both
   of Fortran where its handles are others than in C, and with a state of the program's. */
enum {
	EXANET_FUNCTION,
	EXANET_LARGE_FUNCTION,
	EXANET_FORTRAN_FUNCTION,
	EXANET_LARGE_FORTRAN_FUNCTION,
	EXANET_STATE_FUNCTION
};

#endif
