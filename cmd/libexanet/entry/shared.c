/*
 * Blocking collectives on boards (package coll/board), as far as their twin in C makes
 * them. What is out of the ordinary is left to Go: other types than predefined ones,
 * other operators, data in place, wrong arguments. A call that Go would refuse must not
 * come as far as the board: a part that has been posted is not taken back.
 */
#include "pair.h"
#include "shared.h"

struct shared exanet_shared;

static inline struct board *board_of(exanet_handle comm)
{
	struct board *b = &exanet_shared.boards[exanet_spread((uint64_t)comm) % SHARED_BOARDS];
	uint64_t id = __atomic_load_n(&b->id, __ATOMIC_ACQUIRE);
	return id && id == (uint64_t)comm ? b : 0;
}

/* More elements are left to Go. */
enum { MOST = 1 << 24 };

/* The bytes of count elements at buf; -1 if that is not known. */
static inline int64_t bytes(const void *buf, int64_t count, exanet_handle type)
{
	uint32_t size = exanet_type_of(type)->size;
	return size && count > 0 && count <= MOST && (uintptr_t)buf >= 4096 && (uintptr_t)buf != ~(uintptr_t)0 ? count * size : -1;
}

/* Whether two buffers have nothing in common, of which hosts may refuse some. */
static inline int apart(const void *a, uint64_t an, const void *b, uint64_t bn)
{
	return (uintptr_t)a + an <= (uintptr_t)b || (uintptr_t)b + bn <= (uintptr_t)a;
}

static inline int within(const struct board *b, int root) { return root >= 0 && (uint32_t)root < b->ranks; }

int exanet_shared_Barrier(exanet_handle comm)
{
	struct board *b = board_of(comm);
	return b && board_perform(b, BOARD_BARRIER, 0, 0, 0, 0, 1, 0);
}

int exanet_shared_Bcast(void *buf, int64_t count, exanet_handle type, int root, exanet_handle comm)
{
	struct board *b = board_of(comm);
	int64_t n;
	if (!b || !within(b, root) || (n = bytes(buf, count, type)) <= 0)
		return 0;
	if ((uint64_t)n >= b->direct[BOARD_BCAST])
		return board_direct(b, BOARD_BCAST, root, 0, buf, n, 0);
	return (uint64_t)n < b->pair[BOARD_BCAST] ? board_perform(b, BOARD_BCAST, root, 0, buf, n, 1, 0) : exanet_pair_bcast(b, root, buf, n, comm);
}

/* A call with send data and receive data, which are looked at where they count: of one
   block, or of one for each rank. */
static int move(enum board_op op, const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm, int sends, int receives, int outs, int ins)
{
	struct board *b = board_of(comm);
	if (!b || !within(b, root))
		return 0;
	sends |= b->me == (uint32_t)root, receives |= b->me == (uint32_t)root;
	int64_t n = sends ? bytes(out, outcount, outtype) : bytes(in, incount, intype);
	if (n <= 0 || (sends && receives && (bytes(in, incount, intype) != n || !apart(out, outs ? n * b->ranks : n, in, ins ? n * b->ranks : n))))
		return 0;
	if ((uint64_t)n >= b->direct[op])
		return board_direct(b, op, root, out, in, n, 0);
	if ((uint64_t)n < b->pair[op])
		return board_perform(b, op, root, out, in, n, 1, 0);
	if (n >= 1 << 20)
		return 0; /* there the root moves its own part while the other copies */
	switch (op) {
	case BOARD_GATHER: return exanet_pair_gather(b, root, out, in, n, comm);
	case BOARD_SCATTER: return exanet_pair_scatter(b, root, out, in, n, comm);
	default: return 0;
	}
}

int exanet_shared_Gather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm)
{
	return move(BOARD_GATHER, out, outcount, outtype, in, incount, intype, root, comm, 1, 0, 0, 1);
}

int exanet_shared_Scatter(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm)
{
	return move(BOARD_SCATTER, out, outcount, outtype, in, incount, intype, root, comm, 0, 1, 1, 0);
}

int exanet_shared_Allgather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, exanet_handle comm)
{
	return move(BOARD_ALLGATHER, out, outcount, outtype, in, incount, intype, 0, comm, 1, 1, 0, 1);
}

int exanet_shared_Alltoall(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, exanet_handle comm)
{
	return move(BOARD_ALLTOALL, out, outcount, outtype, in, incount, intype, 0, comm, 1, 1, 1, 1);
}

