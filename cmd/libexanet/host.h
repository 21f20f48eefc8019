/* The host MPI, as the Go part calls it. */
#ifndef EXANET_HOST_H
#define EXANET_HOST_H

#include <mpi.h>
#include <stdint.h>

/* Constants that are no plain numbers in mpi.h. */
extern const MPI_Comm exanet_world, exanet_self;
extern const MPI_Request exanet_no_request;
extern MPI_Status *const exanet_ignored;
extern const MPI_Message exanet_no_message, exanet_message_no_proc;
extern const MPI_Op exanet_replace, exanet_no_op, exanet_min;
extern const MPI_Datatype exanet_byte, exanet_int;

/* Datatypes and operators that mpi.h predefines, under the name of ours. */
struct exanet_type {
	const char *name;
	MPI_Datatype type;
	int host_only; /* 1: the host computes with them, not we */
};
struct exanet_op {
	const char *name;
	MPI_Op op;
};
extern const struct exanet_type *const exanet_types;
extern const struct exanet_op *const exanet_ops;

/* Calls a user function, of the MPI-4 form if large. */
void exanet_call(void *f, int large, void *in, void *inout, int64_t count, MPI_Datatype type);

void exanet_set_status(MPI_Status *s, int source, int tag, int64_t bytes, int cancelled);

/* Has exanet_freed called when the host frees a datatype. */
void exanet_watch(MPI_Datatype type);
void exanet_freed(MPI_Datatype type);

/* Lets the host make progress, between begin and end. */
void exanet_poll_begin(void);
void exanet_poll(void);
void exanet_poll_end(void);

#endif
