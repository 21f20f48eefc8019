#include "board.h"

#include <string.h>

enum { SLOTS = 8, AHEAD = 4, CELL = 128, IN_CELL = CELL - 16, LEAST_STEP = 64, SPLIT_FROM = 8 << 10 };

struct header {
	uint32_t users, sleepers, broken;
};

struct line {
	uint64_t turns, waiting, known, posted, cut;
};

struct cell {
	uint64_t turn, call;
	char data[IN_CELL];
};

void (*board_rouse)(uint64_t id, uint64_t word);

#define AT(type, address) ((type *)(uintptr_t)(address))

static inline struct cell *cell(const struct board *b, uint64_t turn, uint32_t rank)
{
	return AT(struct cell, b->cells + (turn % SLOTS * b->ranks + rank) * CELL);
}

static inline char *place(const struct board *b, uint64_t turn, uint32_t rank, size_t n)
{
	return n <= IN_CELL ? cell(b, turn, rank)->data : AT(char, b->pieces + (turn % SLOTS * b->ranks + rank) * b->piece);
}

static inline void store(struct board *b, uint64_t *word, uint64_t v)
{
	if (b->fenced)
		__atomic_store_n(word, v, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(word, v, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&AT(struct header, b->head)->sleepers, __ATOMIC_RELAXED))
		board_rouse(b->id, (uintptr_t)word);
}

/* Whether the cells of a turn may be written. */
static int unused(struct board *b, struct line *own, uint64_t turn)
{
	if (turn < own->known + SLOTS)
		return 1;
	uint64_t known = ~0ull;
	for (uint32_t i = 0; i < b->ranks; i++) {
		uint64_t n = __atomic_load_n(AT(uint64_t, b->lines + (uint64_t)i * CELL), __ATOMIC_ACQUIRE);
		if (n < known)
			known = n;
	}
	own->known = known;
	return turn < known + SLOTS;
}

static inline void post(struct board *b, uint64_t turn, uint32_t rank, uint64_t call)
{
	struct cell *c = cell(b, turn, rank);
	c->call = call;
	store(b, &c->turn, turn + 1);
}

/* Looks for a cell of this call, a limited number of times in all. */
static inline int seen(const struct board *b, uint64_t turn, uint32_t rank, uint64_t call, uint32_t *left)
{
	struct cell *c = cell(b, turn, rank);
	while (__atomic_load_n(&c->turn, __ATOMIC_ACQUIRE) != turn + 1)
		if (!*left || !--*left)
			return 0;
	return c->call == call;
}

/* Whether this rank has a part in every turn that others see, and takes one of theirs. */
static int posts(const struct board *b, enum board_op op, uint32_t root)
{
	switch (op) {
	case BOARD_BCAST: case BOARD_SCATTER: return b->me == root;
	case BOARD_GATHER: case BOARD_REDUCE: return b->me != root;
	default: return 1;
	}
}

static int takes(const struct board *b, enum board_op op, uint32_t root)
{
	switch (op) {
	case BOARD_BCAST: case BOARD_SCATTER: return b->me != root;
	case BOARD_GATHER: case BOARD_REDUCE: return b->me == root;
	default: return 1;
	}
}

/* Whether a call is one turn in the plain form. */
static int serves(const struct board *b, enum board_op op, size_t n, size_t elem)
{
	size_t step = b->piece;
	switch (op) {
	case BOARD_BARRIER:
		return !b->central;
	case BOARD_ALLREDUCE:
		if (b->central || n >= SPLIT_FROM)
			return 0;
		/* fallthrough */
	case BOARD_REDUCE:
		step -= step % elem;
		break;
	case BOARD_ALLTOALL:
		if ((step /= b->ranks) > LEAST_STEP)
			step &= ~(size_t)(LEAST_STEP - 1);
		break;
	default:
		break;
	}
	return n <= step;
}

static void give(struct board *b, uint64_t turn, enum board_op op, const char *send, char *recv, size_t n, uint64_t call)
{
	uint32_t me = b->me;
	switch (op) {
	case BOARD_BARRIER:
		break;
	case BOARD_BCAST:
		memcpy(place(b, turn, me, n), recv, n);
		break;
	case BOARD_SCATTER:
		for (uint32_t i = 0; i < b->ranks; i++)
			if (i == me) {
				memcpy(recv, send + i * n, n);
			} else {
				memcpy(place(b, turn, i, n), send + i * n, n);
				post(b, turn, i, call);
			}
		return;
	case BOARD_ALLTOALL: {
		char *to = place(b, turn, me, n * b->ranks);
		for (uint32_t i = 0; i < b->ranks; i++)
			if (i != me)
				memcpy(to + i * n, send + i * n, n);
		break;
	}
	default:
		memcpy(place(b, turn, me, n), send, n);
	}
	post(b, turn, me, call);
}

