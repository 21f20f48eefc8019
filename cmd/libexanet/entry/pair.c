/*
 * Long collectives of two ranks, as far as they are one message (coll.Selection.OneMessageFrom):
 * by a rendezvous on the express lane, under the tag that the collective has in Go. Where
 * there is none the call is made in Go, whose message then goes the protocol's way. What
 * a rank has for itself it moves when the message has been passed.
 */
#include "pair.h"
#include "lane.h"

#include <string.h>

static inline int pass(const struct board *b, enum board_op op, const void *buf, size_t n, exanet_handle comm)
{
	return exanet_table && n <= UINT32_MAX && exanet_lane_pass(exanet_table, buf, n, 1 - b->me, op, comm);
}

static inline int take(const struct board *b, enum board_op op, void *buf, size_t n, uint64_t how, exanet_handle comm)
{
	return exanet_table && n <= UINT32_MAX && exanet_lane_take(exanet_table, buf, n, how, 1 - b->me, op, comm);
}

int exanet_pair_bcast(const struct board *b, int root, void *buf, size_t n, exanet_handle comm)
{
	return b->me == (uint32_t)root ? pass(b, BOARD_BCAST, buf, n, comm) : take(b, BOARD_BCAST, buf, n, 0, comm);
}

int exanet_pair_gather(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm)
{
	if (b->me != (uint32_t)root)
		return pass(b, BOARD_GATHER, send, n, comm);
	if (!take(b, BOARD_GATHER, (char *)recv + (1 - root) * n, n, 0, comm))
		return 0;
	memcpy((char *)recv + root * n, send, n);
	return 1;
}

int exanet_pair_scatter(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm)
{
	if (b->me != (uint32_t)root)
		return take(b, BOARD_SCATTER, recv, n, 0, comm);
	if (!pass(b, BOARD_SCATTER, (const char *)send + (1 - root) * n, n, comm))
		return 0;
	memcpy(recv, (const char *)send + root * n, n);
	return 1;
}

/* All operators that have a function commute. */
int exanet_pair_reduce(const struct board *b, int root, const void *send, void *recv, size_t n, board_fold fold, exanet_handle comm)
{
	if (b->me != (uint32_t)root)
		return pass(b, BOARD_REDUCE, send, n, comm);
	if (!take(b, BOARD_REDUCE, recv, n, EXPRESS_ALONE, comm))
		return 0;
	fold(send, recv, n);
	return 1;
}

int exanet_pair_exscan(const struct board *b, const void *send, void *recv, size_t n, exanet_handle comm)
{
	return b->me == 0 ? pass(b, BOARD_EXSCAN, send, n, comm) : take(b, BOARD_EXSCAN, recv, n, 0, comm);
}
