/* Collectives of two ranks that are one message, see pair.c. Each returns 1 if it has been
   done, 0 if it is to be made in Go. */
#ifndef EXANET_PAIR_H
#define EXANET_PAIR_H

#include "board.h"
#include "handles.h"

int exanet_pair_bcast(const struct board *b, int root, void *buf, size_t n, exanet_handle comm);
int exanet_pair_gather(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm);
int exanet_pair_scatter(const struct board *b, int root, const void *send, void *recv, size_t n, exanet_handle comm);
/* The same of Gatherv and Scatterv, with n bytes of the caller's own, if the block that is passed is
   too long for the board. */
int exanet_pair_gatherv(struct board *b, int root, const void *send, size_t n, struct board_blocks recv, exanet_handle comm);
int exanet_pair_scatterv(struct board *b, int root, struct board_blocks send, void *recv, size_t n, exanet_handle comm);
int exanet_pair_reduce(const struct board *b, int root, const void *send, void *recv, size_t n, board_fold fold, exanet_handle comm);
int exanet_pair_exscan(const struct board *b, const void *send, void *recv, size_t n, exanet_handle comm);

#endif
