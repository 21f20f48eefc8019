/*
 * The steps of the express lane: a message of a lane that has been lent goes into the
 * ring of its peer, or comes out of one. They do what package ticket and package host
 * would do, on the same memory, or refuse and do nothing; the tests of package
 * express hold them against those. The caller has the gate.
 *
 * Memory order: the first word of a cell is stored with release order when the rest
 * is there, and loaded with acquire order. What gives cells back is stored with
 * release order after they have been read. Unless the table says so, no fence stands
 * between a message and the look at the bell's flags: who raises them makes up for it
 * (package host, wait.go).
 */
#include "express.h"
#include "../boardc/cache.h"

#include <string.h>

static inline struct express_cell *cell(const struct express_table *t, uint64_t ring, uint64_t i)
{
	return (struct express_cell *)(ring + t->cell + (i & (t->cells - 1)) * EXPRESS_CELL);
}

/* What the library's memcpy does as well, for 4 to 16 bytes without a call. */
static inline void copy(void *to, const void *from, uint32_t n)
{
	if (n - 8 <= 8) {
		uint64_t a, b;
		memcpy(&a, from, 8), memcpy(&b, (const char *)from + n - 8, 8);
		memcpy(to, &a, 8), memcpy((char *)to + n - 8, &b, 8);
	} else if (n - 4 <= 4) {
		uint32_t a, b;
		memcpy(&a, from, 4), memcpy(&b, (const char *)from + n - 4, 4);
		memcpy(to, &a, 4), memcpy((char *)to + n - 4, &b, 4);
	} else {
		memcpy(to, from, n);
	}
}

static inline uint64_t phase(const struct express_table *t, uint64_t i)
{
	return ((i >> t->shift) + 1) & 0xffff;
}

static inline unsigned char *bulk(const struct express_table *t, uint64_t ring, uint64_t at)
{
	return (unsigned char *)(ring + t->cell + (uint64_t)t->cells * EXPRESS_CELL + (at & (t->bulk - 1)));
}

static inline uint64_t bulk_size(uint32_t n) { return ((uint64_t)n + EXPRESS_LINE - 1) & ~(uint64_t)(EXPRESS_LINE - 1); }

/* Where the bulk space begins again behind what is taken up to tail. */
static inline uint64_t lap(const struct express_table *t, uint64_t tail) { return (tail + t->bulk - 1) & ~((uint64_t)t->bulk - 1); }

/* Whether it may do so sooner than at its end: not behind a window of many messages, the lines of whose
   beginning lie in the cache of who has read them. */
static inline int behind_front(const struct express_table *t, uint64_t tail)
{
	uint64_t at = tail & (t->bulk - 1);
	return at > EXPRESS_FRONT && at <= EXPRESS_WINDOW;
}

/* Notes how much bulk space the consumer has said to have consumed. */
static inline void credited(struct express_ring *r, uint64_t bulk)
{
	if (bulk > r->bulk_credit)
		r->bulk_credit = bulk;
}

/* Where so many bytes of bulk space begin when it is taken up to tail: they never wrap around its end. */
static inline uint64_t place(const struct express_table *t, uint64_t tail, uint64_t size, uint64_t end)
{
	return (tail & (t->bulk - 1)) + size > end ? lap(t, tail) : tail;
}

/* The front of the space is the stage, the rest, if there is any, the belt, which is for cold copies. */
static inline uint64_t stage(const struct express_table *t) { return t->bulk < ACROSS_STAGE ? t->bulk : ACROSS_STAGE; }

static inline uint64_t place_on_belt(const struct express_table *t, const struct express_ring *r, uint64_t size)
{
	uint64_t cold = r->cold + size > t->bulk - ACROSS_STAGE ? 0 : r->cold;
	uint64_t tail = r->bulk_tail, at = (tail & ~((uint64_t)t->bulk - 1)) + ACROSS_STAGE + cold;
	return at < tail ? at + t->bulk : at;
}

