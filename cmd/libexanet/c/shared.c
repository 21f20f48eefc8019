/*
 * Short blocking collectives in shared memory: those of one round, on predefined types and operators. Package
 * coll/shm explains the memory and the order of things, and makes all other calls in the same memory. What is out of
 * the ordinary is left to it: data in place, wrong arguments, calls that do not match, and whatever has to wait
 * for long, with this rank's part published. A call that Go would refuse must not be published.
 */
#include "shared.h"

#include "doorbell.h"

#include <sched.h>
#include <string.h>

struct shared exanet_shared;

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
	uint32_t spins, yields; /* left before it goes on in Go */
};

/* Begins a call, unless it belongs into Go: so it is if the slot is not free. */
static inline int begin(struct call *c, struct collective_area *a, uint32_t op, uint32_t root, size_t n)
{
	struct collective_line *l = own(a);
	uint64_t what = op | (uint64_t)root << COLLECTIVE_ROOT_SHIFT | (uint64_t)n << COLLECTIVE_SIZE_SHIFT;
	*c = (struct call){a, l->call, what, a->spins, a->yields};
	if (n >= a->limit[op] || l->cut || load(&header(a)->failed))
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
	if (a->fenced)
		__atomic_store_n(&s->round, first_round(c->n), __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&s->round, first_round(c->n), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
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
	for (int kept = 1; c->yields; kept++) {
		if (kept >= COLLECTIVE_KEEPS || near(a, c->n, rank, last, core))
			sched_yield(), c->yields--, kept = 0;
		if (load(word) >= round)
			return 1;
	}
	return 0;
}

/* Waits for a rank's part, if it is of the same call. */
static inline int seen(struct call *c, uint32_t rank, uint32_t last)
{
	const struct collective_slot *s = slot(c->area, c->n, rank);
	uint64_t round = first_round(c->n);
	while (load(&s->round) < round)
		if (c->spins)
			c->spins--;
		else if (!take_turns(c, rank, last))
			return 0;
	return s->what == c->what && s->past == own(c->area)->past;
}

static inline int all_seen(struct call *c)
{
	for (uint32_t i = 0; i < c->area->ranks; i++)
		if (i != c->area->me && !seen(c, i, c->area->ranks - 1))
			return 0;
	own(c->area)->known = c->n;
	return 1;
}

typedef void (*combiner)(const void *in, void *inout, size_t n);

/* Combines what the ranks have published, from the last to the first, as package shm does. */
static void combine(const struct call *c, const void *send, void *recv, size_t n, combiner f)
{
	const struct collective_area *a = c->area;
	for (uint32_t i = a->ranks; i-- > 0;) {
		const void *in = i == a->me ? send : place(a, c->n, i, n);
		if (i == a->ranks - 1)
			memcpy(recv, in, n);
		else
			f(in, recv, n);
	}
}

static inline struct collective_area *area_of(exanet_handle comm)
{
	struct collective_area *a = &exanet_shared.areas[exanet_spread((uint64_t)comm) % SHARED_AREAS];
	uint64_t id = load(&a->id);
	return id && id == (uint64_t)comm ? a : 0;
}

/* The bytes of count elements at buf; 0 if that is not known, or too much. */
static inline size_t bytes(const void *buf, int64_t count, exanet_handle type)
{
	enum { MOST = 1 << 24 };
	if (count <= 0 || count > MOST || (uintptr_t)buf < 4096 || (uintptr_t)buf == ~(uintptr_t)0)
		return 0;
	return count * (size_t)exanet_type_of(type)->size;
}

/* Whether two buffers have nothing in common, of which hosts may refuse some. */
static inline int apart(const void *a, size_t an, const void *b, size_t bn)
{
	return (uintptr_t)a + an <= (uintptr_t)b || (uintptr_t)b + bn <= (uintptr_t)a;
}

static inline int within(const struct collective_area *a, int root) { return root >= 0 && (uint32_t)root < a->ranks; }

int exanet_shared_Barrier(exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	struct call c;
	if (!a || !begin(&c, a, COLL_BARRIER, 0, 0))
		return 0;
	publish(&c, 0);
	return all_seen(&c) && end(&c);
}

int exanet_shared_Bcast(void *buf, int64_t count, exanet_handle type, int root, exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	struct call c;
	size_t n = bytes(buf, count, type);
	if (!a || !n || !within(a, root) || !begin(&c, a, COLL_BCAST, root, n))
		return 0;
	if (a->me == (uint32_t)root) {
		memcpy(place(a, c.n, root, n), buf, n);
		publish(&c, n);
		return end(&c);
	}
	publish(&c, 0);
	if (!seen(&c, root, root))
		return 0;
	memcpy(buf, place(a, c.n, root, n), n);
	return end(&c);
}

/* Calls that move blocks of one size, in which a rank gives all that others want of it. */
static int move(uint32_t op, const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, int root, exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	struct call c;
	if (!a || !within(a, root))
		return 0;
	uint32_t ranks = a->ranks, me = a->me;
	int is_root = me == (uint32_t)root, gather = op == COLL_GATHER, scatter = op == COLL_SCATTER;
	int sends = !scatter || is_root, takes = !gather || is_root; /* which of its buffers count */
	size_t n = sends ? bytes(out, outcount, outtype) : bytes(in, incount, intype);
	size_t given = scatter || op == COLL_ALLTOALL ? n * ranks : n, taken = scatter ? n : n * ranks;
	if (!n || (sends && takes && (bytes(in, incount, intype) != n || !apart(out, given, in, taken))))
		return 0;
	if (!begin(&c, a, op, root, n))
		return 0;
	int gives = scatter ? is_root : !gather || !is_root;
	size_t from = given > n ? me * n : 0; /* where its block is in a rank's data */
	size_t to = scatter ? 0 : n;          /* from one block that it takes to the next */
	if (gives)
		memcpy(place(a, c.n, me, given), out, given);
	publish(&c, gives ? given : 0);
	if (sends && takes)
		memcpy((char *)in + me * to, (const char *)out + from, n);
	if (scatter && !is_root) {
		if (!seen(&c, root, root))
			return 0;
		memcpy(in, place(a, c.n, root, given) + from, n);
	} else if (takes && !scatter) {
		if (!all_seen(&c))
			return 0;
		for (uint32_t i = 0; i < ranks; i++)
			if (i != me)
				memcpy((char *)in + i * to, place(a, c.n, i, given) + from, n);
	}
	return end(&c);
}

int exanet_shared_Gather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, int root, exanet_handle comm)
{
	return move(COLL_GATHER, out, outcount, outtype, in, incount, intype, root, comm);
}

