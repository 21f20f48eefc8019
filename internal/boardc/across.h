/*
 * How data are written that another core is to read: package across says how that is chosen; these are its words and its
 * rules. What asks and counts are in shared memory, so that it does not matter who writes and reads, this or Go.
 */
#ifndef EXANET_ACROSS_H
#define EXANET_ACROSS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* Where the last one was, whose lines are in the caches; where none has been for long, whose lines are in those of no core any more; around
   the caches; or not at all: then the reader fetches it by attach. */
enum across_form { ACROSS_HOT, ACROSS_COLD, ACROSS_AROUND, ACROSS_LENT, ACROSS_FORMS };

/* Which forms there are for what is copied, where there is room for cold copies, and where it may be lent besides. */
#ifdef __x86_64__
enum { ACROSS_COPIED = 1 << ACROSS_HOT | 1 << ACROSS_AROUND };
#else
enum { ACROSS_COPIED = 1 << ACROSS_HOT };
#endif
enum { ACROSS_ROOMY = ACROSS_COPIED | 1 << ACROSS_COLD, ACROSS_OR_LENT = ACROSS_ROOMY | 1 << ACROSS_LENT };

enum { ACROSS_LEAST = 1024, ACROSS_SIZES = 11, ACROSS_LONG = 3, ACROSS_CLASSES = ACROSS_LONG + 1, ACROSS_FIRST = 8, ACROSS_TIMED = 64,
	ACROSS_TRIED = 512, ACROSS_SHORT = 2048, ACROSS_RARELY = 8, ACROSS_EARLY = 8192, ACROSS_SAMPLES = 2, ACROSS_ROW = 3, ACROSS_GIVEN_UP = 64, ACROSS_SELDOM = 32, ACROSS_NEVER = 4, ACROSS_LATER = 4 };

/* Beside what is asked for: long cold blocks take more than twice as long; or nobody knows, but around the caches they take less than half of what hot ones do. */
static const uint32_t ACROSS_HOPELESS = 1u << 31, ACROSS_UNTRIED = 1u << 30;

/* What a rank has for hot copies, and for cold ones: more than a core has of cache for itself, on the processors that we know. */
enum { ACROSS_STAGE = 512 << 10, ACROSS_BELT = 2 << 20 };

/* A gauge; the lines are the reader's, which the writer reads, the writer's, and the reader's. */
struct across {
	uint32_t asks;
	uint32_t spare1[15];
	uint16_t blocks[ACROSS_SIZES];
	uint16_t spare2[21];
	uint32_t cost[ACROSS_CLASSES][ACROSS_FORMS];
	uint8_t samples[ACROSS_CLASSES][ACROSS_FORMS];
	uint32_t ahead; /* who writes makes lines of its belt its own while it waits */
	uint32_t spare3[11];
};

/* What is told of a block that is timed: the ticks that it took to write it, its bytes, and the form; 0 of others. */
enum { ACROSS_FORM = 2, ACROSS_BYTES = 24, ACROSS_TICKS = ACROSS_FORM + ACROSS_BYTES };

static inline uint64_t across_told(uint32_t form, size_t n, uint64_t ticks)
{
	size_t most = (1 << ACROSS_BYTES) - 1;
	return ticks << ACROSS_TICKS | (n < most ? n : most) << ACROSS_FORM | form;
}

/* How a block is to be written, and whether that is to be timed. */
struct across_way {
	uint32_t form, timed;
};

static inline uint32_t across_at_most(uint32_t x, uint32_t most) { return x < most ? x : most; }
static inline uint32_t across_size(size_t n) { return across_at_most(63 - __builtin_clzll(n) - 10 /* that of ACROSS_LEAST */, ACROSS_SIZES - 1); }
static inline uint32_t across_class(size_t n) { return across_at_most(across_size(n), ACROSS_LONG); }

/* The step-th form behind one, round, of those that there are. */
static inline uint32_t across_behind(uint32_t form, uint32_t step, uint32_t forms)
{
	while (step)
		if (forms >> (form = (form + 1) % ACROSS_FORMS) & 1)
			step--;
	return form;
}

/* What is asked for the class that is nearest to one; else hot. */
static inline uint32_t across_nearest(uint32_t all, uint32_t class)
{
	for (uint32_t d = 1; d < ACROSS_CLASSES; d++) {
		if (d <= class && (all >> 3 * (class - d) & 7))
			return all >> 3 * (class - d) & 7;
		if (class + d < ACROSS_CLASSES && (all >> 3 * (class + d) & 7))
			return all >> 3 * (class + d) & 7;
	}
	return 1 + ACROSS_HOT;
}