/* The function of an operator for a type, 0 if there is none here. */
static board_fold fold_of(exanet_handle operator, const struct shared_type *t)
{
	const struct shared_op *o = exanet_shared.ops, *end = o + exanet_shared.known;
	while (o < end && o->op != operator)
		o++;
	return o < end && t->operators >> o->operator & 1 ? board_fold_of(o->operator, t->kind) : 0;
}

static int reduce(enum board_op op, const void *out, void *in, int64_t count, exanet_handle type, exanet_handle operator, int root, exanet_handle comm, int receives)
{
	struct board *b = board_of(comm);
	const struct shared_type *t = exanet_type_of(type);
	board_fold fold;
	int64_t n;
	if (!b || !within(b, root) || (n = bytes(out, count, type)) <= 0)
		return 0;
	if ((receives || b->me == (uint32_t)root) && (bytes(in, count, type) < 0 || !apart(out, n, in, n)))
		return 0;
	if (!(fold = fold_of(operator, t)))
		return 0;
	if ((uint64_t)n < b->pair[op])
		return board_perform(b, op, root, out, in, n, t->size, fold);
	switch (op) {
	case BOARD_REDUCE: return exanet_pair_reduce(b, root, out, in, n, fold, comm);
	case BOARD_EXSCAN: return exanet_pair_exscan(b, out, in, n, comm);
	default: return 0;
	}
}

int exanet_shared_Reduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, int root, exanet_handle comm)
{
	return reduce(BOARD_REDUCE, out, in, count, type, op, root, comm, 0);
}

int exanet_shared_Allreduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	return reduce(BOARD_ALLREDUCE, out, in, count, type, op, 0, comm, 1);
}

int exanet_shared_Scan(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	return reduce(BOARD_SCAN, out, in, count, type, op, 0, comm, 1);
}

int exanet_shared_Exscan(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	return reduce(BOARD_EXSCAN, out, in, count, type, op, 0, comm, 1);
}

static int reduce_scatter(struct board *b, enum board_op op, const void *out, void *in, int64_t n, int64_t lo, int64_t hi, const struct shared_type *t, exanet_handle operator)
{
	board_fold fold = fold_of(operator, t);
	return fold && apart(out, n, in, hi - lo) && board_reduce_scatter(b, op, out, in, n, lo, hi, t->size, fold);
}

int exanet_shared_Reduce_scatter(const void *out, void *in, const int *counts, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	struct board *b = board_of(comm);
	const struct shared_type *t = exanet_type_of(type);
	int64_t all = 0, before = 0;
	if (!b || !counts)
		return 0;
	for (uint32_t i = 0; i < b->ranks; i++) {
		if (counts[i] < 0)
			return 0;
		before += i < b->me ? counts[i] : 0;
		all += counts[i];
	}
	int64_t n = bytes(out, all, type), mine = counts[b->me];
	if (n <= 0 || (mine > 0 && bytes(in, mine, type) < 0))
		return 0;
	return reduce_scatter(b, BOARD_REDUCE_SCATTER, out, in, n, before * t->size, (before + mine) * t->size, t, op);
}

int exanet_shared_Reduce_scatter_block(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	struct board *b = board_of(comm);
	int64_t n = bytes(in, count, type);
	if (!b || n <= 0 || bytes(out, count * b->ranks, type) < 0)
		return 0;
	return reduce_scatter(b, BOARD_REDUCE_SCATTER_BLOCK, out, in, n * b->ranks, n * b->me, n * b->me + n, exanet_type_of(type), op);
}

/* The blocks of a buffer and, in span, where the first of them begins and the last ends;
   0 unless they are known, and as they should be. */
static int blocks(const struct board *b, struct board_blocks *x, const void *buf, const int *counts, const int *displs, exanet_handle type, uintptr_t span[2])
{
	uint32_t size = exanet_type_of(type)->size;
	*x = (struct board_blocks){(char *)buf, counts, displs, size};
	span[0] = ~(uintptr_t)0, span[1] = 0;
	if (!counts || !displs || !size || (uintptr_t)buf == 1 || (uintptr_t)buf == ~(uintptr_t)0)
		return 0;
	for (uint32_t i = 0; i < b->ranks; i++) {
		if (counts[i] < 0 || counts[i] > MOST)
			return 0;
		if (counts[i] > 0) {
			uintptr_t at = (uintptr_t)buf + displs[i] * (intptr_t)size, end = at + counts[i] * size;
			span[0] = at < span[0] ? at : span[0];
			span[1] = end > span[1] ? end : span[1];
		}
	}
	return span[1] == 0 || (uintptr_t)buf >= 4096;
}

