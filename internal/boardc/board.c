#include "board.h"
#include "cache.h"
#include "layout.h"
#include "wait.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

static inline void store(struct board *b, uint64_t *word, uint64_t v)
{
	if (b->fenced)
		__atomic_store_n(word, v, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(word, v, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (sleepers(b))
		wake(b, word, v);
}

/* This rank has done with a turn, and with those before. */
static void leave(struct board *b, struct line *own, uint64_t turn)
{
	store(b, &own->turns, turn + 1);
}

/* Whether the cells of a turn may be written. */
static int unused(struct board *b, struct line *own, uint64_t turn)
{
	if (turn < own->known + SLOTS)
		return 1;
	uint64_t known = ~0ull;
	for (uint32_t i = 0; i < b->ranks; i++) {
		uint64_t n = load(&line(b, i)->turns);
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

/* In place of a rank whose place has been written last: it was this one's belt. */
static const uint32_t ON_BELT = ~0u;

static inline uint64_t in_lines(size_t n) { return (n + CACHE_LINE - 1) & ~(uint64_t)(CACHE_LINE - 1); }

/* Where so many bytes go next on this rank's belt. */
static inline uint64_t belt_place(const struct board *b, uint64_t size)
{
	uint64_t at = belt(b, b->me)->at;
	return at + size <= portion(b) * (PORTIONS - 1) ? at : 0;
}

/* Whether the other rank has read what was there before. */
static inline int belt_read(const struct board *b, uint64_t at, uint64_t size)
{
	uint64_t one = portion(b), read = load(&line(b, 1 - b->me)->turns);
	for (uint64_t i = (at + one - 1) / one; i * one < at + size; i++)
		if (read < belt(b, b->me)->last[i])
			return 0;
	return 1;
}

/* Takes room for n bytes on this rank's belt, where the other one has read what was there before; returns 1 + where it begins, or 0. */
static __attribute__((noinline)) uint64_t take_belt(struct board *b, uint64_t turn, size_t n)
{
	struct belt *own = belt(b, b->me);
	uint64_t one = portion(b), length = one * (PORTIONS - 1), size = in_lines(n), at = belt_place(b, size);
	if (!size || size > length)
		return 0;
	if (at + size > own->filled) { /* to touch the pages one by one takes longer */
		uint64_t more = length - own->filled < FILLED ? length - own->filled : FILLED;
		madvise(on_belt(b, b->me, own->filled), more, MADV_POPULATE_READ);
		own->filled += more;
	}
	if (!belt_read(b, at, size))
		return 0;
	for (uint64_t i = at / one; i * one < at + size; i++)
		own->last[i] = turn + 1;
	own->at = at + size;
	return at + 1;
}

/* Makes the lines this rank's own, as long as a word is not v, where n more bytes would go on its belt. They may be in the other's cache still, since it
   read what was there: then each first store to a line waits for that copy to go. */
static void prepare_belt(const struct board *b, size_t n, const uint64_t *word, uint64_t v)
{
	enum { AT_ONCE = 4 * CACHE_LINE };
	uint64_t size = in_lines(n), at = belt_place(b, size);
	if (at + size > belt(b, b->me)->filled || !belt_read(b, at, size))
		return;
	for (uint64_t i = 0; i < size && load(word) != v; i += AT_ONCE)
		for (uint64_t j = i; j < i + AT_ONCE && j < size; j += CACHE_LINE)
			own(on_belt(b, b->me, at + j));
}

/* Brings into this rank's cache, as long as a word is not v, what a call like the last one that it gave
   something to would write in a turn. Others have read it, some turns ago, so that to write there would
   take as long as to read it from them. */
static __attribute__((noinline, cold)) void prepare(struct board *b, uint64_t turn, const uint64_t *word, uint64_t v)
{
	uint32_t n = b->recent;
	b->recent = 0;
	if (b->whose == ON_BELT) {
		prepare_belt(b, n, word, v);
		return;
	}
	char *at = place(b, turn, b->whose, n), *end = at + n;
	for (; at < end && load(word) != v; at += CACHE_LINE)
		prefetch_to_write(at);
}

/* Looks for a cell. */
static inline const struct cell *seen_any(struct board *b, uint64_t turn, uint32_t rank, struct patience *p)
{
	const struct cell *c = cell(b, turn, rank);
	if (b->recent && p->looks && load(&c->turn) != turn + 1)
		prepare(b, turn + 1, &c->turn, turn + 1);
	while (load(&c->turn) != turn + 1)
		if (!again(b, turn, rank, p))
			return 0;
	return c;
}

/* Looks for a cell of this call. */
static inline int seen(struct board *b, uint64_t turn, uint32_t rank, uint64_t call, struct patience *p)
{
	const struct cell *c = seen_any(b, turn, rank, p);
	return c && c->call == call;
}

static inline void learn(struct line *own, uint64_t turn)
{
	if (turn > AHEAD && own->known < turn - AHEAD)
		own->known = turn - AHEAD;
}

static inline int all_seen(struct board *b, struct line *own, uint64_t turn, uint64_t call, struct patience *p)
{
	p->until = WHOLE;
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != b->me && !seen(b, turn, i, call, p))
			return 0;
	learn(own, turn);
	return 1;
}

/* Whether this rank has a part in every turn that others see, and takes one of theirs. */
static int posts(const struct board *b, enum board_op op, uint32_t root)
{
	switch (op) {
	case BOARD_BCAST: case BOARD_SCATTER: case BOARD_SCATTERV: return b->me == root;
	case BOARD_GATHER: case BOARD_GATHERV: case BOARD_REDUCE: return b->me != root;
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

/* Whether a call goes through rank 0, as it always does, or since it follows one. */
static inline int goes_central(const struct board *b, enum board_op op) { return b->central >> op & 1; }
static inline int follows(const struct board *b, const struct line *own, enum board_op op) { return op == BOARD_BARRIER && b->follows && own->gave && !goes_central(b, op); }

/* Whether all of a call fits in a place, and every rank takes what it wants of all. */
static int serves(const struct board *b, enum board_op op, size_t n, size_t elem)
{
	size_t step = b->piece;
	switch (op) {
	case BOARD_BARRIER:
		return 1;
	case BOARD_ALLREDUCE: case BOARD_REDUCE: case BOARD_REDUCE_SCATTER: case BOARD_REDUCE_SCATTER_BLOCK: case BOARD_SCAN: case BOARD_EXSCAN:
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

/* Whether a call of more than that is made in as many turns as it needs: a Bcast, and, of two ranks, what others combine, or get from one or for one. */
static int goes_in_turns(const struct board *b, enum board_op op)
{
	switch (op) {
	case BOARD_BCAST:
		return 1;
	case BOARD_SCATTER: case BOARD_GATHER: case BOARD_REDUCE: case BOARD_ALLREDUCE: case BOARD_REDUCE_SCATTER: case BOARD_REDUCE_SCATTER_BLOCK: case BOARD_SCAN: case BOARD_EXSCAN:
		return b->ranks == 2 && !goes_central(b, op);
	default:
		return 0;
	}
}

/* Copies a block of a buffer, which may be anywhere if it is empty. */
static inline void move(void *to, const void *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n);
}

/* The forms in which what is copied may be written. */
static inline uint32_t forms_of(const struct board *b) { return b->ranks == 2 && b->stage ? ACROSS_ROOMY : ACROSS_COPIED; }

/* Whether one of more than two ranks is on another core than this one, as far as they tell. */
static int elsewhere(const struct board *b, uint32_t rank)
{
	uint32_t core = __atomic_load_n(core_of(b, b->me), __ATOMIC_RELAXED);
	return !core || __atomic_load_n(core_of(b, rank), __ATOMIC_RELAXED) != core;
}

/* For whom data are: a rank, or all others. */
enum { ALL = -1 };

/* Who of these is asked how to write them: one on another core, since who is on the same finds them in its cache; b->ranks if there is none. */
static uint32_t asked(const struct board *b, int who)
{
	for (uint32_t d = 1; d < b->ranks; d++) {
		uint32_t i = (b->me + d) % b->ranks;
		if ((who == ALL || (uint32_t)who == i) && elsewhere(b, i))
			return i;
	}
	return b->ranks;
}

/* How n bytes are to be written if that rank is asked. */
static struct across_way way_to(struct board *b, uint32_t reader, enum kind k, size_t n)
{
	if (reader == b->ranks)
		return (struct across_way){ACROSS_HOT, 0};
	return across_way(between(b, reader, b->me, k), n, ACROSS_COPIED);
}

/* Tells one of more than two ranks of what is in a cell. */
static inline void tell(struct board *b, uint64_t turn, uint32_t rank, uint32_t reader, uint64_t what)
{
	*where(b, turn, rank) = what ? 1 + reader : 0;
	*told(b, turn, rank) = what;
}

/* Writes what this rank gives to others, to one or to all, in a rank's cell of a turn, and tells how and where. */
static inline enum across_form put(struct board *b, uint64_t turn, uint32_t rank, int who, enum kind k, char *to, const char *from, size_t n)
{
	if (!measures(b, n)) {
		move(to, from, n);
		return ACROSS_HOT;
	}
	if (b->ranks > 2) {
		uint32_t reader = asked(b, who);
		struct across_way way = way_to(b, reader, k, n);
		tell(b, turn, rank, reader, across_write(way, to, from, n));
		return way.form;
	}
	struct across *g = gauge(b, 1 - b->me, k);
	struct across_way way = across_way(g, n, forms_of(b));
	uint64_t at = way.form == ACROSS_COLD ? take_belt(b, turn, n) : 0;
	*where(b, turn, rank) = at;
	*told(b, turn, rank) = across_write(way, at ? on_belt(b, b->me, at - 1) : to, from, n);
	if (at) {
		b->recent = across_prepares(g, n) ? n : 0;
		b->whose = ON_BELT;
	}
	return way.form;
}

/* The same in a rank's place. */
static inline void write_place(struct board *b, uint64_t turn, uint32_t rank, int who, enum kind k, const char *from, size_t n)
{
	enum across_form form = put(b, turn, rank, who, k, place(b, turn, rank, n), from, n);
	if (n > IN_CELL && form != ACROSS_COLD) {
		b->recent = form == ACROSS_HOT ? worth_fetching(n) : 0;
		b->whose = rank;
	}
}

/* Writes blocks of n bytes for all others, one behind the other, in this rank's cell of a turn. Who is on this core finds its own in the cache. */
static void put_blocks(struct board *b, uint64_t turn, char *to, const char *from, size_t n)
{
	uint32_t me = b->me, reader = measures(b, n) ? asked(b, ALL) : b->ranks;
	struct across_way way = way_to(b, reader, COPIES, n);
	for (uint32_t i = 0; i < b->ranks; i++) {
		size_t at = i * n;
		if (i == reader)
			tell(b, turn, me, reader, across_write(way, to + at, from + at, n));
		else if (i != me && n)
			across_copy(way.form == ACROSS_HOT || elsewhere(b, i) ? way.form : ACROSS_HOT, to + at, from + at, n);
	}
	if (measures(b, n) && reader == b->ranks)
		tell(b, turn, me, 0, 0);
}

/* What this rank has been told of n bytes in a cell, and where they are if they are the other's of two. */
static inline uint64_t told_of(const struct board *b, uint64_t turn, uint32_t rank, size_t n)
{
	if (!measures(b, n) || (b->ranks > 2 && *where(b, turn, rank) != 1 + b->me))
		return 0;
	return *told(b, turn, rank);
}

static inline const char *written(const struct board *b, uint64_t turn, uint32_t rank, const char *in_place, size_t n)
{
	uint64_t at = b->ranks == 2 && measures(b, n) ? *where(b, turn, rank) : 0;
	return at ? on_belt(b, 1 - b->me, at - 1) : in_place;
}

/* The gauge of what this rank reads of another. */
static inline struct across *reading(const struct board *b, uint32_t writer, enum kind k) { return b->ranks == 2 ? gauge(b, b->me, k) : between(b, b->me, writer, k); }

/* Takes n bytes that another rank has put into a rank's cell of a turn. */
static inline void get(struct board *b, uint64_t turn, uint32_t rank, uint32_t writer, char *to, const char *in_place, size_t n)
{
	uint64_t how = told_of(b, turn, rank, n), begun = across_begins(how);
	move(to, written(b, turn, rank, in_place, n), n);
	across_ends(reading(b, writer, COPIES), how, begun, forms_of(b));
}

/* Gives this rank's part of a turn: n bytes from at on of a vector, or of blocks of all bytes each. */
static void give(struct board *b, uint64_t turn, enum board_op op, uint32_t root, const char *send, char *recv, size_t at, size_t n, size_t all, uint64_t call)
{
	uint32_t me = b->me;
	switch (op) {
	case BOARD_BARRIER:
		break;
	case BOARD_BCAST:
		write_place(b, turn, me, ALL, COPIES, recv + at, n);
		break;
	case BOARD_SCATTER:
		for (uint32_t i = 0; i < b->ranks; i++)
			if (i == me) {
				memcpy(recv + at, send + i * all + at, n);
			} else {
				write_place(b, turn, i, i, COPIES, send + i * all + at, n);
				post(b, turn, i, call);
			}
		return;
	case BOARD_ALLTOALL: {
		char *to = place(b, turn, me, n * b->ranks);
		if (b->ranks == 2)
			put(b, turn, me, ALL, COPIES, to + (1 - me) * n, send + (1 - me) * n, n);
		else
			put_blocks(b, turn, to, send, n);
		break;
	}
	case BOARD_GATHER:
		write_place(b, turn, me, root, COPIES, send + at, n);
		break;
	case BOARD_REDUCE:
		write_place(b, turn, me, root, FOLDS, send + at, n);
		break;
	case BOARD_ALLGATHER: case BOARD_ALLGATHERV:
		put(b, turn, me, ALL, COPIES, place(b, turn, me, n), send, n);
		break;
	default:
		put(b, turn, me, ALL, FOLDS, place(b, turn, me, n), send + at, n);
	}
	post(b, turn, me, call);
}

/* The bytes from lo to hi of what the ranks up to last have posted, in the order of the
   ranks, from the last to the first. */
static void combine(struct board *b, uint64_t turn, uint32_t last, const char *send, char *to, size_t n, size_t lo, size_t hi, board_fold fold)
{
	uint32_t me = b->me, two = b->ranks == 2;
	uint64_t how = two && (last > 0 || me > 0) ? told_of(b, turn, 1 - me, n) : 0, begun = across_begins(how);
	for (uint32_t i = last + 1; i-- > 0;) {
		const char *in = (i == me ? send : written(b, turn, i, place(b, turn, i, n), n)) + lo;
		if (!two) {
			how = i == me ? 0 : told_of(b, turn, i, n);
			begun = across_begins(how);
		}
		if (i == last)
			memcpy(to, in, hi - lo);
		else
			fold(in, to, hi - lo);
		if (!two)
			across_ends(reading(b, i, FOLDS), how, begun, forms_of(b));
	}
	if (two) /* both in one, since the first may be this rank's own */
		across_ends(reading(b, 1 - me, FOLDS), how, begun, forms_of(b));
}

/* Whether what this rank takes in a turn is there. */
static int arrived(struct board *b, struct line *own, uint64_t turn, enum board_op op, uint32_t root, uint64_t call, struct patience *p)
{
	p->until = ONE_CELL;
	switch (op) {
	case BOARD_BCAST:
		return seen(b, turn, root, call, p);
	case BOARD_SCATTER:
		return seen(b, turn, b->me, call, p);
	case BOARD_SCAN: case BOARD_EXSCAN:
		for (uint32_t i = 0; i < b->me; i++)
			if (!seen(b, turn, i, call, p))
				return 0;
		return 1;
	default:
		return all_seen(b, own, turn, call, p);
	}
}

/* Takes this rank's part of a turn, as it was given. */
static void take(struct board *b, uint64_t turn, enum board_op op, uint32_t root, const char *send, char *recv, size_t at, size_t n, size_t all, board_fold fold)
{
	uint32_t me = b->me, last = b->ranks - 1;
	switch (op) {
	case BOARD_BARRIER:
		return;
	case BOARD_BCAST:
		get(b, turn, root, root, recv + at, place(b, turn, root, n), n);
		return;
	case BOARD_SCATTER:
		get(b, turn, me, root, recv + at, place(b, turn, me, n), n);
		return;
	case BOARD_ALLTOALL:
		for (uint32_t i = 0; i <= last; i++)
			if (i == me)
				memcpy(recv + i * n, send + me * n, n);
			else
				get(b, turn, i, i, recv + i * n, place(b, turn, i, n * b->ranks) + me * n, n);
		return;
	case BOARD_REDUCE: case BOARD_ALLREDUCE: case BOARD_REDUCE_SCATTER: case BOARD_REDUCE_SCATTER_BLOCK:
		combine(b, turn, last, send + at, recv + at, n, 0, n, fold);
		return;
	case BOARD_SCAN:
		combine(b, turn, me, send + at, recv + at, n, 0, n, fold);
		return;
	case BOARD_EXSCAN:
		if (me > 0)
			combine(b, turn, me - 1, send + at, recv + at, n, 0, n, fold);
		return;
	default:
		for (uint32_t i = 0; i <= last; i++)
			if (i == me)
				memcpy(recv + i * all + at, send + at, n);
			else
				get(b, turn, i, i, recv + i * all + at, place(b, turn, i, n), n);
	}
}

/* A Barrier or Allreduce by way of rank 0: the others post, and take what it posts in the
   turn behind. */
static int perform_central(struct board *b, struct line *own, enum board_op op, const void *send, void *recv, size_t n, uint64_t call, board_fold fold, struct patience *p)
{
	uint64_t turn = own->turns, result = turn + 1;
	if (b->me == 0) {
		if (!all_seen(b, own, turn, call, p) || !unused(b, own, result))
			return 0;
		if (op == BOARD_ALLREDUCE) {
			char *to = place(b, result, 0, n);
			combine(b, turn, b->ranks - 1, send, to, n, 0, n, fold);
			memcpy(recv, to, n);
		}
		post(b, result, 0, call);
	} else {
		if (!unused(b, own, turn))
			return 0;
		if (op == BOARD_ALLREDUCE)
			put(b, turn, b->me, 0, FOLDS, place(b, turn, b->me, n), send, n);
		post(b, turn, b->me, call);
		own->posted = turn + 1;
		if (!seen(b, result, 0, call, p))
			return 0;
		learn(own, result);
		if (op == BOARD_ALLREDUCE)
			memcpy(recv, place(b, result, 0, n), n);
	}
	own->posted = own->gave = 0;
	leave(b, own, turn + 1);
	return 1;
}

static inline int whole(const struct board *b, const struct line *own)
{
	return !own->cut && !__atomic_load_n(&AT(struct header, b->head)->broken, __ATOMIC_RELAXED);
}

/* Whether a call is one for the board, and the twin. */
static inline int may(const struct board *b, const struct line *own, enum board_op op, size_t n, size_t elem)
{
	return n < b->limit[op] && (op != BOARD_ALLREDUCE || n < b->split) && (serves(b, op, n, elem) || goes_in_turns(b, op)) && whole(b, own);
}

/* The end of a call of one turn. */
static inline int over(struct board *b, struct line *own, uint64_t turn, int gave)
{
	own->posted = 0;
	own->gave = gave;
	leave(b, own, turn);
	return 1;
}

/* Reads memory of another rank. If that can not be read at all it is not tried again. */
static int fetch(const struct board *b, uint32_t rank, char *to, uint64_t from, size_t n)
{
	int32_t *pid = AT(int32_t, b->pids) + rank;
	while (n) {
		struct iovec here = {to, n}, there = {AT(void, from), n};
		ssize_t k = *pid ? process_vm_readv(*pid, &here, 1, &there, 1, 0) : 0;
		if (k <= 0) {
			if (k < 0 && errno != EFAULT)
				*pid = 0;
			return 0;
		}
		to += k, from += k, n -= k;
	}
	return 1;
}

/* The end of a call of one turn in which this rank has lent what the others read: they have done
   with the turn when they have. */
static int returned(struct board *b, struct line *own, uint64_t turn, int gave)
{
	struct patience p = patience_of(b);
	lengthen(&p);
	p.until = EVERYBODY;
	own->posted = 0;
	own->gave = gave;
	own->left = turn + 1;
	leave(b, own, turn);
	for (uint32_t i = 0; i < b->ranks; i++) {
		const struct line *l = line(b, i);
		while (i != b->me && load(&l->turns) <= turn)
			if (!again(b, turn, i, &p))
				return 0;
		uint64_t missed = load(&l->missed[turn % (2 * SLOTS)]);
		if (i != b->me && missed >> 32 == (uint32_t)turn && missed >> b->me & 1)
			return 0; /* it could not */
	}
	own->left = 0;
	return 1;
}

/* In the word of a call: the cell has an address instead of data. */
static const uint64_t DIRECTLY = 1ull << 63;

/* In an address that is told: what is lent is on the stage, as much as that holds; and on the second one. */
static const uint64_t ON_STAGE = 1ull << 63, ON_SECOND = 1ull << 62;

/* Which stage a rank uses in a turn; of two ranks each has but one, and the belt. */
static inline uint64_t set_of(const struct board *b, uint64_t turn) { return b->ranks == 2 ? 0 : turn % 2; }
static inline size_t stage_size(const struct board *b) { return b->ranks == 2 ? portion(b) : b->stage / 2; }
static inline char *stage_of(const struct board *b, uint32_t rank, uint64_t set) { return AT(char, b->stages + rank * b->stage + set * stage_size(b)); }

/* How much of a block of n bytes of two ranks is there, cold or not. */
static inline size_t front(const struct board *b, size_t n, uint64_t cold)
{
	size_t most = portion(b) << !!cold;
	return n < most ? n : most;
}

/* Whether others have read what was on the stage. Of two ranks, one that exchanges with the other waits for that. */
static int cleared(struct board *b, const struct line *own, uint64_t set)
{
	enum { COPY = 16 /* times as many looks as for a cell: as long as it takes to copy what is longest */ };
	uint64_t last = own->staged[set];
	if (!last)
		return 1;
	if (b->ranks > 2)
		return finished(b, last - 1, b->me);
	struct patience p = patience_of(b);
	lengthen(&p);
	p.looks *= COPY;
	p.until = EVERYBODY;
	while (load(&line(b, 1 - b->me)->turns) < last)
		if (!again(b, last - 1, 1 - b->me, &p))
			return 0;
	return 1;
}

/* The address to be told for a block that is lent to the other of two ranks, or for data that it is a part of. */
static uint64_t lends_block(struct board *b, struct line *own, uint64_t turn, const char *block, size_t n, const char *data)
{
	struct across_way way = across_way(gauge(b, 1 - b->me, LOANS), n, b->stage ? ACROSS_OR_LENT : 1 << ACROSS_HOT);
	uint64_t *how = told(b, turn, b->me), *at = where(b, turn, b->me);
	*how = way.timed ? across_told(ACROSS_LENT, n, 0) : 0;
	*at = 0;
	if (!b->stage || !n || way.form == ACROSS_LENT)
		return (uintptr_t)data;
	char *to = stage_of(b, b->me, 0);
	size_t there = front(b, n, way.form == ACROSS_COLD);
	if (way.form == ACROSS_COLD) {
		if (!(*at = take_belt(b, turn, there)))
			return (uintptr_t)data;
		to = on_belt(b, b->me, *at - 1);
	} else {
		if (!cleared(b, own, 0))
			return (uintptr_t)data;
		own->staged[0] = turn + 1;
	}
	uint64_t written = across_write(way, to, block, there);
	*how = written ? across_told(way.form, n, written >> ACROSS_TICKS) : 0;
	own->staged[1] = there == n ? turn + 1 : 0;
	return (uintptr_t)data | ON_STAGE;
}

/* The same for blocks of n bytes that are for all of more ranks. */
static uint64_t lends_blocks(struct board *b, struct line *own, uint64_t turn, const char *data, size_t n)
{
	uint64_t set = set_of(b, turn);
	if (!b->stage || n * b->ranks > stage_size(b) || !cleared(b, own, set))
		return (uintptr_t)data;
	put_blocks(b, turn, stage_of(b, b->me, set), data, n);
	own->staged[set] = turn + 1;
	return (uintptr_t)data | ON_STAGE | set << 62;
}

/* Whether all that this rank has lent in a turn is on the stage or the belt: then it need not wait for who reads it. */
static inline int staged(const struct board *b, const struct line *own, uint64_t turn) { return own->staged[b->ranks == 2 ? 1 : set_of(b, turn)] == turn + 1; }

/* Reads n bytes that a rank has lent in a turn, at an address or, of Alltoall, off bytes behind it. */
static int borrow(struct board *b, uint64_t turn, uint32_t rank, char *to, uint64_t at, size_t off, size_t n)
{
	size_t there = 0;
	uint64_t how = told_of(b, turn, rank, n), begun = across_begins(how);
	if ((at & ON_STAGE) && b->ranks == 2) {
		uint64_t cold = *where(b, turn, rank);
		there = front(b, n, cold);
		memcpy(to, cold ? on_belt(b, rank, cold - 1) : stage_of(b, rank, 0), there);
	} else if (at & ON_STAGE) {
		there = n;
		memcpy(to, stage_of(b, rank, at >> 62 & 1) + off, n);
	}
	if (there < n && !fetch(b, rank, to + there, (at & ~(ON_STAGE | ON_SECOND)) + off + there, n - there))
		return 0;
	across_ends(reading(b, rank, LOANS), how, begun, b->ranks == 2 ? ACROSS_OR_LENT : ACROSS_COPIED);
	return 1;
}

static inline void lend(struct board *b, uint64_t turn, uint32_t rank, uint64_t at, uint64_t call)
{
	memcpy(cell(b, turn, rank)->data, &at, sizeof at);
	post(b, turn, rank, call);
}

int board_direct(struct board *b, enum board_op op, int root, const void *send, void *recv, size_t n, const struct board_blocks *blocks)
{
	struct line *own = AT(struct line, b->own);
	uint32_t me = b->me, ranks = b->ranks;
	uint64_t turn = own->turns, call = (uint64_t)op | DIRECTLY | (uint64_t)root << 8;
	int rooted = op == BOARD_BCAST || op == BOARD_SCATTER, lends = !rooted || me == (uint32_t)root, reads = !rooted || !lends;
	const char *out = send;
	char *in = recv;
	size_t mine = n;
	CALL p = begin(b, own);
	if (!b->pids || !whole(b, own) || (lends && !unused(b, own, turn)))
		return 0;
	lengthen(&p);
	p.until = rooted ? ONE_CELL : WHOLE;

	/* Go does not move what a rank has for itself, when the turn has been posted. */
	if (lends) {
		if (op == BOARD_SCATTER) {
			for (uint32_t i = 0; i < ranks; i++)
				if (i != me) {
					*told(b, turn, i) = 0;
					lend(b, turn, i, (uintptr_t)out + i * n, call | (uint64_t)n << 24);
				}
		} else if (op == BOARD_BCAST) {
			*told(b, turn, me) = 0; /* nothing of such a call is timed */
			lend(b, turn, me, (uintptr_t)in, call | (uint64_t)n << 24);
		} else {
			mine = blocks ? board_size(blocks, me) : n;
			uint64_t at = (uintptr_t)out;
			if (ranks == 2) {
				at = lends_block(b, own, turn, op == BOARD_ALLTOALL ? out + (1 - me) * n : out, mine, out);
			} else {
				*told(b, turn, me) = 0;
				if (op == BOARD_ALLTOALL)
					at = lends_blocks(b, own, turn, out, n);
			}
			lend(b, turn, me, at, call | (uint64_t)mine << 24);
		}
		own->posted = turn + 1;
		if (blocks) {
			if (board_size(blocks, me))
				memcpy(board_block(blocks, me), out, board_size(blocks, me));
		} else if (op != BOARD_BCAST) {
			memcpy(op == BOARD_SCATTER ? in : in + me * n, op == BOARD_ALLGATHER ? out : out + me * n, n);
		}
	}
	for (uint32_t i = 0; b->naps && !rooted && i < ranks; i++)
		if (i != me && !seen_any(b, turn, i, &p))
			return 0; /* each sleeps once, for all */
	for (uint32_t d = rooted ? 0 : 1; reads && d < (rooted ? 1 : ranks); d++) {
		uint32_t from = rooted ? (uint32_t)root : (me + d) % ranks, at = op == BOARD_SCATTER ? me : from;
		size_t size = blocks ? board_size(blocks, from) : n;
		uint64_t lent;
		if (!seen(b, turn, at, call | (uint64_t)size << 24, &p))
			return 0;
		memcpy(&lent, cell(b, turn, at)->data, sizeof lent);
		if (!borrow(b, turn, from, blocks ? board_block(blocks, from) : rooted ? in : in + from * n, lent, op == BOARD_ALLTOALL ? me * n : 0, size))
			return 0;
	}
	if (!rooted)
		learn(own, turn);
	int gave = rooted && root == 0;
	return lends && !staged(b, own, turn) ? returned(b, own, turn, gave) : over(b, own, turn, gave);
}

/* Takes the blocks of all ranks, the caller's from its own data. */
static int collect(struct board *b, struct line *own, uint64_t turn, uint64_t call, const void *send, const struct board_blocks *recv, struct patience *p)
{
	p->until = WHOLE;
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != b->me && !seen(b, turn, i, call | (uint64_t)board_size(recv, i) << 24, p))
			return 0;
	learn(own, turn);
	for (uint32_t i = 0; i < b->ranks; i++) {
		size_t n = board_size(recv, i);
		if (i == b->me)
			move(board_block(recv, i), send, n);
		else
			get(b, turn, i, i, board_block(recv, i), place(b, turn, i, n), n);
	}
	return over(b, own, turn, 0);
}

int board_allgatherv(struct board *b, const void *send, struct board_blocks recv)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns;
	CALL p = begin(b, own);
	size_t all = 0, largest = 0, mine = board_size(&recv, b->me);
	for (uint32_t i = 0; i < b->ranks; i++) {
		size_t n = board_size(&recv, i);
		all += n;
		largest = n > largest ? n : largest;
	}
	if (!may(b, own, BOARD_ALLGATHERV, all, 1) || largest > b->piece || !unused(b, own, turn))
		return 0;
	give(b, turn, BOARD_ALLGATHERV, 0, send, 0, 0, mine, mine, BOARD_ALLGATHERV | (uint64_t)mine << 24);
	own->posted = turn + 1;
	return collect(b, own, turn, BOARD_ALLGATHERV, send, &recv, &p);
}

/* Whether none of a rank's blocks is too long for a turn. */
static int all_short(const struct board *b, const struct board_blocks *x, size_t most)
{
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != b->me && board_size(x, i) > most)
			return 0;
	return 1;
}

int board_gatherv(struct board *b, int root, const void *send, size_t n, struct board_blocks recv)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns, call = BOARD_GATHERV | (uint64_t)root << 8;
	uint32_t me = b->me;
	CALL p = begin(b, own);
	if (!may(b, own, BOARD_GATHERV, 0, 1))
		return 0;
	if (me != (uint32_t)root) {
		if (n > b->most || !unused(b, own, turn))
			return 0;
		put(b, turn, me, root, COPIES, place(b, turn, me, n), send, n);
		post(b, turn, me, call | (uint64_t)n << 24);
		return over(b, own, turn, 0);
	}
	return all_short(b, &recv, b->most) && collect(b, own, turn, call, send, &recv, &p);
}

int board_scatterv(struct board *b, int root, struct board_blocks send, void *recv, size_t n)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns, call = BOARD_SCATTERV | (uint64_t)root << 8;
	uint32_t me = b->me;
	CALL p = begin(b, own);
	if (!may(b, own, BOARD_SCATTERV, 0, 1))
		return 0;
	if (me == (uint32_t)root) {
		if (!all_short(b, &send, b->most) || !unused(b, own, turn))
			return 0;
		for (uint32_t i = 0; i < b->ranks; i++) {
			size_t n = board_size(&send, i);
			if (i == me) {
				move(recv, board_block(&send, i), n);
			} else {
				put(b, turn, i, i, COPIES, place(b, turn, i, n), board_block(&send, i), n);
				post(b, turn, i, call | (uint64_t)n << 24);
			}
		}
	} else {
		if (n > b->most || !seen(b, turn, me, call | (uint64_t)n << 24, &p))
			return 0;
		get(b, turn, me, root, recv, place(b, turn, me, n), n);
	}
	return over(b, own, turn, root == 0);
}

int board_announce(struct board *b, enum board_op op, int root, size_t n)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns, call = (uint64_t)op | (uint64_t)root << 8 | (uint64_t)n << 24;
	uint32_t cell = 1 - root; /* that of the rank whose block it is */
	CALL p = begin(b, own);
	if (!may(b, own, op, 0, 1))
		return 0;
	if (!posts(b, op, root))
		return seen(b, turn, cell, call, &p);
	if (!unused(b, own, turn))
		return 0;
	post(b, turn, cell, call);
	own->posted = turn + 1;
	return 1;
}