/* How many blocks of n bytes have to be cold in a row until they show what that is worth, 0: any does. */
static inline uint32_t across_burst(size_t n, uint32_t forms)
{
	return n >= ACROSS_LEAST << ACROSS_LONG && (forms >> ACROSS_COLD & 1) ? ACROSS_BELT / n + ACROSS_ROW : 0;
}

/* How many long blocks take these forms, all but cold, before that is tried: as many as they need to be known. */
static inline uint32_t across_lead(uint32_t forms) { return ACROSS_FIRST + ACROSS_SAMPLES * ACROSS_ROW * __builtin_popcount(forms); }

static inline struct across_way across_way(struct across *g, size_t n, uint32_t forms)
{
	if (n < ACROSS_LEAST || forms == 1 << ACROSS_HOT)
		return (struct across_way){ACROSS_HOT, 0};
	uint32_t class = across_class(n), all = __atomic_load_n(&g->asks, __ATOMIC_RELAXED), asked = all >> 3 * class & 7, count = g->blocks[across_size(n)]++;
	uint32_t form = (asked ? asked : across_nearest(all, class)) - 1, burst = across_burst(n, forms), at;
	if (!(forms >> form & 1))
		form = ACROSS_HOT; /* that is no word of a reader's */
	if (burst) {
		forms &= ~(1u << ACROSS_COLD);
		uint32_t lead = across_lead(forms), hopeless = (all & ACROSS_HOPELESS) != 0;
		if (!asked)
			at = count - lead;
		else if (all & ACROSS_UNTRIED)
			at = count - ACROSS_LATER * burst;
		else
			at = count % (burst * ACROSS_SELDOM * (hopeless ? ACROSS_NEVER : 1));
		if (at < burst && (!asked || (form != ACROSS_COLD && !(hopeless && count < burst))))
			return (struct across_way){ACROSS_COLD, at + ACROSS_SAMPLES >= burst};
		if (!asked && count >= lead + burst)
			count -= burst;
	}
	if (!asked && count < ACROSS_GIVEN_UP) {
		uint32_t i = count - ACROSS_FIRST;
		if (count < ACROSS_FIRST)
			return (struct across_way){form, 0};
		return (struct across_way){across_behind(ACROSS_HOT, i / ACROSS_ROW % __builtin_popcount(forms), forms), i % ACROSS_ROW == ACROSS_ROW - 1};
	}
	uint32_t others = forms & ~(1u << form), rarely = n < ACROSS_SHORT && count >= ACROSS_EARLY ? ACROSS_RARELY : 1, tried = ACROSS_TRIED * rarely, timed = ACROSS_TIMED * rarely;
	at = count % tried;
	if (at >= tried - ACROSS_ROW && others)
		return (struct across_way){across_behind(form, 1 + count / tried % __builtin_popcount(others), others), at == tried - 1};
	return (struct across_way){form, count % timed == timed - 1};
}

/* Whether the next block of n bytes is cold as those before, and not timed: then it may be written to lines that the writer has made its own while it
   waited. What is timed must not, since that time is not in it: where cores share no cache it is much. */
static inline int across_prepares(const struct across *g, size_t n)
{
	return (__atomic_load_n(&g->asks, __ATOMIC_RELAXED) >> 3 * across_class(n) & 7) == 1 + ACROSS_COLD && g->blocks[across_size(n)] % ACROSS_TIMED != ACROSS_TIMED - 1;
}

/* What a block of a form that is not timed takes. */
static inline uint32_t across_expected(const struct across *g, uint32_t class, uint32_t form)
{
	uint32_t cost = g->cost[class][form];
	return form == ACROSS_COLD && g->ahead ? cost / 4 * 3 : cost;
}

