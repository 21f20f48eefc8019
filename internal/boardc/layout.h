/*
 * The memory of a board as package coll/board lays it out, in the same words.
 */
#ifndef EXANET_BOARD_LAYOUT_H
#define EXANET_BOARD_LAYOUT_H

#include "across.h"
#include "board.h"

enum { SLOTS = 8, AHEAD = 4, CELL = 128, LINE = 2 * CELL, IN_CELL = CELL - 16, LEAST_STEP = 64, CACHE_LINE = 64 };

struct header {
	uint32_t users, sleepers, broken;
};

struct line {
	uint64_t turns, waiting, core, tends, world, known, posted, cut, gave, left, past, staged[2], seeks;
	int64_t visit;
	uint64_t apart;
	uint64_t missed[2 * SLOTS];
};

struct cell {
	uint64_t turn, call;
	char data[IN_CELL];
};

/* What the gauges of a rank are for: what is copied, what is combined as it is read, and what is lent. */
enum kind { COPIES, FOLDS, LOANS, KINDS };

#define AT(type, address) ((type *)(uintptr_t)(address))

static inline struct cell *cell(const struct board *b, uint64_t turn, uint32_t rank)
{
	return AT(struct cell, b->cells + (turn % SLOTS * b->ranks + rank) * CELL);
}

static inline char *place(const struct board *b, uint64_t turn, uint32_t rank, size_t n)
{
	return n <= IN_CELL ? cell(b, turn, rank)->data : AT(char, b->pieces + (turn % SLOTS * b->ranks + rank) * b->piece);
}

/* Whether it is measured how n bytes are written. */
enum { LEAST_OF_MANY = 4096 };
static inline int measures(const struct board *b, size_t n) { return b->ranks == 2 ? n >= ACROSS_LEAST : b->gauges && n >= LEAST_OF_MANY; }

/* What is told of what is in a place, if that is measured, or of what is lent. */
static inline uint64_t *told(const struct board *b, uint64_t turn, uint32_t rank) { return AT(uint64_t, cell(b, turn, rank)->data + IN_CELL - sizeof(uint64_t)); }

/* And where that is: 0: in its place, or on the stage; else 1 + where it begins on the belt. Of more than two ranks: 1 + who it is told, 0: nobody. */
static inline uint64_t *where(const struct board *b, uint64_t turn, uint32_t rank) { return told(b, turn, rank) - 1; }

/* The belt of a rank, which only that writes to: where the next cold copy goes, the turns, + 1, in which its parts have been used last, and up to where it has its memory, of which it gets so much at a time. */
enum { FILLED = 128 << 10, PORTIONS = 1 + ACROSS_BELT / ACROSS_STAGE /* that a rank of two has of the stages: the stage and those of the belt */ };
struct belt {
	uint64_t at, last[PORTIONS - 1], filled;
	uint64_t spare[7];
};

/* The gauge of what a rank reads; behind those of both the belts. */
static inline struct across *gauge(const struct board *b, uint32_t reader, enum kind k) { return AT(struct across, b->gauges) + reader * KINDS + k; }
static inline struct belt *belt(const struct board *b, uint32_t rank) { return (struct belt *)gauge(b, 2, 0) + rank; }

/* And, of more than two ranks, that of what one reads of another; what is lent counts as copied. */
static inline struct across *between(const struct board *b, uint32_t reader, uint32_t writer, enum kind k) { return AT(struct across, b->gauges) + 2 * (reader * b->ranks + writer) + (k == FOLDS); }

/* What is there from an offset on. */
static inline uint64_t portion(const struct board *b) { return b->stage / PORTIONS & ~(uint64_t)(CACHE_LINE - 1); }
static inline char *on_belt(const struct board *b, uint32_t rank, uint64_t at) { return AT(char, b->stages + rank * b->stage + portion(b) + at); }

static inline struct line *line(const struct board *b, uint64_t rank) { return AT(struct line, b->lines + rank * LINE); }

static inline uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

#endif