void board_announced(struct board *b, enum board_op op, int root)
{
	struct line *own = AT(struct line, b->own);
	over(b, own, own->turns, op == BOARD_SCATTERV && root == 0);
}

void board_passed(const struct board *b)
{
	uint64_t *apart = &AT(struct line, b->own)->apart;
	__atomic_store_n(apart, *apart + 2, __ATOMIC_RELAXED);
}

/* A part of what a rank posts of an Alltoallv. */
struct part {
	uint64_t size;
	char block[];
};

static inline struct part *part(const struct board *b, uint64_t turn, uint32_t from, uint32_t to, size_t length)
{
	return (struct part *)(place(b, turn, from, length * (b->ranks - 1)) + (to - (to > from)) * length);
}

/* The size of a block that is lent has this bit, in the word that tells it. */
static const uint64_t LENT = 1ull << 63;

static inline int stays(const struct board *b, const struct board_blocks *x, uint32_t i) { return board_size(x, i) <= b->most_each; }
static inline uint64_t size_told(const struct board *b, const struct board_blocks *x, uint32_t i)
{
	return board_size(x, i) | (stays(b, x, i) ? 0 : LENT);
}

int board_alltoallv(struct board *b, struct board_blocks send, struct board_blocks recv)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns;
	uint32_t me = b->me;
	CALL p = begin(b, own);
	int lends = b->ranks == 2 && b->pids;
	if (!may(b, own, BOARD_ALLTOALLV, 0, 1) || !unused(b, own, turn) || (!lends && !(all_short(b, &send, b->most_each) && all_short(b, &recv, b->most_each))))
		return 0;
	size_t longest = 0;
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != me) {
			size_t n = stays(b, &send, i) ? board_size(&send, i) : sizeof(uint64_t);
			longest = n > longest ? n : longest;
		}
	size_t length = sizeof(struct part) + ((longest + 7) & ~(size_t)7);
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != me) {
			struct part *to = part(b, turn, me, i, length);
			char *block = board_block(&send, i);
			to->size = size_told(b, &send, i);
			if (stays(b, &send, i)) {
				put(b, turn, me, i, COPIES, to->block, block, to->size);
			} else {
				uint64_t at = lends_block(b, own, turn, block, board_size(&send, i), block);
				memcpy(to->block, &at, sizeof at);
			}
		}
	post(b, turn, me, BOARD_ALLTOALLV | (uint64_t)length << 24);
	own->posted = turn + 1;
	p.until = WHOLE;
	for (uint32_t i = 0; i < b->ranks; i++) {
		const struct cell *c = i == me ? 0 : seen_any(b, turn, i, &p);
		if (i != me && (!c || c->call << 40 >> 40 != BOARD_ALLTOALLV || part(b, turn, i, me, c->call >> 24)->size != size_told(b, &recv, i)))
			return 0;
	}
	for (uint32_t i = 0; i < b->ranks; i++) {
		char *block = i == me ? board_block(&send, me) : part(b, turn, i, me, cell(b, turn, i)->call >> 24)->block;
		uint64_t at;
		if (i == me) {
			move(board_block(&recv, i), block, board_size(&recv, i));
		} else if (stays(b, &recv, i)) {
			get(b, turn, i, i, board_block(&recv, i), block, board_size(&recv, i));
		} else {
			memcpy(&at, block, sizeof at);
			if (!borrow(b, turn, i, board_block(&recv, i), at, 0, board_size(&recv, i)))
				return 0;
		}
	}
	learn(own, turn);
	return b->ranks == 2 && !stays(b, &send, 1 - me) && !staged(b, own, turn) ? returned(b, own, turn, 0) : over(b, own, turn, 0);
}

