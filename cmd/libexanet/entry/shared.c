/*
 * Blocking collectives on boards (package coll/board), as far as their twin in C makes
 * them. What is out of the ordinary is left to Go: other types than predefined ones,
 * other operators, data in place, wrong arguments. A call that Go would refuse must not
 * come as far as the board: a part that has been posted is not taken back.
 */
#include "shared.h"

struct shared exanet_shared;

static inline struct board *board_of(exanet_handle comm)
{
	struct board *b = &exanet_shared.boards[exanet_spread((uint64_t)comm) % SHARED_BOARDS];
	uint64_t id = __atomic_load_n(&b->id, __ATOMIC_ACQUIRE);
	return id && id == (uint64_t)comm ? b : 0;
}

/* The bytes of count elements at buf; -1 if that is not known. */
static inline int64_t bytes(const void *buf, int64_t count, exanet_handle type)
{
	uint32_t size = exanet_type_of(type)->size;
	return size && count > 0 && count < 1 << 20 && (uintptr_t)buf >= 4096 && (uintptr_t)buf != ~(uintptr_t)0 ? count * size : -1;
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
	return b && within(b, root) && (n = bytes(buf, count, type)) > 0 && board_perform(b, BOARD_BCAST, root, 0, buf, n, 1, 0);
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
	return board_perform(b, op, root, out, in, n, 1, 0);
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

static int reduce(enum board_op op, const void *out, void *in, int64_t count, exanet_handle type, exanet_handle operator, int root, exanet_handle comm, int receives)
{
	struct board *b = board_of(comm);
	const struct shared_type *t = exanet_type_of(type);
	const struct shared_op *o = exanet_shared.ops, *end = o + exanet_shared.known;
	int64_t n;
	if (!b || !within(b, root) || (n = bytes(out, count, type)) <= 0)
		return 0;
	if ((receives || b->me == (uint32_t)root) && (bytes(in, count, type) < 0 || !apart(out, n, in, n)))
		return 0;
	while (o < end && o->op != operator)
		o++;
	if (o == end || !(t->operators >> o->operator & 1))
		return 0;
	return board_perform(b, op, root, out, in, n, t->size, board_fold_of(o->operator, t->kind));
}

int exanet_shared_Reduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, int root, exanet_handle comm)
{
	return reduce(BOARD_REDUCE, out, in, count, type, op, root, comm, 0);
}

int exanet_shared_Allreduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op, exanet_handle comm)
{
	return reduce(BOARD_ALLREDUCE, out, in, count, type, op, 0, comm, 1);
}
