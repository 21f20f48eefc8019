/*
 * How ranks wait for each other on a board. With a core for each a rank looks, for microseconds. Where ranks share
 * cores and yields hand them over, it yields as soon as another on its core may go on: it tells in its line what it
 * looks for, so that the others see whether it can. Where only sleeping hands a core over, it sleeps a moment, and
 * ranks that are awake wake those of their own core; so it does after its yields where a core has so many ranks that
 * they would not come round otherwise once they have slept in Go. What takes longer is left to Go.
 */
#ifndef EXANET_BOARD_WAIT_H
#define EXANET_BOARD_WAIT_H

#include "layout.h"

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

/* What a line tells its rank to sleep for: a word, by its offset, or all cells of a turn
   that others post, or that all have done with a turn. */
static const uint64_t WHOLE_TURN = 1ull << 63, ALL_DONE = 1ull << 62;

/* A rank that sleeps in the twin adds this bit. Nothing else is left when it has been woken by another. */
static const uint64_t IN_TWIN = 1ull << 61, WOKEN = IN_TWIN;

/* Whether the cells of a turn have been posted, of the ranks from first on but one. */
static int posted(const struct board *b, uint64_t turn, uint32_t first, uint32_t but)
{
	for (uint32_t i = first; i < b->ranks; i++)
		if (i != but && load(&cell(b, turn, i)->turn) != turn + 1)
			return 0;
	return 1;
}

/* Wakes a rank of the board. */
static void ring(const struct board *b, uint32_t rank) { bell_wake(bell_of(&b->berths, line(b, rank)->world)); }

/* Whether all others have done with a turn. */
static int finished(const struct board *b, uint64_t turn, uint32_t but)
{
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != but && load(&line(b, i)->turns) <= turn)
			return 0;
	return 1;
}

/* Whether what a rank sleeps for is there. */
static int fulfilled(const struct board *b, uint32_t rank, uint64_t waiting)
{
	if ((waiting &= ~IN_TWIN) == 0)
		return 0;
	if (waiting & WHOLE_TURN)
		return posted(b, (waiting & ~WHOLE_TURN) - 1, 0, rank);
	if (waiting & ALL_DONE)
		return finished(b, (waiting & ~ALL_DONE) - 1, rank);
	return load(AT(uint64_t, b->head + waiting)) > load(&line(b, rank)->turns);
}

