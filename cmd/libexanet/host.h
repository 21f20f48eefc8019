/* The host MPI, as the Go part calls it. */
#ifndef EXANET_HOST_H
#define EXANET_HOST_H

#include "c/handles.h"

/* Constants that are no plain numbers in mpi.h. */
extern const MPI_Comm exanet_world, exanet_self, exanet_no_comm;
extern const MPI_Request exanet_no_request;
extern const MPI_Message exanet_no_message, exanet_message_no_proc;
extern const MPI_Op exanet_min, exanet_no_op;
extern const MPI_Datatype exanet_byte, exanet_int, exanet_no_type, exanet_lb, exanet_ub;

/* Datatypes and operators that mpi.h predefines, under the name of ours. */
struct exanet_type {
	const char *name;
	MPI_Datatype type;
	int host_only; /* 1: the host computes with them, not we */
	int operators; /* which groups of operators there are for it */
};
struct exanet_op {
	const char *name;
	MPI_Op op;
	int group;
};
extern const struct exanet_type *const exanet_types;
extern const struct exanet_op *const exanet_ops;

/* What a function without arguments returns. */
void *exanet_where(void *f);

/* Calls a user function of one of the forms in handles.h. state is for the form that has one. */
void exanet_call(void *f, int form, uintptr_t state, void *in, void *inout, int64_t count, MPI_Datatype type);

/* Whether a message may have so many elements of a datatype, which need not be
   committed, or none at all, if there are none. */
int exanet_takes(int count, MPI_Datatype type);

/* Has exanet_freed called when the host frees a datatype. */
void exanet_watch(MPI_Datatype type);
void exanet_freed(MPI_Datatype type);

/* The host's calls on requests of its own. Here, as everywhere in the Go part, a
   status that nobody wants is a null pointer. */
int exanet_waitall(int n, MPI_Request *rs, MPI_Status *sts); /* all have completed */
int exanet_wait(MPI_Request *r, MPI_Status *s); /* it has completed */
int exanet_test(MPI_Request *r, int *flag, MPI_Status *s);
int exanet_testany(int n, MPI_Request *rs, int *index, int *flag, MPI_Status *s);
int exanet_testsome(int n, MPI_Request *rs, int *count, int *indices, MPI_Status *sts);

/* Gives a new communicator the error handler of its parent, as the standard says. MPICH gives
   some none, and means that of MPI_COMM_WORLD; but if it is told to call the handler of
   one, having none is fatal. */
void exanet_inherit(MPI_Comm parent, MPI_Comm made);

/* Which topology a new communicator has. Open MPI 5.0 takes a distributed graph of the ranks of a grid for a grid. */
int exanet_topology(MPI_Comm made);

/* How a datatype was made. What the forms of MPI-4 count in larges are ints and
   addresses where the host does not have those forms. */
struct exanet_envelope {
	MPI_Count ints, addresses, larges, types;
	int combiner;
};
int exanet_get_envelope(MPI_Datatype t, struct exanet_envelope *e);
int exanet_get_contents(MPI_Datatype t, const struct exanet_envelope *e, int *ints, MPI_Aint *addresses,
	MPI_Count *larges, MPI_Datatype *types);

/* A datatype of a few numbers and a predefined type. exanet_get_shape reports whether this is one. */
struct exanet_shape {
	int combiner, numbers[3];
	MPI_Datatype part;
	MPI_Count lb, extent;
};
int exanet_get_shape(MPI_Datatype t, struct exanet_shape *s);

/* Constructors of MPI-1, whose displacements are ints. The standard ABI has none. */
#ifdef EXANET_ABI
enum { exanet_hvector_integer = -3, exanet_hindexed_integer, exanet_struct_integer };

/* Where a status has its count (c/handles.h); -1: elsewhere. */
int exanet_find_count(void);
#elif defined(OPEN_MPI) && !OMPI_ENABLE_MPI1_COMPAT
enum {
	exanet_hvector_integer = OMPI_WAS_MPI_COMBINER_HVECTOR_INTEGER,
	exanet_hindexed_integer = OMPI_WAS_MPI_COMBINER_HINDEXED_INTEGER,
	exanet_struct_integer = OMPI_WAS_MPI_COMBINER_STRUCT_INTEGER
};
#else
enum {
	exanet_hvector_integer = MPI_COMBINER_HVECTOR_INTEGER,
	exanet_hindexed_integer = MPI_COMBINER_HINDEXED_INTEGER,
	exanet_struct_integer = MPI_COMBINER_STRUCT_INTEGER
};
#endif

/* Before and after all others. */
void exanet_begin(void);
void exanet_end(void);

/* Lets the host make progress. */
void exanet_poll(void);
/* The same, with a request that has not completed, and which it does not end. */
void exanet_push(MPI_Request r);

#endif