/* Whether what is taken up to there leaves so much. */
static inline int leaves(const struct express_table *t, struct express_ring *r, uint64_t next, uint64_t rest)
{
	if (next - r->bulk_credit + rest > t->bulk)
		credited(r, __atomic_load_n(&r->bulk_released, __ATOMIC_ACQUIRE));
	return next - r->bulk_credit + rest <= t->bulk;
}

/* The forms in which bulk may be written. */
static inline uint32_t forms_of(const struct express_table *t) { return t->bulk > ACROSS_STAGE ? ACROSS_ROOMY : ACROSS_COPIED; }

/* Takes bulk space for n bytes; 0 if there is none. What is skipped on the way to the stage, or to the belt, the consumer gives back with
   what follows: where it might not, for lack of room, the bytes go where the last ones end. */
static inline int take_bulk(const struct express_table *t, struct express_ring *r, uint32_t n, enum across_form form, uint64_t *at)
{
	uint64_t size = bulk_size(n);
	if (n <= EXPRESS_FRONT && form != ACROSS_COLD && r->bulk_credit == r->bulk_tail && behind_front(t, r->bulk_tail))
		r->bulk_credit = r->bulk_tail = lap(t, r->bulk_tail);
	*at = form == ACROSS_COLD ? place_on_belt(t, r, size) : place(t, r->bulk_tail, size, stage(t));
	if (*at != r->bulk_tail && stage(t) < t->bulk && !leaves(t, r, *at + size, EXPRESS_SLACK))
		*at = place(t, r->bulk_tail, size, t->bulk);
	else if (form == ACROSS_COLD)
		r->cold = (*at & (t->bulk - 1)) - ACROSS_STAGE + size;
	if (!leaves(t, r, *at + size, 0))
		return 0;
	r->bulk_tail = *at + size;
	return 1;
}

/* The next cell of the ring to a peer, 0 if there is none. */
static inline struct express_cell *vacant(const struct express_table *t, const struct express_port *p)
{
	struct express_ring *r = (struct express_ring *)p->out;
	if (r->tail - r->credit >= t->cells) {
		r->credit = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE);
		if (r->tail - r->credit >= t->cells)
			return 0;
	}
	return r->opened ? cell(t, p->out, r->tail) : 0;
}

/* After so many messages the producer makes its own what so many later ones will be written to. */
enum { OWNED = 8 };

/* Takes from the consumer the lines of the cells of later messages, as long as this one, which it read a lap ago:
   at once, as one that is taken when it is written keeps all stores behind it waiting. */
static void own_cells(const struct express_table *t, struct express_ring *r, uint32_t n)
{
	uint64_t end = r->tail + 2 * OWNED;
	if (end - r->credit > t->cells)
		r->credit = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE);
	if (end - r->credit > t->cells)
		return;
	uint32_t used = n <= EXPRESS_INLINE ? EXPRESS_HEADER + n : EXPRESS_LINE;
	for (uint64_t i = end - OWNED; i < end; i++) {
		struct express_cell *c = cell(t, (uintptr_t)r, i);
		own(&c->header[2]); /* not the first word, which tells whether there is a message */
		for (uint32_t at = EXPRESS_LINE; at < used; at += EXPRESS_LINE)
			own((char *)c + at);
	}
}

/* And the lines of their bulk, in a window of many. Of one that is answered it is known better where the next
   one goes (express_prepare). */
static void own_bulk(const struct express_table *t, struct express_ring *r, uint32_t n)
{
	uint64_t size = bulk_size(n), at = place(t, r->bulk_tail, size, stage(t)), end = at + OWNED * size;
	if (r->bulk_tail - r->bulk_credit > size && leaves(t, r, end, 0))
		for (; at < end; at += EXPRESS_LINE)
			own(bulk(t, (uintptr_t)r, at));
}

static __attribute__((noinline)) void own_later(const struct express_table *t, struct express_ring *r, uint32_t n)
{
	own_cells(t, r, n);
	if (n > EXPRESS_INLINE && n <= ACROSS_LEAST && r->recent == n) /* longer ones keep enough lines at once on their way by themselves */
		own_bulk(t, r, n);
}