/* The reader has read a block in so many ticks, of which it has been told. */
static __attribute__((noinline, cold, unused)) void across_note(struct across *g, uint64_t told, uint64_t ticks, uint32_t forms)
{
	uint32_t n = told >> ACROSS_FORM & ((1 << ACROSS_BYTES) - 1), class, form = told & 3;
	if (n < ACROSS_LEAST || !(forms >> form & 1))
		return; /* that is no word of a writer's */
	class = across_class(n);
	uint64_t sample = (((told >> ACROSS_TICKS) + ticks) << 14) / n;
	uint32_t *cost = g->cost[class];
	uint8_t *samples = g->samples[class];
	if (samples[form] < ACROSS_SAMPLES) {
		if (sample > UINT32_MAX / 8)
			sample = UINT32_MAX / 8;
		if (!samples[form]++ || sample < cost[form])
			cost[form] = sample;
	} else if (sample < cost[form]) { /* it can be so fast, what took longer may have been interrupted */
		cost[form] -= (cost[form] - sample) / 2;
	} else {
		if (sample > 2ull * cost[form])
			sample = 2ull * cost[form];
		cost[form] += (sample - cost[form]) / 8;
	}
	uint32_t asked = g->asks >> 3 * class & 7, best = 0;
	int unknown = class == ACROSS_LONG && (forms >> ACROSS_COLD & 1) && samples[ACROSS_COLD] < ACROSS_SAMPLES;
	int far = unknown && samples[ACROSS_AROUND] == ACROSS_SAMPLES && samples[ACROSS_HOT] == ACROSS_SAMPLES && cost[ACROSS_AROUND] < cost[ACROSS_HOT] / 2;
	for (uint32_t i = 0; i < ACROSS_FORMS; i++) {
		if (!(forms >> i & 1))
			continue;
		if (samples[i] < ACROSS_SAMPLES) {
			if (unknown && i == ACROSS_COLD && (far || asked))
				continue;
			return;
		}
		if (!best || across_expected(g, class, i) < across_expected(g, class, best - 1))
			best = i + 1;
	}
	if (asked && (forms >> (asked - 1) & 1) && across_expected(g, class, best - 1) > across_expected(g, class, asked - 1) / 8 * 7)
		best = asked;
	uint32_t word = (g->asks & ~(7u << 3 * class)) | best << 3 * class;
	if (class == ACROSS_LONG) {
		word &= ~(ACROSS_HOPELESS | ACROSS_UNTRIED);
		if (unknown)
			word |= ACROSS_UNTRIED;
		else if ((forms >> ACROSS_COLD & 1) && cost[ACROSS_COLD] / 2 > cost[best - 1])
			word |= ACROSS_HOPELESS;
	}
	if (word != g->asks)
		__atomic_store_n(&g->asks, word, __ATOMIC_RELAXED);
}

/* A clock of the processor's, when all before has been done but for stores. */
static inline uint64_t across_ticks(void)
{
#ifdef __x86_64__
	_mm_lfence();
	uint64_t t = __builtin_ia32_rdtsc();
	_mm_lfence();
	return t;
#else
	uint64_t t;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t) : : "memory");
	return t;
#endif
}

/* Writes n bytes around the caches; they are where others see them before what is stored next. */
static inline void across_around(void *to, const void *from, size_t n)
{
#ifdef __x86_64__
	char *a = to;
	const char *b = from;
	size_t head = -(uintptr_t)a & 15;
	if (n < 128 + head) {
		memcpy(to, from, n);
		return;
	}
	memcpy(a, b, head);
	for (a += head, b += head, n -= head; n >= 64; a += 64, b += 64, n -= 64) {
		__m128i w = _mm_loadu_si128((const __m128i *)b), x = _mm_loadu_si128((const __m128i *)b + 1), y = _mm_loadu_si128((const __m128i *)b + 2), z = _mm_loadu_si128((const __m128i *)b + 3);
		_mm_stream_si128((__m128i *)a, w);
		_mm_stream_si128((__m128i *)a + 1, x);
		_mm_stream_si128((__m128i *)a + 2, y);
		_mm_stream_si128((__m128i *)a + 3, z);
	}
	memcpy(a, b, n);
	_mm_sfence();
#else
	memcpy(to, from, n);
#endif
}

static inline void across_copy(uint32_t form, void *to, const void *from, size_t n)
{
	if (form == ACROSS_AROUND)
		across_around(to, from, n);
	else
		memcpy(to, from, n);
}

/* Writes n bytes as the reader asks, and returns what it is to be told of that. */
static inline uint64_t across_write(struct across_way w, void *to, const void *from, size_t n)
{
	if (!w.timed) {
		across_copy(w.form, to, from, n);
		return 0;
	}
	uint64_t begun = across_ticks();
	across_copy(w.form, to, from, n);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* which what is stored takes part of the time at */
	return across_told(w.form, n, across_ticks() - begun);
}

/* What stands before and behind the reading of a block of which the reader has been told so. */
static inline uint64_t across_begins(uint64_t told) { return __builtin_expect(told != 0, 0) ? across_ticks() : 0; }
static inline void across_ends(struct across *g, uint64_t told, uint64_t begun, uint32_t forms)
{
	if (__builtin_expect(told != 0, 0))
		across_note(g, told, across_ticks() - begun, forms);
}

#endif
