/*
 * Long collectives of two ranks, as far as they are one message (coll.Selection.OneMessageFrom):
 * by a rendezvous on the express lane, under the tag that the collective has in Go. Where
 * there is none the call is made in Go, whose message then goes the protocol's way. What
 * a rank has for itself it moves when the message has been passed.
 */
#include "pair.h"
#include "lane.h"

#include <string.h>

static inline int pass(const struct board *b, enum board_op op, const void *buf, size_t n, const struct express_combination *c, exanet_handle comm)
{
	return exanet_table && n <= UINT32_MAX && exanet_lane_pass(exanet_table, buf, n, c, 1 - b->me, op, comm);
}

static inline int take(const struct board *b, enum board_op op, void *buf, size_t n, const struct express_combination *c, exanet_handle comm)
{
	return exanet_table && n <= UINT32_MAX && exanet_lane_take(exanet_table, buf, n, c, 1 - b->me, op, comm);
}

/* A call that is nothing but a message. */
static inline int counted(const struct board *b, int passed)
{
	if (passed)
		board_passed(b);
	return passed;
}

int exanet_pair_bcast(const struct board *b, int root, void *buf, size_t n, exanet_handle comm)
{
	return counted(b, b->me == (uint32_t)root ? pass(b, BOARD_BCAST, buf, n, 0, comm) : take(b, BOARD_BCAST, buf, n, 0, comm));
}

int exanet_pair_gather(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm)
{
	if (b->me != (uint32_t)root)
		return counted(b, pass(b, BOARD_GATHER, send, n, 0, comm));
	if (!counted(b, take(b, BOARD_GATHER, (char *)recv + (1 - root) * n, n, 0, comm)))
		return 0;
	memcpy((char *)recv + root * n, send, n);
	return 1;
}

int exanet_pair_scatter(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm)
{
	if (b->me != (uint32_t)root)
		return counted(b, take(b, BOARD_SCATTER, recv, n, 0, comm));
	if (!counted(b, pass(b, BOARD_SCATTER, (const char *)send + (1 - root) * n, n, 0, comm)))
		return 0;
	memcpy(recv, (const char *)send + root * n, n);
	return 1;
}

/* The rank whose block is passed is the one that is not the root. */
static inline size_t passed(const struct board *b, int root, size_t own, const struct board_blocks *all)
{
	return b->me == (uint32_t)root ? board_size(all, 1 - root) : own;
}

int exanet_pair_gatherv(struct board *b, int root, const void *send, size_t n, struct board_blocks recv, exanet_handle comm)
{
	size_t size = passed(b, root, n, &recv);
	if (!board_announce(b, BOARD_GATHERV, root, size))
		return 0;
	if (b->me != (uint32_t)root) {
		if (!pass(b, BOARD_GATHERV, send, n, 0, comm))
			return 0;
	} else {
		if (!take(b, BOARD_GATHERV, board_block(&recv, 1 - root), size, 0, comm))
			return 0;
		if (n > 0)
			memcpy(board_block(&recv, root), send, n);
	}
	board_announced(b, BOARD_GATHERV, root);
	return 1;
}

int exanet_pair_scatterv(struct board *b, int root, struct board_blocks send, void *recv, size_t n, exanet_handle comm)
{
	size_t size = passed(b, root, n, &send);
	int over;
	if (!board_announce(b, BOARD_SCATTERV, root, size))
		return 0;
	if (b->me != (uint32_t)root) {
		over = take(b, BOARD_SCATTERV, recv, n, 0, comm);
	} else {
		over = pass(b, BOARD_SCATTERV, board_block(&send, 1 - root), size, 0, comm);
		if (n > 0) /* Go does not, when the size has been told */
			memcpy(recv, board_block(&send, root), n);
	}
	if (!over)
		return 0;
	board_announced(b, BOARD_SCATTERV, root);
	return 1;
}

/* All operators that have a function commute. */
int exanet_pair_reduce(const struct board *b, int root, const void *send, void *recv, size_t n, board_fold fold, exanet_handle comm)
{
	struct express_combination c = {fold, send};
	return counted(b, b->me == (uint32_t)root ? take(b, BOARD_REDUCE, recv, n, &c, comm) : pass(b, BOARD_REDUCE, send, n, &c, comm));
}

int exanet_pair_exscan(const struct board *b, const void *send, void *recv, size_t n, exanet_handle comm)
{
	return counted(b, b->me == 0 ? pass(b, BOARD_EXSCAN, send, n, 0, comm) : take(b, BOARD_EXSCAN, recv, n, 0, comm));
}