static void take(struct board *b, uint64_t turn, enum board_op op, uint32_t root, const char *send, char *recv, size_t n, board_fold fold)
{
	uint32_t me = b->me, last = b->ranks - 1;
	switch (op) {
	case BOARD_BARRIER:
		return;
	case BOARD_BCAST:
		memcpy(recv, place(b, turn, root, n), n);
		return;
	case BOARD_SCATTER:
		memcpy(recv, place(b, turn, me, n), n);
		return;
	case BOARD_ALLTOALL:
		for (uint32_t i = 0; i <= last; i++)
			memcpy(recv + i * n, (i == me ? send : place(b, turn, i, n * b->ranks)) + me * n, n);
		return;
	case BOARD_REDUCE: case BOARD_ALLREDUCE:
		memcpy(recv, last == me ? send : place(b, turn, last, n), n);
		for (uint32_t i = last; i-- > 0;)
			fold(i == me ? send : place(b, turn, i, n), recv, n);
		return;
	default:
		for (uint32_t i = 0; i <= last; i++)
			memcpy(recv + i * n, i == me ? send : place(b, turn, i, n), n);
	}
}

int board_perform(struct board *b, enum board_op op, int root, const void *send, void *recv, size_t n, size_t elem, board_fold fold)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns, call = (uint64_t)op | (uint64_t)root << 8 | (uint64_t)n << 24;
	int giver = posts(b, op, root), taker = takes(b, op, root);
	uint32_t left = b->spins;
	if (n >= b->limit[op] || !serves(b, op, n, elem) || own->cut || __atomic_load_n(&AT(struct header, b->head)->broken, __ATOMIC_RELAXED))
		return 0;
	if (giver) {
		if (!unused(b, own, turn))
			return 0;
		give(b, turn, op, send, recv, n, call);
		own->posted = turn + 1;
	}
	if (taker) {
		if (op == BOARD_BCAST) {
			if (!seen(b, turn, root, call, &left))
				return 0;
		} else if (op == BOARD_SCATTER) {
			if (!seen(b, turn, b->me, call, &left))
				return 0;
		} else {
			for (uint32_t i = 0; i < b->ranks; i++)
				if (i != b->me && !seen(b, turn, i, call, &left))
					return 0;
			if (turn > AHEAD && own->known < turn - AHEAD)
				own->known = turn - AHEAD;
		}
		take(b, turn, op, root, send, recv, n, fold);
	}
	own->posted = 0;
	store(b, &own->turns, turn + 1);
	return 1;
}

/* The operators, as package mpi has them. */
#define FOLD(name, type, expression)                                    \
	static void name##_##type(const void *in, void *inout, size_t n) \
	{                                                               \
		const type *x = in;                                     \
		type *y = inout;                                        \
		for (size_t i = 0; i < n / sizeof(type); i++) {         \
			type a = x[i], b = y[i];                        \
			y[i] = expression;                              \
		}                                                       \
	}
#define REAL(type) FOLD(sum, type, a + b) FOLD(prod, type, a *b)
#define INTEGER(type)                                                                          \
	REAL(type)                                                                             \
	FOLD(max, type, a > b ? a : b) FOLD(min, type, a < b ? a : b) FOLD(band, type, a &b)    \
	FOLD(bor, type, a | b) FOLD(bxor, type, a ^ b)
#define INTEGERS(type) {sum_##type, prod_##type, max_##type, min_##type, band_##type, bor_##type, bxor_##type}

INTEGER(int8_t) INTEGER(uint8_t) INTEGER(int16_t) INTEGER(uint16_t)
INTEGER(uint32_t) INTEGER(uint64_t) REAL(float) REAL(double)
/* Signed numbers wrap around, as those of Go. */
FOLD(max, int32_t, a > b ? a : b) FOLD(min, int32_t, a < b ? a : b)
FOLD(max, int64_t, a > b ? a : b) FOLD(min, int64_t, a < b ? a : b)

/* Maxima of floating-point numbers are left to Go, since of NaN and of zeros with signs. */
static const board_fold folds[BOARD_KINDS][BOARD_OPERATORS] = {
	[BOARD_I8] = INTEGERS(int8_t), [BOARD_U8] = INTEGERS(uint8_t), [BOARD_I16] = INTEGERS(int16_t), [BOARD_U16] = INTEGERS(uint16_t),
	[BOARD_U32] = INTEGERS(uint32_t), [BOARD_U64] = INTEGERS(uint64_t),
	[BOARD_I32] = {sum_uint32_t, prod_uint32_t, max_int32_t, min_int32_t, band_uint32_t, bor_uint32_t, bxor_uint32_t},
	[BOARD_I64] = {sum_uint64_t, prod_uint64_t, max_int64_t, min_int64_t, band_uint64_t, bor_uint64_t, bxor_uint64_t},
	[BOARD_F32] = {sum_float, prod_float}, [BOARD_F64] = {sum_double, prod_double},
};

board_fold board_fold_of(enum board_operator op, enum board_kind kind) { return folds[kind][op]; }