/* Lets the peer see the message of n bytes in that cell, and reports whether its bell is up. */
static inline int publish(const struct express_table *t, const struct express_port *p, struct express_cell *c, uint64_t head, uint32_t n)
{
	struct express_ring *r = (struct express_ring *)p->out;
	uint64_t i = r->tail++;
	__atomic_store_n(&c->header[0], head | (uint64_t)n << 16 | phase(t, i), __ATOMIC_RELEASE);
	if (r->tail % OWNED == 0)
		own_later(t, r, n);
	if (t->fenced)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return (__atomic_load_n((uint32_t *)p->bell, __ATOMIC_RELAXED) & EXPRESS_BELLS) != 0;
}

static inline struct express_lane *find(struct express_lane *lanes, uint64_t comm, int32_t peer, int32_t tag, uint32_t lent)
{
	uint32_t at = (((uint32_t)comm ^ (uint32_t)(comm >> 32)) * 0x9e3779b1u + (uint32_t)peer * 0x85ebca6bu + (uint32_t)tag * 0xc2b2ae35u) >> 24;
	struct express_lane *l = &lanes[at];
	return l->lent == lent && l->comm == comm && l->peer == peer && l->tag == tag ? l : 0;
}

/* A lane on which the next message may go. */
struct express_lane *express_find(struct express_lane *lanes, uint64_t comm, int32_t peer, int32_t tag)
{
	return find(lanes, comm, peer, tag, EXPRESS_LENT);
}

/* A lane of which a send has gone on. */
struct express_lane *express_busy(struct express_lane *lanes, uint64_t comm, int32_t peer, int32_t tag)
{
	return find(lanes, comm, peer, tag, EXPRESS_BUSY);
}

enum express_result express_send(struct express_table *t, uint64_t comm, const void *buf, uint32_t n, int32_t dest, int32_t tag, int32_t *world)
{
	struct express_lane *l = express_find(t->out, comm, dest, tag);
	if (!l || n > t->limit)
		return EXPRESS_REFUSED;
	struct express_port *p = (struct express_port *)l->port;
	if (p->shut || p->unmatched + EXPRESS_HEADER + n > t->window)
		return EXPRESS_REFUSED;
	struct express_ring *r = (struct express_ring *)p->out;
	struct express_cell *c = vacant(t, p);
	if (!c)
		return EXPRESS_REFUSED;
	if (n <= EXPRESS_INLINE) {
		copy(c->payload, buf, n);
	} else {
		uint64_t at;
		struct across_way way = across_way(&r->gauge, n, forms_of(t));
		if (!take_bulk(t, r, n, way.form, &at))
			return EXPRESS_REFUSED;
		c->told = across_write(way, bulk(t, p->out, at), buf, n);
		c->bulk_at = at;
		r->recent = way.form == ACROSS_HOT ? n : way.form == ACROSS_COLD && across_prepares(&r->gauge, n) ? n | EXPRESS_ON_BELT : 0;
	}
	if (n <= EXPRESS_SHORT || n > EXPRESS_INLINE)
		c->done = r->done;
	c->header[1] = l->word;
	c->header[2] = (uint32_t)tag | (uint64_t)l->next << 32;
	l->next++;
	p->unmatched += EXPRESS_HEADER + n;
	*world = p->world;
	return publish(t, p, c, l->head, n) ? EXPRESS_RUNG : EXPRESS_SENT;
}

/* Makes what a message as long as the last one would be written to this rank's own, which
   waits, until a message from the peer is there; returns up to where. It will be at the front again if the
   peer has read all by then, as who answers has. What it may be reading still must not be taken from it. */
