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

/* Blocks of ranks: of count elements behind each other, or of so many as there are at displacements. */
struct exanet_blocks {
	const void *base;
	int64_t count;
	const int *counts, *displs; /* 0: there is a count */
	exanet_handle type;
};

int exanet_shared_Barrier(exanet_handle comm);
int exanet_shared_move(uint32_t op, struct exanet_blocks out, struct exanet_blocks in, int root, exanet_handle comm);
int exanet_shared_reduce(uint32_t op, struct exanet_blocks out, void *in, exanet_handle operator, int root,
	exanet_handle comm);

#define BLOCKS(base, n, type) (struct exanet_blocks){base, n, 0, 0, type}
#define VECTOR(base, n, at, type) (struct exanet_blocks){base, 0, n, at, type}
#define MOVE(op, out, in, root, comm) exanet_shared_move(COLL_##op, out, in, root, comm)
#define exanet_shared_Bcast(b, n, t, root, comm) MOVE(BCAST, BLOCKS(b, n, t), BLOCKS(b, n, t), root, comm)
#define exanet_shared_Gather(o, n, t, i, m, u, root, comm) MOVE(GATHER, BLOCKS(o, n, t), BLOCKS(i, m, u), root, comm)
#define exanet_shared_Gatherv(o, n, t, i, m, at, u, root, comm) \
	MOVE(GATHERV, BLOCKS(o, n, t), VECTOR(i, m, at, u), root, comm)
#define exanet_shared_Scatter(o, n, t, i, m, u, root, comm) MOVE(SCATTER, BLOCKS(o, n, t), BLOCKS(i, m, u), root, comm)
#define exanet_shared_Scatterv(o, n, at, t, i, m, u, root, comm) \
	MOVE(SCATTERV, VECTOR(o, n, at, t), BLOCKS(i, m, u), root, comm)
#define exanet_shared_Allgather(o, n, t, i, m, u, comm) MOVE(ALLGATHER, BLOCKS(o, n, t), BLOCKS(i, m, u), 0, comm)
#define exanet_shared_Allgatherv(o, n, t, i, m, at, u, comm) \
	MOVE(ALLGATHERV, BLOCKS(o, n, t), VECTOR(i, m, at, u), 0, comm)
#define exanet_shared_Alltoall(o, n, t, i, m, u, comm) MOVE(ALLTOALL, BLOCKS(o, n, t), BLOCKS(i, m, u), 0, comm)
#define exanet_shared_Alltoallv(o, n, at, t, i, m, to, u, comm) \
	MOVE(ALLTOALLV, VECTOR(o, n, at, t), VECTOR(i, m, to, u), 0, comm)
#define REDUCE(op, out, in, f, root, comm) exanet_shared_reduce(COLL_##op, out, in, f, root, comm)
#define exanet_shared_Reduce(o, i, n, t, f, root, comm) REDUCE(REDUCE, BLOCKS(o, n, t), i, f, root, comm)
#define exanet_shared_Allreduce(o, i, n, t, f, comm) REDUCE(ALLREDUCE, BLOCKS(o, n, t), i, f, 0, comm)
#define exanet_shared_Reduce_scatter(o, i, n, t, f, comm) REDUCE(REDUCE_SCATTER, VECTOR(o, n, 0, t), i, f, 0, comm)
#define exanet_shared_Scan(o, i, n, t, f, comm) REDUCE(SCAN, BLOCKS(o, n, t), i, f, 0, comm)
#define exanet_shared_Exscan(o, i, n, t, f, comm) REDUCE(EXSCAN, BLOCKS(o, n, t), i, f, 0, comm)

#endif
