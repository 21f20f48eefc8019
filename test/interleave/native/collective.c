//go:build interleave && cgo

#include "sanitizer.h"
#include "shared.c.h"

/* Tells what all communicators have: a type and an operator, whose handles are 1. */
struct collective_area *native_area(uint64_t comm)
{
	exanet_shared.types[exanet_spread(1)] = (struct shared_type){
		.handle = 1, .size = 8, .kind = KIND_UINT64, .operators = 1 << OPERATOR_SUM,
	};
	exanet_shared.ops[0] = (struct shared_op){1, OPERATOR_SUM};
	exanet_shared.known = 1;
	return &exanet_shared.areas[exanet_spread(comm) % SHARED_AREAS];
}

struct collective_line *native_line(uint64_t comm, uint32_t rank) { return line(native_area(comm), rank); }
struct collective_slot *native_slot(uint64_t comm, uint64_t call, uint32_t rank)
{
	return slot(native_area(comm), call, rank);
}

int native_barrier(uint64_t comm)
{
	begun();
	return exanet_shared_Barrier(comm);
}

int native_bcast(uint64_t comm, void *buf)
{
	begun();
	return exanet_shared_Bcast(buf, 1, 1, 0, comm);
}

int native_scatterv(uint64_t comm, const void *out, const int *counts, const int *displs, void *in)
{
	begun();
	return exanet_shared_Scatterv(out, counts, displs, 1, in, 1, 1, 0, comm);
}

int native_allreduce(uint64_t comm, const void *out, void *in)
{
	begun();
	return exanet_shared_Allreduce(out, in, 1, 1, 1, comm);
}
