/*
 * The steps of the fast path: a message of a channel that is leased goes into the ring of the peer, or comes out of
 * one. They do what packages ticket and emu/host would do, on the same memory, or refuse and do nothing; tests hold
 * them against those. A message goes out without a fence, unless the table says so, before the look at the
 * doorbell's flags: who raises a flag makes up for it (package host, wait.go).
 */
#include "channel.h"
#include "doorbell.h"

#include <string.h>

enum { HEADER = sizeof ((struct ring_cell *)0)->header };

static inline struct doorbell *doorbell_of(const struct fast_table *t, const struct fast_port *p)
{
	return (struct doorbell *)(uintptr_t)(t->doorbells + (uint64_t)p->account.world * t->step);
}

/* The next cell of the ring to a peer, 0 if there is none. */
static inline struct ring_cell *vacant(const struct fast_table *t, const struct fast_port *p)
{
	struct ring *r = ring_at(p->out);
	return r->opened ? ring_room(&t->rings, r) : 0;
}

static inline void publish(const struct fast_table *t, const struct fast_port *p, struct ring_cell *c,
	uint64_t word0, uint32_t n)
{
	ring_publish(&t->rings, ring_at(p->out), c, word0, n);
	if (t->fenced)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	doorbell_ring(doorbell_of(t, p));
}

int fast_send(struct fast_table *t, uint64_t comm, const void *buf, uint32_t n, int32_t dest, int32_t tag)
{
	struct fast_channel *ch = channel_find(t->out, comm, dest, tag);
	if (!ch || n > t->limit)
		return 0;
	struct fast_port *p = port_of(ch);
	if (p->account.shut || p->account.unmatched + HEADER + n > t->window)
		return 0;
	struct ring_cell *c = vacant(t, p);
	char *to = c ? ring_take(&t->rings, ring_at(p->out), c, n) : 0;
	if (!to)
		return 0;
	memcpy(to, buf, n);
	c->header[1] = ch->header[1];
	c->header[2] = ch->header[2];
	ch->header[2] += FAST_NEXT_MESSAGE;
	p->account.unmatched += HEADER + n;
	t->counts.sends++;
	t->counts.sent += n;
	publish(t, p, c, ch->header[0], n);
	return 1;
}

/* Consumes a message of a peer's. */
static inline void consume(const struct fast_table *t, const struct fast_port *p)
{
	if (__builtin_expect(ring_advance(&t->rings, ring_at(p->in)), 0))
		doorbell_nudge(doorbell_of(t, p));
}

int fast_arrived(struct fast_table *t, struct fast_port *p)
{
	uint64_t word, consumed;
	const struct ring_cell *c;
	while ((c = ring_peek(&t->rings, ring_at(p->in), &word))) {
		/* A fabric's records have another size. */
		if (word >> 32 != t->credit[0] >> 32 || message_size(word) != sizeof consumed)
			return 1;
		memcpy(&consumed, c->payload, sizeof consumed);
		p->account.unmatched -= consumed;
		consume(t, p);
	}
	return 0;
}

/* Tells a peer how much of its messages has been consumed (package variants, outbox.go). */
static inline void give_credit(const struct fast_table *t, struct fast_port *p, struct ring_cell *c)
{
	uint64_t consumed = p->account.consumed;
	memcpy(c->payload, &consumed, sizeof consumed);
	c->header[1] = t->credit[1];
	c->header[2] = 0;
	p->account.consumed = 0;
	publish(t, p, c, t->credit[0], sizeof consumed);
}

static inline int belongs(const struct fast_channel *ch, const struct ring_cell *c, uint64_t word)
{
	return word >> 32 == ch->header[0] >> 32 && c->header[1] == ch->header[1] && c->header[2] == ch->header[2];
}

/* Takes a message that belongs to a channel out of the ring; 0 if the peer is to be given credit, which cannot be
   now. */
static inline int take(struct fast_table *t, struct fast_channel *ch, const struct ring_cell *c, uint32_t n, void *buf)
{
	struct fast_port *p = port_of(ch);
	struct ring_cell *credit = 0;
	if (p->account.consumed + HEADER + n >= t->window / 4 && (p->account.shut || !(credit = vacant(t, p))))
		return 0;
	memcpy(buf, ring_payload(&t->rings, ring_at(p->in), c, n), n);
	p->account.consumed += HEADER + n;
	ch->header[2] += FAST_NEXT_MESSAGE;
	t->counts.receives++;
	t->counts.received += n;
	consume(t, p);
	if (credit)
		give_credit(t, p, credit);
	return 1;
}

int fast_receive(struct fast_table *t, struct fast_channel *ch, void *buf, uint32_t room, uint32_t *size)
{
	uint64_t word;
	const struct ring_cell *c = ring_peek(&t->rings, ring_at(port_of(ch)->in), &word);
	if (!c)
		return 0;
	*size = message_size(word);
	return *size <= room && belongs(ch, c, word) && take(t, ch, c, *size, buf);
}

uint32_t fast_post(struct fast_table *t, struct fast_channel *ch, void *buf, uint32_t room)
{
	uint32_t at = t->free;
	if (at)
		t->free = t->slots[at - 1].next;
	else if (t->fresh < FAST_SLOTS)
		at = ++t->fresh;
	else
		return 0;
	t->slots[at - 1] = (struct fast_slot){
		.buf = (uintptr_t)buf, .room = room, .state = SLOT_PENDING, .place = ch - t->in, .prev = t->last,
		.comm = ch->comm, .source = ch->peer, .tag = ch->tag,
	};
	if (t->last)
		t->slots[t->last - 1].next = at;
	else
		t->first = at;
	t->last = at;
	ch->pending++;
	return at;
}

/* Ends a pending receive whose message is there. */
static inline void done(struct fast_table *t, struct fast_slot *s, uint32_t size)
{
	if (s->prev)
		t->slots[s->prev - 1].next = s->next;
	else
		t->first = s->next;
	if (s->next)
		t->slots[s->next - 1].prev = s->prev;
	else
		t->last = s->prev;
	t->in[s->place].pending--;
	s->size = size;
	s->state = SLOT_DONE;
}

int fast_complete(struct fast_table *t, struct fast_port *p)
{
	enum { LOOK = 16 /* at so many receives; the message of one that is far behind is left to Go */ };
	uint64_t word;
	const struct ring_cell *c = ring_peek(&t->rings, ring_at(p->in), &word);
	uint32_t at = c ? t->first : 0;
	for (int i = 0; at && i < LOOK; i++, at = t->slots[at - 1].next) {
		struct fast_slot *s = &t->slots[at - 1];
		struct fast_channel *ch = &t->in[s->place];
		if (!belongs(ch, c, word))
			continue;
		uint32_t size = message_size(word);
		if (size > s->room || !take(t, ch, c, size, (void *)(uintptr_t)s->buf))
			return 0;
		done(t, s, size);
		return 1;
	}
	return 0;
}

void fast_release(struct fast_table *t, struct fast_slot *s)
{
	s->state = SLOT_UNUSED;
	s->next = t->free;
	t->free = s - t->slots + 1;
}