__attribute__((noinline, cold)) uint64_t express_prepare(const struct express_table *t, struct express_port *p)
{
	struct express_ring *r = (struct express_ring *)p->out;
	uint32_t n = r->recent & ~EXPRESS_ON_BELT;
	uint64_t tail = r->bulk_tail, size = bulk_size(n), most = r->bulk_credit + t->bulk, at;
	if (r->recent != n)
		at = place_on_belt(t, r, size);
	else
		at = n <= EXPRESS_FRONT && behind_front(t, tail) ? lap(t, tail) : place(t, tail, size, stage(t));
	uint64_t end = at + size < most ? at + size : most;
	r->recent = 0;
	for (; at < end && !express_here(t, p); at += EXPRESS_LINE)
		own(bulk(t, p->out, at));
	return at;
}

/* The next message from a peer, 0 if there is none. */
static inline struct express_cell *next(const struct express_table *t, const struct express_port *p, uint64_t *word)
{
	struct express_ring *r = (struct express_ring *)p->in;
	struct express_cell *c = cell(t, p->in, r->head);
	*word = __atomic_load_n(&c->header[0], __ATOMIC_ACQUIRE);
	return (*word & 0xffff) == phase(t, r->head) ? c : 0;
}

static inline int belongs(const struct express_lane *l, const struct express_cell *c, uint64_t word)
{
	return (word & ~(uint64_t)0xffffffff) == l->head && c->header[1] == l->word && c->header[2] == ((uint32_t)l->tag | (uint64_t)l->next << 32);
}

/* Gives back what has been consumed of a ring, if it is worth it. */
static inline enum express_result give_back(const struct express_table *t, struct express_ring *r)
{
	if (r->head - r->returned < t->cells / 8 && r->bulk_head - r->bulk_returned < stage(t) / 8)
		return EXPRESS_RECEIVED;
	r->returned = r->head;
	r->bulk_returned = r->bulk_head;
	__atomic_store_n(&r->bulk_released, r->bulk_head, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->released, r->head, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&r->starved, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&r->starved, 0, __ATOMIC_SEQ_CST))
		return EXPRESS_STARVED;
	return EXPRESS_RECEIVED;
}

/* Tells a peer how much of its messages has been consumed, for which there is a cell: the message
   of which package variants says more (outbox.go). */
static inline enum express_result grant(const struct express_table *t, struct express_port *p)
{
	struct express_cell *c = vacant(t, p);
	uint64_t consumed = p->consumed;
	memcpy(c->payload, &consumed, sizeof consumed);
	c->done = ((struct express_ring *)p->out)->done;
	c->header[1] = t->credit[1];
	c->header[2] = 0;
	p->consumed = 0;
	return publish(t, p, c, t->credit[0], sizeof consumed) ? EXPRESS_RUNG : EXPRESS_RECEIVED;
}

/* Takes such a message of a peer. */
enum express_result express_credit(struct express_table *t, struct express_port *p, int32_t *world)
{
	struct express_ring *r = (struct express_ring *)p->in;
	uint64_t word, consumed;
	const struct express_cell *c = next(t, p, &word);
	if (!c || (word & ~(uint64_t)0xffff) != (t->credit[0] | sizeof consumed << 16))
		return EXPRESS_REFUSED; /* not that, nor what a fabric has to tell another, which has no such size */
	memcpy(&consumed, c->payload, sizeof consumed);
	p->unmatched -= consumed;
	if (c->done > 0)
		credited((struct express_ring *)p->out, c->done);
	r->head++;
	*world = p->world;
	return give_back(t, r);
}

/* So many messages further the consumer of bulk fetches a cell. */
enum { AHEAD = 5 };

