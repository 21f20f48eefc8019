/*
 * The memory of a board as package coll/board lays it out, in the same words.
 */
#ifndef EXANET_BOARD_LAYOUT_H
#define EXANET_BOARD_LAYOUT_H

#include "board.h"

enum { SLOTS = 8, AHEAD = 4, CELL = 128, LINE = 2 * CELL, IN_CELL = CELL - 16, LEAST_STEP = 64, CACHE_LINE = 64 };

struct header {
	uint32_t users, sleepers, broken;
};

struct line {
	uint64_t turns, waiting, core, tends, world, known, posted, cut, gave, left, past, staged[2], seeks;
	int64_t visit;
	uint64_t spare;
	uint64_t missed[2 * SLOTS];
};

struct cell {
	uint64_t turn, call;
	char data[IN_CELL];
};

#define AT(type, address) ((type *)(uintptr_t)(address))

static inline struct cell *cell(const struct board *b, uint64_t turn, uint32_t rank)
{
	return AT(struct cell, b->cells + (turn % SLOTS * b->ranks + rank) * CELL);
}

static inline char *place(const struct board *b, uint64_t turn, uint32_t rank, size_t n)
{
	return n <= IN_CELL ? cell(b, turn, rank)->data : AT(char, b->pieces + (turn % SLOTS * b->ranks + rank) * b->piece);
}

static inline struct line *line(const struct board *b, uint64_t rank) { return AT(struct line, b->lines + rank * LINE); }

static inline uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

#endif