/* The bytes of n that belong to a turn which begins at one. */
static inline size_t part_of(size_t n, size_t at, size_t step) { return at >= n ? 0 : n - at < step ? n - at : step; }

/* Whether the cells of a turn may be written, for which one of two ranks waits. */
static int emptied(struct board *b, struct line *own, uint64_t turn, const struct patience *p)
{
	struct patience q = *p;
	q.until = EVERYBODY;
	while (!unused(b, own, turn))
		if (b->ranks > 2 || !again(b, turn - SLOTS, 1 - b->me, &q))
			return 0;
	return 1;
}

/* What a rank gives in a call of several turns, and what it takes, and combines with what it has itself; of blocks of
   all bytes each. The words of the call are those that it posts, and that the others do. */
struct ends {
	const char *given;
	size_t gives;
	const char *kept;
	size_t takes;
	char *recv;
	size_t all;
	uint64_t call, due;
};

/* Makes a call in turns of step bytes each, but for leaving the last. */
static int in_turns(struct board *b, struct line *own, enum board_op op, uint32_t root, const struct ends *x, size_t step, board_fold fold, struct patience *p)
{
	int giver = posts(b, op, root), taker = takes(b, op, root);
	size_t n = x->gives > x->takes ? x->gives : x->takes, at = 0;
	if (n > step)
		lengthen(p);
	for (;;) {
		uint64_t turn = own->turns;
		if (giver) {
			if (n > step ? !emptied(b, own, turn, p) : !unused(b, own, turn))
				return 0;
			give(b, turn, op, root, x->given, x->recv, at, part_of(x->gives, at, step), x->all, x->call);
			own->posted = turn + 1;
		}
		if (taker) {
			if (!arrived(b, own, turn, op, root, x->due, p))
				return 0;
			size_t size = part_of(x->takes, at, step);
			if (size > 0)
				take(b, turn, op, root, x->kept, x->recv, at, size, x->all, fold);
		}
		if ((at += step) >= n)
			break;
		own->posted = 0;
		own->past++;
		leave(b, own, turn);
	}
	own->past = 0;
	return 1;
}