int exanet_shared_Scatter(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, int root, exanet_handle comm)
{
	return move(COLL_SCATTER, out, outcount, outtype, in, incount, intype, root, comm);
}

int exanet_shared_Allgather(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, exanet_handle comm)
{
	return move(COLL_ALLGATHER, out, outcount, outtype, in, incount, intype, 0, comm);
}

int exanet_shared_Alltoall(const void *out, int64_t outcount, exanet_handle outtype, void *in, int64_t incount,
	exanet_handle intype, exanet_handle comm)
{
	return move(COLL_ALLTOALL, out, outcount, outtype, in, incount, intype, 0, comm);
}

static combiner combiner_of(exanet_handle operator, const struct shared_type *t);

static int reduce(uint32_t op, const void *out, void *in, int64_t count, exanet_handle type,
	exanet_handle operator, int root, exanet_handle comm)
{
	struct collective_area *a = area_of(comm);
	struct call c;
	combiner f;
	size_t n = bytes(out, count, type);
	if (!a || !n || !within(a, root))
		return 0;
	int all = op == COLL_ALLREDUCE, takes = all || a->me == (uint32_t)root;
	if (takes && (!bytes(in, count, type) || !apart(out, n, in, n)))
		return 0;
	if (!(f = combiner_of(operator, exanet_type_of(type))) || !begin(&c, a, op, root, n))
		return 0;
	if (all || !takes)
		memcpy(place(a, c.n, a->me, n), out, n);
	publish(&c, all || !takes ? n : 0);
	if (takes) {
		if (!all_seen(&c))
			return 0;
		combine(&c, out, in, n, f);
	}
	return end(&c);
}

int exanet_shared_Reduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op,
	int root, exanet_handle comm)
{
	return reduce(COLL_REDUCE, out, in, count, type, op, root, comm);
}

int exanet_shared_Allreduce(const void *out, void *in, int64_t count, exanet_handle type, exanet_handle op,
	exanet_handle comm)
{
	return reduce(COLL_ALLREDUCE, out, in, count, type, op, 0, comm);
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
