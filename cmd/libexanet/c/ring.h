/* A ring, see package emu/host: ring.go says how it works, and takes the same steps on the same memory.
   The first word of a cell is stored with release order when the rest is there, and loaded with acquire order;
   what gives cells back is stored when they have been read. */
#ifndef EXANET_RING_H
#define EXANET_RING_H

#include "layout.h"

static inline struct ring_cell *ring_cell(const struct geometry *g, struct ring *r, uint64_t i)
{
	return (struct ring_cell *)((char *)r + RING_HEAD_SIZE) + (i & (g->cells - 1));
}

static inline char *ring_bulk(const struct geometry *g, struct ring *r, uint64_t at)
{
	return (char *)ring_cell(g, r, 0) + (uint64_t)g->cells * RING_CELL_SIZE + (at & (g->bulk - 1));
}

/* What the low 16 bits of a cell's first word hold while it carries message i. */
static inline uint16_t ring_phase(const struct geometry *g, uint64_t i) { return (i >> g->shift) + 1; }

static inline uint64_t bulk_size(uint32_t n)
{
	return ((uint64_t)n + RING_BULK_ALIGN - 1) & ~(uint64_t)(RING_BULK_ALIGN - 1);
}

/* Where so much bulk space begins that is taken behind tail: no payload wraps around the end. */
static inline uint64_t bulk_place(const struct geometry *g, uint64_t tail, uint64_t size)
{
	uint64_t bulk = g->bulk;
	return (tail & (bulk - 1)) + size > bulk ? (tail + bulk - 1) & ~(bulk - 1) : tail;
}

/* The next cell to write, 0 if all are taken. */
static inline struct ring_cell *ring_room(const struct geometry *g, struct ring *r)
{
	if (r->tail - r->credit >= g->cells) {
		r->credit = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE);
		if (r->tail - r->credit >= g->cells)
			return 0;
	}
	return ring_cell(g, r, r->tail);
}

/* Where n bytes go with the next cell, 0 if there is no room for them. */
static inline char *ring_take(const struct geometry *g, struct ring *r, struct ring_cell *c, uint32_t n)
{
	if (n <= RING_CELL_INLINE)
		return (char *)c->payload;
	uint64_t size = bulk_size(n), at = bulk_place(g, r->bulk_tail, size);
	if (at + size - r->bulk_credit > g->bulk) {
		r->bulk_credit = __atomic_load_n(&r->bulk_released, __ATOMIC_ACQUIRE);
		if (at + size - r->bulk_credit > g->bulk)
			return 0;
	}
	r->bulk_tail = at + size;
	r->recent = size;
	return ring_bulk(g, r, at);
}

/* Takes the lines that a message as long as the last one will be written to from the core that has read them: for
   all at once that takes as long as for one, and the rank waits for an answer meanwhile. A hint has no effect on
   them. */
static inline void ring_prefetch(const struct geometry *g, struct ring *r)
{
	uint64_t size = r->recent, at = bulk_place(g, r->bulk_tail, size);
	r->recent = 0;
	if (at + size - r->bulk_credit <= g->bulk)
		for (uint64_t i = 0; i < size; i += RING_BULK_ALIGN)
			__atomic_store_n((uint64_t *)(ring_bulk(g, r, at) + i), 0, __ATOMIC_RELAXED);
}

/* Makes the cell visible to the consumer: a message of n bytes. */
static inline void ring_publish(const struct geometry *g, struct ring *r, struct ring_cell *c, uint64_t word0,
	uint32_t n)
{
	__atomic_store_n(&c->header[0], word0 | (uint64_t)n << 16 | ring_phase(g, r->tail), __ATOMIC_RELEASE);
	r->tail++;
}

/* The next message, and its first word; 0 if there is none. */
static inline const struct ring_cell *ring_peek(const struct geometry *g, struct ring *r, uint64_t *word)
{
	const struct ring_cell *c = ring_cell(g, r, r->head);
	*word = __atomic_load_n(&c->header[0], __ATOMIC_ACQUIRE);
	return (uint16_t)*word == ring_phase(g, r->head) ? c : 0;
}

static inline uint32_t message_size(uint64_t word) { return word >> 16 & 0xffff; }

/* The payload of that message. */
static inline const char *ring_payload(const struct geometry *g, struct ring *r, const struct ring_cell *c, uint32_t n)
{
	if (n <= RING_CELL_INLINE)
		return (const char *)c->payload;
	uint64_t size = bulk_size(n), at = bulk_place(g, r->bulk_head, size);
	r->bulk_head = at + size;
	return ring_bulk(g, r, at);
}

/* Consumes it, and reports whether the producer, having run out, must be told. */
static inline int ring_advance(const struct geometry *g, struct ring *r)
{
	r->head++;
	if (r->head - r->returned < g->cells / 8 && r->bulk_head - r->bulk_returned < g->bulk / 8)
		return 0;
	r->returned = r->head;
	r->bulk_returned = r->bulk_head;
	__atomic_store_n(&r->bulk_released, r->bulk_head, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->released, r->head, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&r->starved, __ATOMIC_SEQ_CST) && __atomic_exchange_n(&r->starved, 0, __ATOMIC_SEQ_CST);
}

#endif