int board_perform(struct board *b, enum board_op op, int root, const void *send, void *recv, size_t n, size_t elem, board_fold fold)
{
	struct line *own = AT(struct line, b->own);
	uint64_t call = (uint64_t)op | (uint64_t)root << 8 | (uint64_t)n << 24;
	int several = !serves(b, op, n, elem);
	CALL p = begin(b, own);
	if (!may(b, own, op, n, elem))
		return 0;
	int behind = follows(b, own, op);
	if (behind || goes_central(b, op)) {
		return perform_central(b, own, op, send, recv, n, call | (uint64_t)behind << 8, fold, &p);
	}
	struct ends x = {send, n, send, n, recv, n, call, call};
	if (!in_turns(b, own, op, root, &x, several ? b->piece - b->piece % elem : n, fold, &p))
		return 0;
	return over(b, own, own->turns, (op == BOARD_BCAST || op == BOARD_SCATTER) && root == 0);
}

int board_reduce_scatter(struct board *b, enum board_op op, const void *send, void *recv, size_t n, size_t lo, size_t hi, size_t elem, board_fold fold)
{
	struct line *own = AT(struct line, b->own);
	uint64_t turn = own->turns, call = op;
	const char *all = send;
	CALL p = begin(b, own);
	if (!may(b, own, op, n, elem))
		return 0;
	if (b->ranks == 2) { /* each posts only what the other combines */
		size_t mine = hi - lo, theirs = n - mine;
		struct ends x = {b->me == 0 ? all + hi : all, theirs, all + lo, mine, recv, n, call | (uint64_t)theirs << 24, call | (uint64_t)mine << 24};
		return in_turns(b, own, op, 0, &x, b->piece - b->piece % elem, fold, &p) && over(b, own, own->turns, 0);
	}
	call |= (uint64_t)n << 24;
	if (!unused(b, own, turn))
		return 0;
	give(b, turn, op, 0, send, recv, 0, n, n, call);
	own->posted = turn + 1;
	if (!all_seen(b, own, turn, call, &p))
		return 0;
	if (lo < hi)
		combine(b, turn, b->ranks - 1, send, recv, n, lo, hi, fold);
	return over(b, own, turn, 0);
}

/* The operators, as package mpi has them: loops that the compiler turns into vector
   instructions. The two buffers are never the same. */
#pragma GCC optimize("O3")
#define FOLD(name, type, expression)                                    \
	static void name##_##type(const void *in, void *inout, size_t n) \
	{                                                               \
		const type *restrict x = in;                            \
		type *restrict y = inout;                               \
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
