/*
 * Short blocking collectives in shared memory: those of one round, on predefined types and operators. Package
 * coll/shm explains the memory and the order of things, and makes all other calls in the same memory. What is out of
 * the ordinary is left to it: data in place, wrong arguments, calls that do not match, and whatever has to wait
 * for long, with this rank's part published. A call that Go would refuse must not be published.
 */
#include "shared.h"

#include "doorbell.h"
#include "wait.h"

#include <sched.h>
#include <string.h>

struct shared exanet_shared;

typedef void (*combiner)(const void *in, void *inout, size_t n);
static combiner combiner_of(exanet_handle operator, const struct shared_type *t);

#define AT(type, address) ((struct type *)(uintptr_t)(address))

static inline uint64_t load(const uint64_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static inline struct collective_header *header(const struct collective_area *a)
{
	return AT(collective_header, a->head);
}
static inline struct collective_line *own(const struct collective_area *a) { return AT(collective_line, a->own); }
static inline struct collective_line *line(const struct collective_area *a, uint32_t rank)
{
	return AT(collective_line, a->lines) + rank;
}
static inline uint64_t first_round(uint64_t call) { return 2 * call + 1; }
static inline size_t index_of(const struct collective_area *a, uint64_t call, uint32_t rank)
{
	return call % COLLECTIVE_DEPTH * a->ranks + rank;
}
static inline struct collective_slot *slot(const struct collective_area *a, uint64_t call, uint32_t rank)
{
	return AT(collective_slot, a->slots) + index_of(a, call, rank);
}

/* Where n bytes of a rank's data are. */
static inline char *place(const struct collective_area *a, uint64_t call, uint32_t rank, size_t n)
{
	return n <= COLLECTIVE_IN_SLOT ? (char *)slot(a, call, rank)->data
				       : (char *)(uintptr_t)a->segments + index_of(a, call, rank) * a->segment;
}

/* Whether all ranks but one have published a round of a call. */
static int published(const struct collective_area *a, uint64_t call, uint64_t round, uint32_t but)
{
	for (uint32_t i = 0; i < a->ranks; i++)
		if (i != but && load(&slot(a, call, i)->round) < round)
			return 0;
	return 1;
}

/* Whether what a rank sleeps for is there, now that this one has published. It has made no call by messages: who
   sleeps for one in this very call has made another. */
static int fulfilled(const struct collective_area *a, uint32_t rank, uint64_t waiting)
{
	uint64_t round = waiting >> (COLLECTIVE_KIND_BITS + COLLECTIVE_RANK_BITS), call = (round - 1) / 2;
	uint32_t one = waiting >> COLLECTIVE_KIND_BITS & ((1 << COLLECTIVE_RANK_BITS) - 1);
	switch (waiting & ((1 << COLLECTIVE_KIND_BITS) - 1)) {
	case COLLECTIVE_FOR_ONE: return load(&slot(a, call, one)->round) >= round;
	case COLLECTIVE_FOR_ALL: return published(a, call, round, rank);
	default: return call == own(a)->call;
	}
}

static inline struct doorbell *bell_of(const struct collective_area *a, uint64_t world)
{
	return AT(doorbell, a->bells + world * a->bell_step);
}

static __attribute__((noinline, cold)) void wake(const struct collective_area *a)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two who publish the last words at once, one sees both */
	for (uint32_t i = 0; i < a->ranks; i++) {
		uint64_t *waiting = &line(a, i)->waiting, v = i == a->me ? 0 : load(waiting);
		if (v && fulfilled(a, i, v) &&
			__atomic_compare_exchange_n(waiting, &v, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			doorbell_wake(bell_of(a, line(a, i)->world), BELL_FOREGROUND);
	}
}

/* A call under way. */
struct call {
	struct collective_area *area;
	uint64_t n, what;
	uint32_t spins; /* left before it goes on in Go; so are yields */
	int32_t yields;
	int keeps; /* looks between two yields that would let no awaited rank run */
};

/* Begins a call in which this rank gives so much, unless it belongs into Go: so it is if the slot is not free. */
static inline int begin(struct call *c, struct collective_area *a, uint32_t op, uint32_t root, size_t n, size_t given)
{
	struct collective_line *l = own(a);
	uint64_t what = op | (uint64_t)root << COLLECTIVE_ROOT_SHIFT | (uint64_t)n << COLLECTIVE_SIZE_SHIFT;
	*c = (struct call){a, l->call, what, a->spins, a->yields, COLLECTIVE_KEEPS};
	if (n >= a->limit[op] || given > a->segment || l->cut || load(&header(a)->failed))
		return 0;
	if (c->n >= COLLECTIVE_DEPTH && l->known + COLLECTIVE_DEPTH <= c->n) {
		uint64_t due = c->n - COLLECTIVE_DEPTH + 1;
		if (!published(a, due, first_round(due), a->me))
			return 0;
		l->known = due;
	}
	return 1;
}

/* Publishes this rank's part: length bytes in its place. */
static inline void publish(const struct call *c, size_t length)
{
	const struct collective_area *a = c->area;
	struct collective_line *l = own(a);
	struct collective_slot *s = slot(a, c->n, a->me);
	s->what = c->what, s->past = l->past, s->addr = 0, s->length = length;
	l->posted = 1;
	__atomic_store_n(&s->round, first_round(c->n), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (a->fenced)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load(&header(a)->sleepers))
		wake(a);
}

static inline int end(const struct call *c)
{
	struct collective_line *l = own(c->area);
	struct collective_count *count = &c->area->counts[c->what & ((1 << COLLECTIVE_ROOT_SHIFT) - 1)];
	count->calls++;
	count->bytes += c->what >> COLLECTIVE_SIZE_SHIFT;
	l->past = (l->past ^ (c->what & ((1u << COLLECTIVE_SIZE_SHIFT) - 1))) * COLLECTIVE_MIXER + 1;
	l->posted = 0;
	l->call = c->n + 1;
	return 1;
}

/* Whether a rank that is waited for may need this core: others, or one. Nobody knows where a rank is that has not
   waited. */
static int near(const struct collective_area *a, uint64_t call, uint32_t first, uint32_t last, uint32_t core)
{
	for (uint32_t i = first; i <= last; i++)
		if (i != a->me && load(&slot(a, call, i)->round) < first_round(call)) {
			uint64_t its = __atomic_load_n(&line(a, i)->core, __ATOMIC_RELAXED);
			if (!its || its == core)
				return 1;
		}
	return 0;
}

/* Lets others run, and returns how many yields it counts as: more than one if it has let nobody run. */
static int32_t yield(const struct collective_area *a)
{
	int64_t begun = a->hand_over ? fast_now() : 0;
	sched_yield();
	return a->hand_over && fast_now() - begun < a->hand_over ? COLLECTIVE_VAIN : 1;
}

/* Waits for a rank's round as package shm does where ranks share cores: for others up to last are waited for next. */
static __attribute__((noinline)) int take_turns(struct call *c, uint32_t rank, uint32_t last)
{
	static unsigned waits;
	const struct collective_area *a = c->area;
	const uint64_t *word = &slot(a, c->n, rank)->round, round = first_round(c->n), core = sched_getcpu() + 1;
	if (++waits % COLLECTIVE_CHECK_EVERY == 0)
		return 0;
	if (own(a)->core != core) {
		__atomic_store_n(&own(a)->core, core, __ATOMIC_RELAXED);
		__atomic_store_n(&bell_of(a, own(a)->world)->core, core, __ATOMIC_RELAXED);
	}
	for (int kept = 1; c->yields > 0; kept++) {
		if (kept >= c->keeps || near(a, c->n, rank, last, core))
			c->yields -= yield(a), kept = 0;
		if (load(word) >= round)
			return 1;
	}
	return 0;
}

/* Waits for a rank's part, if it is of the same call, and not lent. */
static inline int seen(struct call *c, uint32_t rank, uint32_t last)
{
	const struct collective_slot *s = slot(c->area, c->n, rank);
	uint64_t round = first_round(c->n);
	while (load(&s->round) < round)
		if (c->spins)
			c->spins--;
		else if (!take_turns(c, rank, last))
			return 0;
	return s->what == c->what && s->past == own(c->area)->past && !s->addr;
}

/* Waits for the parts of the ranks from first on that come before end. */
static inline int all_seen(struct call *c, uint32_t first, uint32_t end)
{
	if (end - first == 1)
		c->keeps = COLLECTIVE_KEEPS_FOR_ONE;
	for (uint32_t i = first; i < end; i++)
		if (i != c->area->me && !seen(c, i, end - 1))
			return 0;
	if (end - first == c->area->ranks)
		own(c->area)->known = c->n;
	return 1;
}

static inline struct collective_area *area_of(exanet_handle comm)
{
	struct collective_area *a = &exanet_shared.areas[exanet_spread((uint64_t)comm) % SHARED_AREAS];
	uint64_t id = load(&a->id);
	return id && id == (uint64_t)comm ? a : 0;
}

int exanet_shared_Barrier(exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	struct call c;
	if (!a || !begin(&c, a, COLL_BARRIER, 0, 0, 0))
		return 0;
	publish(&c, 0);
	return all_seen(&c, 0, a->ranks) && end(&c);
}

/* Bytes in one piece. */
struct piece {
	char *at;
	size_t n;
};

/* Whether two pieces have nothing in common, of which hosts may refuse some. */
static inline int apart(struct piece a, struct piece b) { return a.at + a.n <= b.at || b.at + b.n <= a.at; }

static inline int usable(const void *p) { return (uintptr_t)p >= 4096 && (uintptr_t)p != ~(uintptr_t)0; }

static inline size_t size_of(const struct exanet_blocks *b) { return exanet_type_of(b->type)->size; }

/* The bytes of n blocks; 0 if that is not known, or too much. */
static inline size_t total(const struct exanet_blocks *b, uint32_t n)
{
	enum { MOST = 1 << 24 };
	int64_t sum = 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t count = b->counts ? b->counts[i] : b->count;
		if (count < 0 || count > MOST)
			return 0;
		sum += count;
	}
	return usable(b->base) ? sum * size_of(b) : 0;
}

/* A block of several, or the one that all ranks have. */
static inline struct piece block(const struct exanet_blocks *b, uint32_t i, int several)
{
	int64_t size = size_of(b), first = b->counts ? b->displs[i] : several ? i * b->count : 0;
	return (struct piece){(char *)b->base + first * size, (b->counts ? b->counts[i] : b->count) * size};
}

/* Calls that move blocks, in which a rank gives all that others want of it. Where not all know the sizes there is
   a table before the blocks for each rank: where its one is, and how long. */
int exanet_shared_move(uint32_t op, struct exanet_blocks out, struct exanet_blocks in, int root, exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	if (!a || root < 0 || (uint32_t)root >= a->ranks)
		return 0;
	uint32_t ranks = a->ranks, me = a->me, is_root = me == (uint32_t)root;
	int from_root = op == COLL_BCAST || op == COLL_SCATTER || op == COLL_SCATTERV;
	int to_root = op == COLL_GATHER || op == COLL_GATHERV;
	int to_each = op == COLL_SCATTER || op == COLL_SCATTERV || op == COLL_ALLTOALL || op == COLL_ALLTOALLV;
	int has_table = op == COLL_SCATTERV || op == COLL_ALLTOALLV;
	int sends = !from_root || is_root, takes = !to_root || is_root; /* which of its buffers count */
	size_t given = sends ? total(&out, to_each ? ranks : 1) : 0, taken = takes ? total(&in, from_root ? 1 : ranks) : 0;
	if ((sends && !given) || (takes && !taken))
		return 0;
	struct piece kept = {0}, got = {0}; /* what it sends itself */
	if (sends && takes && op != COLL_BCAST) {
		kept = block(&out, me, to_each), got = block(&in, me, !from_root);
		if (out.base == in.base || kept.n != got.n || !apart(kept, got))
			return 0;
	}
	size_t n = op == COLL_ALLGATHERV ? taken : has_table || op == COLL_GATHERV ? 0 : block(sends ? &out : &in, 0, 0).n;
	uint64_t at = sends && has_table ? ranks * 2 * sizeof at : 0;
	given = to_root && is_root ? 0 : at + given;
	struct call c;
	if (!begin(&c, a, op, root, n, given))
		return 0;
	char *to = place(a, c.n, me, given);
	if (!at)
		memcpy(to, out.base, given);
	for (uint32_t i = 0; i < ranks && at; i++) {
		struct piece p = block(&out, i, 1);
		uint64_t entry[] = {at, p.n};
		memcpy(to + i * sizeof entry, entry, sizeof entry);
		memcpy(to + at, p.at, p.n);
		at += p.n;
	}
	publish(&c, given);
	if (kept.n)
		memcpy(got.at, kept.at, kept.n);
	uint32_t first = from_root ? root : 0, behind = from_root ? first + 1 : takes ? ranks : 0;
	if (!all_seen(&c, first, behind))
		return 0;
	for (uint32_t i = first; i < behind; i++) {
		struct piece p = block(&in, i, !from_root);
		uint64_t length = slot(a, c.n, i)->length, entry[] = {to_each ? me * p.n : 0, to_each ? p.n : length};
		const char *from = place(a, c.n, i, length);
		if (i == me)
			continue;
		if (has_table)
			memcpy(entry, from + me * sizeof entry, sizeof entry);
		if (entry[1] != p.n)
			return 0;
		memcpy(p.at, from + entry[0], p.n);
	}
	return end(&c);
}

/* Reductions of a vector, of which a rank gets what counts say, or all. They combine what the ranks have published
   from the last that counts to the first, as package shm does. */
int exanet_shared_reduce(uint32_t op, struct exanet_blocks out, void *in, exanet_handle operator, int root,
	exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	if (!a || root < 0 || (uint32_t)root >= a->ranks)
		return 0;
	uint32_t me = a->me, takes = op != COLL_REDUCE || me == (uint32_t)root;
	uint32_t behind = op == COLL_SCAN ? me + 1 : op == COLL_EXSCAN ? me : takes ? a->ranks : 0;
	size_t n = total(&out, out.counts ? a->ranks : 1), part = out.counts ? total(&out, me + 1) : n, from = 0;
	if (out.counts)
		from = part - out.counts[me] * size_of(&out), part -= from;
	combiner f = combiner_of(operator, exanet_type_of(out.type));
	if (!n || !f || (takes && (!usable(in) || !apart((struct piece){(char *)out.base, n}, (struct piece){in, part}))))
		return 0;
	struct call c;
	size_t given = op == COLL_REDUCE && takes ? 0 : n;
	if (!begin(&c, a, op, root, n, given))
		return 0;
	memcpy(place(a, c.n, me, n), out.base, given);
	publish(&c, given);
	if (!all_seen(&c, 0, behind))
		return 0;
	for (uint32_t i = behind; i-- > 0;) {
		const char *data = (i == me ? (char *)out.base : place(a, c.n, i, n)) + from;
		if (i == behind - 1)
			memcpy(in, data, part);
		else
			f(data, in, part);
	}
	return end(&c);
}

/* The operators, as package mpi has them: loops that the compiler turns into vector
   instructions. The two buffers are never the same. */
#pragma GCC optimize("O3")
#define COMBINER(name, type, expression)                                \
	static void name##_##type(const void *in, void *inout, size_t n) \
	{                                                               \
		const type *restrict x = in;                            \
		type *restrict y = inout;                               \
		for (size_t i = 0; i < n / sizeof(type); i++) {         \
			type a = x[i], b = y[i];                        \
			y[i] = expression;                              \
		}                                                       \
	}
#define REAL(type) COMBINER(sum, type, a + b) COMBINER(prod, type, a *b)
#define ORDERED(type) COMBINER(max, type, a > b ? a : b) COMBINER(min, type, a < b ? a : b)
#define BITS(type) COMBINER(band, type, a &b) COMBINER(bor, type, a | b) COMBINER(bxor, type, a ^ b)
#define INTEGERS(ordered, wraps)                                               \
	{sum_##wraps, prod_##wraps, max_##ordered, min_##ordered, band_##wraps, \
		bor_##wraps, bxor_##wraps}

REAL(int8_t) ORDERED(int8_t) BITS(int8_t) REAL(uint8_t) ORDERED(uint8_t) BITS(uint8_t)
REAL(int16_t) ORDERED(int16_t) BITS(int16_t) REAL(uint16_t) ORDERED(uint16_t) BITS(uint16_t)
ORDERED(int32_t) REAL(uint32_t) ORDERED(uint32_t) BITS(uint32_t)
ORDERED(int64_t) REAL(uint64_t) ORDERED(uint64_t) BITS(uint64_t)
REAL(float) REAL(double)

/* Signed numbers wrap around, as those of Go. Maxima of floating-point numbers are left to Go, since of NaN and of
   zeros with signs. */
static const combiner combiners[KIND_BASIC_KINDS][OPERATOR_OPERATORS] = {
	[KIND_INT8] = INTEGERS(int8_t, int8_t), [KIND_UINT8] = INTEGERS(uint8_t, uint8_t),
	[KIND_INT16] = INTEGERS(int16_t, int16_t), [KIND_UINT16] = INTEGERS(uint16_t, uint16_t),
	[KIND_INT32] = INTEGERS(int32_t, uint32_t), [KIND_UINT32] = INTEGERS(uint32_t, uint32_t),
	[KIND_INT64] = INTEGERS(int64_t, uint64_t), [KIND_UINT64] = INTEGERS(uint64_t, uint64_t),
	[KIND_FLOAT32] = {sum_float, prod_float}, [KIND_FLOAT64] = {sum_double, prod_double},
};

/* The function of an operator for a type, 0 if there is none here. */
static combiner combiner_of(exanet_handle operator, const struct shared_type *t)
{
	const struct shared_op *o = exanet_shared.ops, *last = o + exanet_shared.known;
	while (o < last && o->handle != (uint64_t)operator)
		o++;
	return o < last && t->operators >> o->operator & 1 ? combiners[t->kind][o->operator] : 0;
}