/* Wakes a rank, if it still sleeps for that. */
static void rouse(const struct board *b, uint32_t rank, uint64_t waiting)
{
	if (__atomic_compare_exchange_n(&line(b, rank)->waiting, &waiting, waiting & IN_TWIN, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		ring(b, rank);
}

static inline uint32_t sleepers(const struct board *b) { return __atomic_load_n(&AT(struct header, b->head)->sleepers, __ATOMIC_SEQ_CST); }

/* The core that a rank ran on when it told last, 0: none. A rank that sleeps stays there. */
static inline uint32_t *core_of(const struct board *b, uint32_t rank) { return AT(uint32_t, b->cores) + rank; }

/* Whether a rank that is awake, maybe this one, or has been woken, will wake one that sleeps on the same
   core: to do so from another core takes an interrupt, and as long as that rank runs the other could not.
   Who sleeps in Go is left to nobody: he sleeps for as long as it takes, and that rank may have been stopped. */
static int tended(const struct board *b, uint32_t rank, uint64_t waiting)
{
	uint32_t core = waiting & IN_TWIN ? __atomic_load_n(core_of(b, rank), __ATOMIC_RELAXED) : 0;
	for (uint32_t i = 0; core && i < b->ranks; i++)
		if (i != rank && __atomic_load_n(core_of(b, i), __ATOMIC_RELAXED) == core && (load(&line(b, i)->tends) == core || load(&line(b, i)->waiting) == WOKEN))
			return 1;
	return 0;
}

/* Wakes who sleeps for a word that has been set to v. */
static void wake(const struct board *b, const uint64_t *word, uint64_t v)
{
	uint64_t at = (uintptr_t)word - b->head;
	int in_cell = (uintptr_t)word >= b->cells;
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two who post the last cells at once, one sees both */
	for (uint32_t i = 0; i < b->ranks; i++) {
		uint64_t waiting = i == b->me ? 0 : load(&line(b, i)->waiting), what = waiting & ~IN_TWIN;
		if (what == at && !in_cell)
			rouse(b, i, waiting); /* it is in Go, and knows what value it needs before it can post */
		else if (what && (what == at || what == ((in_cell ? WHOLE_TURN : ALL_DONE) | v)) && fulfilled(b, i, waiting) && !tended(b, i, waiting))
			rouse(b, i, waiting);
	}
}

/* Wakes the ranks that sleep on a core for what is there. */
static void tend(const struct board *b, uint32_t core)
{
	if (!sleepers(b))
		return;
	for (uint32_t i = 0; i < b->ranks; i++) {
		uint64_t waiting = i != b->me && __atomic_load_n(core_of(b, i), __ATOMIC_RELAXED) == core ? load(&line(b, i)->waiting) : 0;
		if (waiting && fulfilled(b, i, waiting))
			rouse(b, i, waiting);
	}
}

/* Whether others of the board are on a core. */
static int shares(const struct board *b, uint32_t core)
{
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != b->me && __atomic_load_n(core_of(b, i), __ATOMIC_RELAXED) == core)
			return 1;
	return 0;
}

/* While a rank is awake in a call it tends those that sleep on its core: others leave them to it. It
   wakes them before it sleeps or ends the call. */
static void attend(const struct board *b, uint32_t core) { __atomic_store_n(&AT(struct line, b->own)->tends, core, __ATOMIC_RELEASE); }

static void turn_away(const struct board *b)
{
	struct line *own = AT(struct line, b->own);
	uint32_t core = own->tends;
	if (!core)
		return;
	tend(b, core); /* while others leave that to this rank, so that they do not try at the same time */
	__atomic_store_n(&own->tends, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* who posts for one of them sees this, or this rank what it posts */
	tend(b, core);
}

/* How long a call waits: for some looks, then for some yields, unless others compute
   meanwhile; then, where ranks nap, for as long as a nap takes at most. */
struct patience {
	const struct board *board;
	uint32_t looks, yields, kept; /* that are left; kept: looks for which this rank has kept its core since the last yield */
	enum { ONE_CELL, WHOLE, EVERYBODY } until; /* a cell, all cells of the turn from one on, or all ranks have done with it */
	int64_t end; /* of yielding or napping; 0: not begun */
	int64_t most; /* ns of yielding */
};

/* In ns, and looks between two of the clock. */
enum { YIELD_TIME = 40000 /* for each rank of a core: where more have their turn meanwhile, one comes round later */, COPY_TIME = 500000, MS = 1000000, SPIN_TIME = 30000, GLANCES = 50, KEEPS = 100, VISIT = 2 * MS };

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The core that this rank runs on, from 1, of which it tells the others. */
static uint32_t here(const struct board *b)
{
	uint32_t core = bell_core(&b->berths);
	if (*core_of(b, b->me) != core)
		__atomic_store_n(core_of(b, b->me), core, __ATOMIC_RELAXED);
	return core;
}

/* Tends the sleepers of the core that this rank runs on, in place of those where it ran before. */
static uint32_t settle_down(const struct board *b)
{
	uint32_t core = here(b);
	if (core != AT(struct line, b->own)->tends) {
		turn_away(b);
		attend(b, core);
	}
	return core;
}

static const uint64_t *word_of(const struct board *b, uint64_t turn, uint32_t rank, const struct patience *p)
{
	return p->until == EVERYBODY ? &line(b, rank)->turns : &cell(b, turn, rank)->turn;
}

/* What a rank's line tells that it waits for. */
static uint64_t signal_of(const struct board *b, uint64_t turn, uint32_t rank, const struct patience *p)
{
	return p->until == WHOLE ? WHOLE_TURN | (turn + 1) : p->until == EVERYBODY ? ALL_DONE | (turn + 1) : (uintptr_t)word_of(b, turn, rank, p) - b->head;
}

/* Whether another rank that ran on a core when it waited last needs it: unless it looks for what is not there yet,
   as what this one looks for is not. */
static int needed(const struct board *b, uint32_t core, uint64_t missing)
{
	for (uint32_t i = 0; i < b->ranks; i++)
		if (i != b->me && __atomic_load_n(core_of(b, i), __ATOMIC_RELAXED) == core) {
			uint64_t seeks = load(&line(b, i)->seeks);
			if (!seeks || (seeks != missing && fulfilled(b, i, seeks)))
				return 1;
		}
	return 0;
}

/* Whether this rank is to go on in Go, which moves it: if the core that it runs on has more than its share of the
   ranks, of which it is the last. */
static int moves(const struct board *b, int64_t at)
{
	struct line *own = AT(struct line, b->own);
	if (at < own->visit)
		return 0;
	own->visit = at + VISIT;
	return bell_moves(&b->berths, here(b));
}

/* Spins for what p says as long as no other rank needs the core, and then sleeps for it. */
static int nap(const struct board *b, uint64_t turn, uint32_t rank, struct patience *p)
{
	const uint64_t *word = word_of(b, turn, rank, p);
	int64_t begun = now();
	if (!p->end)
		p->end = begun + (int64_t)b->naps * MS;
	if (begun > p->end || moves(b, begun) || (b->outside && __atomic_load_n(AT(int64_t, b->outside), __ATOMIC_ACQUIRE)))
		return 0;
	struct line *own = AT(struct line, b->own);
	uint32_t core = settle_down(b);
	int there = 0, mates = shares(b, core);
	do {
		for (int i = 0; i < GLANCES && !there; i++)
			there = load(word) >= turn + 1;
		if (mates && !there)
			tend(b, core);
	} while (!there && !bell_wanted(&b->berths, here(b)) && now() - begun < SPIN_TIME);
	if (there)
		return 1;
	turn_away(b);

	struct doorbell *r = bell_own(&b->berths);
	struct header *head = AT(struct header, b->head);
	uint32_t mark = __atomic_load_n(&r->foreground, __ATOMIC_ACQUIRE);
	struct timespec most = {b->naps / 1000, b->naps % 1000 * MS};
	uint64_t signal = IN_TWIN | signal_of(b, turn, rank, p);
	__atomic_store_n(&r->napping, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&own->waiting, signal, __ATOMIC_RELEASE);
	__atomic_add_fetch(&head->sleepers, 1, __ATOMIC_SEQ_CST); /* the others post with a fence */
	if (!(p->until == WHOLE ? posted(b, turn, rank, b->me) : p->until == EVERYBODY ? finished(b, turn, b->me) : load(word) == turn + 1))
		syscall(SYS_futex, &r->foreground, FUTEX_WAIT, mark, &most, 0, 0);
	__atomic_sub_fetch(&head->sleepers, 1, __ATOMIC_SEQ_CST);
	attend(b, *core_of(b, b->me)); /* as others rely on who have woken this rank */
	__atomic_store_n(&own->waiting, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->napping, 0, __ATOMIC_RELEASE);
	settle_down(b);
	return 1;
}

/* Whether who waits does best to keep its core for one more look. Only if all ranks of the job are on the board
   does this one know of all that may need it. What it knows may be old: ranks move. */
static int keeps(const struct board *b, uint64_t turn, uint32_t rank, struct patience *p)
{
	if (b->ranks != b->berths.n || p->kept++ == KEEPS)
		return 0;
	struct line *own = AT(struct line, b->own);
	uint64_t seeks = signal_of(b, turn, rank, p);
	if (own->seeks != seeks)
		__atomic_store_n(&own->seeks, seeks, __ATOMIC_RELEASE);
	return !needed(b, here(b), seeks) || fulfilled(b, b->me, seeks);
}

/* Whether what p says may be looked for again, after as long as it takes to let others run. */
static int again(const struct board *b, uint64_t turn, uint32_t rank, struct patience *p)
{
	if (p->looks && --p->looks)
		return 1;
	if (!p->yields)
		return b->naps && nap(b, turn, rank, p);
	if (keeps(b, turn, rank, p))
		return 1;
	p->kept = 0;
	int64_t at = now();
	if (!p->end)
		p->end = at + p->most;
	if (moves(b, at))
		return 0;
	if (at > p->end || !--p->yields) {
		p->yields = 0;
		p->end = 0;
		return b->naps && nap(b, turn, rank, p);
	}
	sched_yield();
	return 1;
}

static inline struct patience patience_of(const struct board *b)
{
	int64_t share = b->berths.percore ? b->berths.percore : 1;
	return (struct patience){.board = b, .looks = b->spins, .yields = b->yields, .most = YIELD_TIME * share};
}

/* The patience of calls that wait for copies. */
static void lengthen(struct patience *p)
{
	p->yields *= 20;
	if (p->most < COPY_TIME)
		p->most = COPY_TIME;
}

/* A call goes from begin to the end of its function, which ends calls whether they are over or go on in Go. */
#define CALL __attribute__((cleanup(end))) struct patience

/* Gives this rank's belt all its memory, and this rank its view of the other's, unless Go has. */
static __attribute__((noinline, cold)) void fill_belts(struct board *b)
{
	uint64_t all = portion(b) * (PORTIONS - 1);
	b->fills = 0;
	if (belt(b, b->me)->filled)
		return;
	for (uint32_t i = 0; i < 2; i++)
		madvise(on_belt(b, i ? 1 - b->me : b->me, 0), all, MADV_POPULATE_READ); /* as sys.Populate */
	belt(b, b->me)->filled = all;
}

static inline struct patience begin(struct board *b, struct line *own)
{
	if (b->fills)
		fill_belts(b);
	if (own->core)
		__atomic_store_n(&own->core, 0, __ATOMIC_RELEASE); /* ranks in Go leave nobody to this one */
	if (b->naps && !b->yields)
		attend(b, here(b));
	return patience_of(b);
}

static inline void end(const struct patience *p)
{
	struct line *own = AT(struct line, p->board->own);
	if (own->seeks)
		__atomic_store_n(&own->seeks, 0, __ATOMIC_RELEASE);
	turn_away(p->board);
}

#endif
