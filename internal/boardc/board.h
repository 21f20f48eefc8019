/*
 * The twin of package coll/board for calls of one turn in the plain form or the direct one, of two in the
 * central one, and, of two ranks, plain ones of any number, as is a Bcast of more: what it leaves out goes on in Go, where the layout of the memory
 * and the order of things are explained. The same words are in the same places, and a
 * call that has to wait for long is handed over with its part posted, or with the turn left if
 * others may still read what it has lent. Where ranks must
 * sleep to let each other run, the twin sleeps a moment itself, and as long as it is awake wakes those that
 * sleep on the same core; everywhere it wakes who sleeps in Go. The ways into Go and out of it take longer than that.
 */
#ifndef EXANET_BOARD_H
#define EXANET_BOARD_H

#include "bell.h"

#include <stddef.h>
#include <stdint.h>

/* As package coll numbers them. */
enum board_op { BOARD_BARRIER = 0, BOARD_BCAST = 1, BOARD_GATHER = 2, BOARD_GATHERV = 3, BOARD_SCATTER = 4, BOARD_SCATTERV = 5, BOARD_ALLGATHER = 6, BOARD_ALLGATHERV = 7,
	BOARD_ALLTOALL = 8, BOARD_ALLTOALLV = 9, BOARD_REDUCE = 11, BOARD_ALLREDUCE = 12, BOARD_REDUCE_SCATTER = 13, BOARD_REDUCE_SCATTER_BLOCK = 14, BOARD_SCAN = 15, BOARD_EXSCAN = 16, BOARD_OPS = 22 };

/* One rank's view of a board: board.View in Go. */
struct board {
	uint64_t id; /* 0: none */
	uint64_t head, own, lines, cells, cores, pieces;
	uint32_t piece, me, ranks, fenced, central, spins, yields, split;
	struct berths berths;
	uint32_t follows, naps; /* naps: the ms for which this rank sleeps at most where another needs its core, 0: it does not */
	uint64_t pids;            /* the address of an int32_t for each rank: its process if its memory can be read, else 0; 0: none can */
	uint32_t most, most_each; /* bytes of a block of Gatherv or Scatterv, and of Alltoallv */
	uint64_t outside;       /* the address of an int64_t: not 0: who waits must not, in C; 0: none */
	uint64_t limit[BOARD_OPS]; /* a call of fewer bytes is one of the board's */
	uint64_t pair[BOARD_OPS];  /* one of so many is a message between the two ranks */
	uint64_t direct[BOARD_OPS]; /* one of so many is made in the direct form */
	uint32_t recent, whose; /* bytes that this rank has written last, and in whose place, or on its belt, until the next such place has been prepared */
	uint64_t fills;         /* 1: of two ranks, the first call gives the belts their memory, see coll/board */
	uint64_t stages, stage; /* of the ranks, one behind the other, and the bytes that each has, of more than two ranks for two; 0: there is none */
	uint64_t gauges;        /* of two ranks, for what each reads, and of up to eight for what each reads of each; 0: of more */
};

/* inout = in op inout, for n bytes. */
typedef void (*board_fold)(const void *in, void *inout, size_t n);

/* Performs a call with vectors or blocks of n bytes; elem is the size of an element that
   fold combines. Returns 1, or 0 if it goes on in Go. */
int board_perform(struct board *b, enum board_op op, int root, const void *send, void *recv, size_t n, size_t elem, board_fold fold);

/* The same for a Reduce_scatter or Reduce_scatter_block of vectors of n bytes, of which this
   rank gets those from lo to hi. */
int board_reduce_scatter(struct board *b, enum board_op op, const void *send, void *recv, size_t n, size_t lo, size_t hi, size_t elem, board_fold fold);

/* Blocks of one buffer: block i has counts[i] elements of elem bytes, and lies displs[i] of
   them behind at. */
struct board_blocks {
	char *at;
	const int *counts, *displs;
	size_t elem;
};
static inline size_t board_size(const struct board_blocks *x, uint32_t i) { return x->counts[i] * x->elem; }
static inline char *board_block(const struct board_blocks *x, uint32_t i) { return x->at + x->displs[i] * (ptrdiff_t)x->elem; }

/* The same for calls with blocks of different sizes. Own data are n bytes; only the root
   looks at the blocks of Gatherv and Scatterv. */
int board_allgatherv(struct board *b, const void *send, struct board_blocks recv);
int board_gatherv(struct board *b, int root, const void *send, size_t n, struct board_blocks recv);
int board_scatterv(struct board *b, int root, struct board_blocks send, void *recv, size_t n);
int board_alltoallv(struct board *b, struct board_blocks send, struct board_blocks recv);

/* The turn of a Gatherv or Scatterv of two ranks whose block is too long for it, and so is a
   message of n bytes: it tells the size. Returns 1 if the message is to be passed, which
   board_announced is called after; else all that is left is Go's. */
int board_announce(struct board *b, enum board_op op, int root, size_t n);
void board_announced(struct board *b, enum board_op op, int root);

/* The same for a Bcast, Scatter, Allgather, Alltoall or Allgatherv in the direct form, in which a
   rank reads the data of others where they are. A block has n bytes, but of Allgatherv, which
   has blocks. */
int board_direct(struct board *b, enum board_op op, int root, const void *send, void *recv, size_t n, const struct board_blocks *blocks);

/* Counts a call of two ranks that has been one message, and nothing on the board. */
void board_passed(const struct board *b);

/* The functions for predefined operators on kinds of elements, 0 if there is none. */
enum board_kind { BOARD_NONE, BOARD_I8, BOARD_I16, BOARD_I32, BOARD_I64, BOARD_U8, BOARD_U16, BOARD_U32, BOARD_U64, BOARD_F32, BOARD_F64, BOARD_KINDS };
enum board_operator { BOARD_SUM, BOARD_PROD, BOARD_MAX, BOARD_MIN, BOARD_BAND, BOARD_BOR, BOARD_BXOR, BOARD_OPERATORS };
board_fold board_fold_of(enum board_operator op, enum board_kind kind);

#endif
