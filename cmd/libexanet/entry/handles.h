/* Handles of the host as numbers, and those of ours. */
#ifndef EXANET_HANDLES_H
#define EXANET_HANDLES_H

#include <mpi.h>
#include <stdint.h>

#ifdef OPEN_MPI
typedef uintptr_t exanet_handle; /* the address of an object */

/* A request or message of ours is a number, with its kind in the lowest bits: no
   address of an object is odd. In Fortran, where Open MPI counts its objects from
   0, it stands above a bit that no count reaches. */
enum { EXANET_REQUEST = 1, EXANET_MESSAGE = 3, EXANET_SHIFT = 2, EXANET_FORTRAN = 1 << 30 };
#else
typedef int32_t exanet_handle;

/* A message of ours is a number with a kind that MPICH does not have. */
enum { EXANET_MESSAGE = 0xf << 26 };
#endif

/* The handles of no request and no message. */
struct exanet_none {
	exanet_handle request, message;
};

/* Forms of user functions: as C has them before MPI-4, with large counts, and those
   of Fortran where its handles are others than in C. */
enum { EXANET_FUNCTION, EXANET_LARGE_FUNCTION, EXANET_FORTRAN_FUNCTION };

#endif
