/* Short collectives in shared memory, see shared.c. Each returns 1 if it has been done, 0 if it is
   to be made in Go. */
#ifndef EXANET_SHARED_H
#define EXANET_SHARED_H

#include "handles.h"
#include "layout.h"

/* What the Go part fills in: areas by the handles of their communicators, which are their IDs, and what it
   knows of predefined types and operators. */
extern struct shared exanet_shared;

/* Where the area or the type of a handle is looked for first. The Go part fills them in by this as well. */
static inline uint32_t exanet_spread(uint64_t handle) { return handle * COLLECTIVE_MIXER >> 56; }

/* A type, or the place where it would be, whose size is 0. */
static inline const struct shared_type *exanet_type_of(exanet_handle type)
{
	uint32_t at = exanet_spread((uint64_t)type);
	while (exanet_shared.types[at].size && exanet_shared.types[at].handle != (uint64_t)type)
		at = (at + 1) % SHARED_TYPES;
	return &exanet_shared.types[at];
}

int exanet_shared_Barrier(exanet_handle comm);
int exanet_shared_Bcast(void *buf, int64_t count, exanet_handle type, int root, exanet_handle comm);
int exanet_shared_Gather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Scatter(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Allgather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, exanet_handle comm);
int exanet_shared_Alltoall(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, exanet_handle comm);
int exanet_shared_Reduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op,
	int root, exanet_handle comm);
int exanet_shared_Allreduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op,
	exanet_handle comm);

#endif