/* Takes a message that belongs to a lane out of the ring. */
static inline enum express_result take(struct express_table *t, struct express_lane *l, const struct express_cell *c, uint32_t n, void *buf, int32_t *world)
{
	struct express_port *p = (struct express_port *)l->port;
	struct express_ring *r = (struct express_ring *)p->in;
	int due = p->consumed + EXPRESS_HEADER + n >= t->window / 4;
	if (due && (p->shut || !vacant(t, p)))
		return EXPRESS_REFUSED;
	struct express_ring *back = (struct express_ring *)p->out;
	if (n <= EXPRESS_INLINE) {
		copy(buf, c->payload, n);
	} else {
		r->bulk_returned += c->bulk_at - r->bulk_head; /* what the producer has skipped */
		uint64_t told = n < ACROSS_LEAST ? 0 : c->told, begun = across_begins(told);
		memcpy(buf, bulk(t, p->in, c->bulk_at), n);
		across_ends(&r->gauge, told, begun, forms_of(t));
		back->done = r->bulk_done = r->bulk_head = c->bulk_at + bulk_size(n);
		__builtin_prefetch(cell(t, p->in, r->head + AHEAD)); /* in a window it has been written when this one is read; those of shorter messages would be taken from who writes them */
	}
	if ((n <= EXPRESS_SHORT || n > EXPRESS_INLINE) && c->done > 0)
		credited(back, c->done);
	p->consumed += EXPRESS_HEADER + n;
	l->next++;
	r->head++;
	*world = p->world;
	enum express_result taken = give_back(t, r);
	return due && taken == EXPRESS_RECEIVED ? grant(t, p) : taken;
}

/* One message of a lane without noted receives; refused if another is there. */
enum express_result express_receive(struct express_table *t, struct express_lane *l, void *buf, uint32_t room, uint32_t *size, int32_t *world)
{
	uint64_t word;
	const struct express_cell *c = next(t, (struct express_port *)l->port, &word);
	if (!c)
		return EXPRESS_REFUSED;
	*size = word >> 16 & 0xffff;
	if (*size > room || !belongs(l, c, word))
		return EXPRESS_REFUSED;
	return take(t, l, c, *size, buf, world);
}

/* Fills in a vacant slot and returns its number+1, 0 if there is none. */
static inline uint32_t occupy(struct express_table *t, const struct express_lane *l, const void *buf, uint32_t room, struct express_advert a, uint32_t state)
{
	uint32_t at = t->free;
	if (at)
		t->free = t->slots[at - 1].next;
	else if (t->fresh < EXPRESS_SLOTS)
		at = ++t->fresh;
	else
		return 0;
	struct express_slot *s = &t->slots[at - 1];
	s->buf = (uint64_t)(uintptr_t)buf;
	s->room = room;
	s->state = state;
	s->comm = l->comm;
	s->source = l->peer;
	s->tag = l->tag;
	s->lane = l - t->in;
	s->advert = a;
	return at;
}

/* Notes a receive and what has been advertised for it; returns its slot+1, 0 if none is vacant. */
uint32_t express_note(struct express_table *t, struct express_lane *l, void *buf, uint32_t room, struct express_advert a)
{
	uint32_t at = occupy(t, l, buf, room, a, EXPRESS_NOTED);
	if (!at)
		return 0;
	struct express_slot *s = &t->slots[at - 1];
	s->next = 0;
	s->prev = t->last;
	if (t->last)
		t->slots[t->last - 1].next = at;
	else
		t->first = at;
	t->last = at;
	l->noted++;
	return at;
}

void express_release(struct express_table *t, uint32_t slot)
{
	t->slots[slot].state = EXPRESS_UNUSED;
	t->slots[slot].next = t->free;
	t->free = slot + 1;
}

/* Makes a send one that has gone on, for which there is a slot, and returns that+1. Until it
   is over no other message goes on its lane. */
uint32_t express_go_on(struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, struct express_advert a)
{
	uint32_t at = occupy(t, l, buf, n, a, EXPRESS_SENDING);
	struct express_slot *s = &t->slots[at - 1];
	s->prev = 0;
	if ((s->next = t->sends))
		t->slots[s->next - 1].prev = at;
	t->sends = at;
	l->lent = EXPRESS_BUSY;
	l->noted = at;
	return at;
}

