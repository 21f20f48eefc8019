/* What the entry points of Fortran are made of. All arguments are addresses; the
   types of Fortran are those that the host was built with, whose INTEGER and
   LOGICAL are of the size of int, and .TRUE. is 1. */
#ifndef EXANET_FORTRAN_H
#define EXANET_FORTRAN_H

#include "entry.h"

#include <stdlib.h>

_Static_assert(sizeof(MPI_Fint) == sizeof(int), "INTEGER and int are of one size");
#ifdef MPI_F_STATUS_SIZE
_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "statuses are the same in Fortran");
#endif

/* A wrapper of the host. */
struct f_host {
	const char *name;
	void *f;
};
void *f_find(struct f_host *host);

#define F_ENTRY(symbol, real, Name, params, ...)       \
	void symbol params;                            \
	void symbol params                             \
	{                                              \
		static struct f_host host = {real, 0}; \
		f_##Name(&host, __VA_ARGS__);          \
	}

#ifdef OPEN_MPI
#define F_ALIAS(symbol, of, params) void symbol params __attribute__((alias(of)));
/* mpif.h and the module mpi, with any compiler's names; the module mpi_f08. */
#define F_ENTRIES(lower, UPPER, Name, params, ...)                    \
	F_ENTRY(lower##_, "p" #lower "_", Name, params, __VA_ARGS__)  \
	F_ALIAS(lower, #lower "_", params)                            \
	F_ALIAS(lower##__, #lower "_", params)                        \
	F_ALIAS(UPPER, #lower "_", params)                            \
	F_ENTRY(lower##_f08_, #lower "_f08_", Name, params, __VA_ARGS__)
#define F_LARGE_ENTRY(lower, Name, params, ...) F_ENTRY(lower##_c_f08_, #lower "_c_f08_", Name, params, __VA_ARGS__)
#define F_DESCRIBED_ENTRY(lower, Name, params, ...) F_ENTRY(lower##_f08ts_, #lower "_f08ts_", Name, params, __VA_ARGS__)
#define F_USERFUNCTION(large) (large ? EXANET_LARGE_FORTRAN_FUNCTION : EXANET_FORTRAN_FUNCTION)
#else
#define F_ENTRIES(lower, UPPER, Name, params, ...) F_ENTRY(lower##_f08_, #lower "_f08_", Name, params, __VA_ARGS__)
/* By the names of MPICH 4 and of MPICH 5. */
#define F_LARGE_ENTRY(lower, Name, params, ...)                                      \
	F_ENTRY(lower##_f08_large_, #lower "_f08_large_", Name, params, __VA_ARGS__) \
	F_ENTRY(lower##_c_f08_, #lower "_c_f08_", Name, params, __VA_ARGS__)
#define F_USERFUNCTION(large) large
#endif

/* Handles. What is turned back is written only if the call has changed it: what
   has not been set need not mean anything. */
#ifdef OPEN_MPI
MPI_Comm f_comm(const void *p);
MPI_Datatype f_datatype(const void *p);
MPI_Op f_op(const void *p);
MPI_Info f_info(const void *p);
MPI_Fint f_from_comm(MPI_Comm h);
MPI_Fint f_from_datatype(MPI_Datatype h);
MPI_Fint f_from_op(MPI_Op h);
static inline MPI_Request f_request(const void *p) { return MPI_Request_f2c(*(const MPI_Fint *)p); }
static inline MPI_Message f_message(const void *p) { return MPI_Message_f2c(*(const MPI_Fint *)p); }
#define f_from_request MPI_Request_c2f
#define f_from_message MPI_Message_c2f
#else
#define F_SAME(Object, object)                                                           \
	static inline MPI_##Object f_##object(const void *p) { return *(const MPI_##Object *)p; } \
	static inline MPI_Fint f_from_##object(MPI_##Object h) { return h; }
F_SAME(Comm, comm)
F_SAME(Datatype, datatype)
F_SAME(Op, op)
F_SAME(Info, info)
F_SAME(Request, request)
F_SAME(Message, message)
#undef F_SAME
#endif

#define F_BACK(Object, object)                                         \
	static inline void f_##object##_back(void *p, MPI_##Object h)  \
	{                                                              \
		if (h != f_##object(p))                                \
			*(MPI_Fint *)p = f_from_##object(h);           \
	}
F_BACK(Comm, comm)
F_BACK(Datatype, datatype)
F_BACK(Op, op)
F_BACK(Request, request)
F_BACK(Message, message)
#undef F_BACK

/* Arrays of requests, in few if they fit; else they are taken from the heap. */
enum { F_FEW = 64 };
MPI_Request *f_requests(const void *n, void *p, MPI_Request few[F_FEW]);
void f_requests_back(const void *n, void *p, MPI_Request *requests, MPI_Request few[F_FEW]);

/* An array of datatypes, one for each of the blocks of a collective call. */
enum f_blocks { f_ranks, f_sources, f_destinations };
MPI_Datatype *f_types(const void *p, const void *comm, enum f_blocks blocks);

/* A buffer that a descriptor tells of, as an address, a count and a type. What lies apart is one
   of a type that is made for it. Without a count and a type it must be in one piece. */
struct f_section {
	void *base, *count, *type;
	MPI_Count one;
	MPI_Fint made;
	MPI_Datatype whole;
};
int f_section(struct f_section *s, const void *descriptor, void *count, void *type, int large);
void f_section_free(struct f_section *s);

/* What is attached for buffered sends, as C has it. */
const void *f_attached(const struct f_host *host, const void *p);

/* Buffers and statuses, some of which are constants. */
void *f_buffer(void *p);
MPI_Status *f_status(void *p);
MPI_Status *f_statuses(void *p);

/* Turns n indices into what the host's wrappers make of them. */
void f_indices(MPI_Fint n, void *p);

/* An address as a result, which only mpi_f08 has. */
void f_address_back(const struct f_host *host, void *p, void *address);

static inline void f_return(void *ierror, int code)
{
	if (ierror)
		*(MPI_Fint *)ierror = code;
}

#endif
