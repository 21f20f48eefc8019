/* Errors that the Go part has found, see errors.c. A result of the Go part is 0, EXANET_PASS (the call is
   the host's), or an error code with a number above it, by which exanet_failed finds the communicator whose error
   handler is to be called; the number is 0 if the host has called it. */
#ifndef EXANET_ERRORS_H
#define EXANET_ERRORS_H

#include "handles.h"

#define EXANET_PASS ((int64_t)-1)

/* The communicator whose error handler is to be called for a number of a result. */
extern exanet_handle (*exanet_whose)(int32_t number);

/* Calls the error handler for an error of the call of this name, and returns the code. */
int exanet_failed(int64_t result, const char *name);

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
/* Calls the error handler for a call that is given no place for what it gives back. */
int exanet_nowhere(const char *name);

#endif