/* Ends such a send whose message has been passed. */
void express_sent(struct express_table *t, struct express_slot *s)
{
	struct express_lane *l = express_lane_of(t, s);
	if (s->prev)
		t->slots[s->prev - 1].next = s->next;
	else
		t->sends = s->next;
	if (s->next)
		t->slots[s->next - 1].prev = s->prev;
	l->lent = EXPRESS_LENT;
	l->noted = 0;
	s->state = EXPRESS_DONE;
}

/* The size of the next message of a lane, if it is there. */
enum express_result express_peek(const struct express_table *t, const struct express_lane *l, uint32_t *size)
{
	uint64_t word;
	const struct express_cell *c = next(t, (struct express_port *)l->port, &word);
	if (!c || !belongs(l, c, word))
		return EXPRESS_REFUSED;
	*size = word >> 16 & 0xffff;
	return EXPRESS_RECEIVED;
}

/* Whether what a receive with a wildcard takes may come on a lane. */
int express_admits(const struct express_lane *l, uint64_t comm, int32_t source, int32_t tag)
{
	return l->comm == comm && (source == EXPRESS_ANY || l->peer == source) && (tag == EXPRESS_ANY || l->tag == tag);
}

/* The lane of a message that a receive with a wildcard takes, and its size; 0 if there is none on the
   lanes, and then a peer, if there is one, of which something else has come. Of peers that have sent
   something each has its turn. */
struct express_lane *express_sift(struct express_table *t, uint64_t comm, int32_t source, int32_t tag, uint32_t *size, struct express_port **other)
{
	*other = 0;
	for (uint32_t i = 0, at = t->turn; i < t->ins; i++, at++) {
		if (at >= t->ins)
			at = 0;
		struct express_lane *l = &t->in[t->listed[at]];
		struct express_port *p = (struct express_port *)(uintptr_t)l->port;
		if (!express_admits(l, comm, source, tag) || !express_here(t, p))
			continue;
		if (!l->noted && express_peek(t, l, size) == EXPRESS_RECEIVED) {
			t->turn = at + 1;
			return l;
		}
		*other = p;
	}
	return 0;
}

/* How many noted receives are looked at to find one. */
enum { LOOK = 16 };

/* The oldest noted receive of a lane, 0 if it is far behind others. */
struct express_slot *express_oldest(struct express_table *t, uint32_t lane)
{
	uint32_t at = t->first;
	for (int i = 0; at && i < LOOK; i++, at = t->slots[at - 1].next)
		if (t->slots[at - 1].lane == lane)
			return &t->slots[at - 1];
	return 0;
}

/* Ends a noted receive whose message is there. */
void express_done(struct express_table *t, struct express_slot *s, uint32_t size)
{
	if (s->prev)
		t->slots[s->prev - 1].next = s->next;
	else
		t->first = s->next;
	if (s->next)
		t->slots[s->next - 1].prev = s->prev;
	else
		t->last = s->prev;
	t->in[s->lane].noted--;
	s->size = size;
	s->state = EXPRESS_DONE;
}

/* Completes a noted receive by the next message from a peer; refused if there is
   none, or if it is for another. */
enum express_result express_progress(struct express_table *t, struct express_port *p, int32_t *world)
{
	uint64_t word;
	const struct express_cell *c = next(t, p, &word);
	if (!c)
		return EXPRESS_REFUSED;
	uint32_t at = t->first;
	for (int i = 0; at && i < LOOK; i++, at = t->slots[at - 1].next) {
		struct express_slot *s = &t->slots[at - 1];
		struct express_lane *l = &t->in[s->lane];
		if (!belongs(l, c, word))
			continue;
		uint32_t size = word >> 16 & 0xffff;
		if (size > s->room || (s->advert.word && !express_withdraw(p, s->advert)))
			return EXPRESS_REFUSED;
		s->advert.word = 0;
		enum express_result r = take(t, l, c, size, (void *)(uintptr_t)s->buf, world);
		if (r != EXPRESS_REFUSED)
			express_done(t, s, size);
		return r;
	}
	return EXPRESS_REFUSED;
}
