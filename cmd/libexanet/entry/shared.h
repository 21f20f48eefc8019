/* Collectives on boards, see shared.c. Each returns 1 if it has been done, 0 if it is
   to be made in Go. */
#ifndef EXANET_SHARED_H
#define EXANET_SHARED_H

#include "board.h"
#include "handles.h"

/* Predefined types whose elements lie in one piece, and operators: what the Go part
   tells of them. */
struct shared_type {
	exanet_handle type;
	uint32_t size;
	uint32_t kind;      /* enum board_kind */
	uint32_t operators; /* a bit for each that the host takes for the type */
};
struct shared_op {
	exanet_handle op;
	uint32_t operator; /* enum board_operator */
};

/* What the Go part fills in: boards by the handles of their communicators, which are
   their IDs. */
enum { SHARED_BOARDS = 64, SHARED_TYPES = 256, SHARED_OPS = 16 };
struct shared {
	struct board boards[SHARED_BOARDS];
	struct shared_type types[SHARED_TYPES];
	struct shared_op ops[SHARED_OPS];
	uint64_t known; /* of them */
};
extern struct shared exanet_shared;

static inline uint32_t exanet_spread(uint64_t handle) { return handle * 0x9e3779b97f4a7c15u >> 56; }

/* A type, or the place where it would be, whose size is 0. */
static inline const struct shared_type *exanet_type_of(exanet_handle type)
{
	uint32_t at = exanet_spread((uint64_t)type);
	while (exanet_shared.types[at].size && exanet_shared.types[at].type != type)
		at = (at + 1) % SHARED_TYPES;
	return &exanet_shared.types[at];
}

int exanet_shared_Barrier(exanet_handle comm);
int exanet_shared_Bcast(void *buf, int64_t count, exanet_handle type, int root, exanet_handle comm);
int exanet_shared_Gather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Scatter(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Allgather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, exanet_handle comm);
int exanet_shared_Alltoall(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, exanet_handle comm);
int exanet_shared_Reduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, int root, exanet_handle comm);
int exanet_shared_Allreduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm);
int exanet_shared_Scan(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm);
int exanet_shared_Exscan(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm);
int exanet_shared_Reduce_scatter(const void *out, void *in, const int *counts, exanet_handle type, exanet_handle op, exanet_handle comm);
int exanet_shared_Reduce_scatter_block(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm);
int exanet_shared_Allgatherv(const void *out, int64_t outcount, exanet_handle outtype, void *in, const int *counts, const int *displs, exanet_handle intype, exanet_handle comm);
int exanet_shared_Gatherv(const void *out, int64_t outcount, exanet_handle outtype, void *in, const int *counts, const int *displs, exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Scatterv(const void *out, const int *counts, const int *displs, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm);
int exanet_shared_Alltoallv(const void *out, const int *outcounts, const int *outdispls, exanet_handle outtype, void *in, const int *incounts, const int *indispls, exanet_handle intype, exanet_handle comm);

#endif