/* The same for a block alone, whose bytes it returns; -1 as blocks 0. */
static int64_t block(const void *buf, int64_t count, exanet_handle type, uintptr_t span[2])
{
	uint32_t size = exanet_type_of(type)->size;
	span[0] = (uintptr_t)buf, span[1] = span[0] + count * size;
	return count == 0 && size && (uintptr_t)buf != 1 && (uintptr_t)buf != ~(uintptr_t)0 ? 0 : bytes(buf, count, type);
}

static inline int disjoint(const uintptr_t a[2], const uintptr_t b[2]) { return a[1] <= b[0] || b[1] <= a[0]; }

int exanet_shared_Allgatherv(const void *out, int64_t outcount, exanet_handle outtype, void *in, const int *counts, const int *displs, exanet_handle intype, exanet_handle comm)
{
	struct board *b = board_of(comm);
	struct board_blocks recv;
	uintptr_t from[2], to[2];
	int64_t n;
	if (!b || (n = block(out, outcount, outtype, from)) < 0 || !blocks(b, &recv, in, counts, displs, intype, to))
		return 0;
	if ((int64_t)(counts[b->me] * recv.elem) != n || !disjoint(from, to))
		return 0;
	uint64_t all = 0;
	for (uint32_t i = 0; i < b->ranks; i++)
		all += board_size(&recv, i);
	return all < b->direct[BOARD_ALLGATHERV] ? board_allgatherv(b, out, recv) : board_direct(b, BOARD_ALLGATHERV, 0, out, 0, 0, &recv);
}

int exanet_shared_Gatherv(const void *out, int64_t outcount, exanet_handle outtype, void *in, const int *counts, const int *displs, exanet_handle intype, int root, exanet_handle comm)
{
	struct board *b = board_of(comm);
	struct board_blocks recv = {0};
	uintptr_t from[2], to[2];
	int64_t n;
	if (!b || !within(b, root) || (n = block(out, outcount, outtype, from)) < 0)
		return 0;
	if (b->me == (uint32_t)root && (!blocks(b, &recv, in, counts, displs, intype, to) || (int64_t)(counts[root] * recv.elem) != n || !disjoint(from, to)))
		return 0;
	if (b->ranks == 2 && (b->me == (uint32_t)root ? board_size(&recv, 1 - root) : (size_t)n) > b->most)
		return exanet_pair_gatherv(b, root, out, n, recv, comm);
	return board_gatherv(b, root, out, n, recv);
}

int exanet_shared_Scatterv(const void *out, const int *counts, const int *displs, exanet_handle outtype, void *in, int64_t incount, exanet_handle intype, int root, exanet_handle comm)
{
	struct board *b = board_of(comm);
	struct board_blocks send = {0};
	uintptr_t from[2], to[2];
	int64_t n;
	if (!b || !within(b, root) || (n = block(in, incount, intype, to)) < 0)
		return 0;
	if (b->me == (uint32_t)root && (!blocks(b, &send, out, counts, displs, outtype, from) || (int64_t)(counts[root] * send.elem) != n || !disjoint(from, to)))
		return 0;
	if (b->ranks == 2 && (b->me == (uint32_t)root ? board_size(&send, 1 - root) : (size_t)n) > b->most)
		return exanet_pair_scatterv(b, root, send, in, n, comm);
	return board_scatterv(b, root, send, in, n);
}

int exanet_shared_Alltoallv(const void *out, const int *outcounts, const int *outdispls, exanet_handle outtype, void *in, const int *incounts, const int *indispls, exanet_handle intype, exanet_handle comm)
{
	struct board *b = board_of(comm);
	struct board_blocks send, recv;
	uintptr_t from[2], to[2];
	if (!b || !blocks(b, &send, out, outcounts, outdispls, outtype, from) || !blocks(b, &recv, in, incounts, indispls, intype, to) || !disjoint(from, to))
		return 0;
	return outcounts[b->me] * send.elem == incounts[b->me] * recv.elem && board_alltoallv(b, send, recv);
}
