/* What every call on the express lane may do that has its gate or has had it. */
#ifndef EXANET_GATE_H
#define EXANET_GATE_H

#include "bell.h"
#include "cache.h"
#include "doze.h"
#include "lane.h"
#include "shared.h"

/* The status of a message; that of a send, and of no request, is empty. */
static inline void status_is(MPI_Status *s, int source, int tag, uint32_t size)
{
	s->MPI_SOURCE = source;
	s->MPI_TAG = tag;
#ifdef OPEN_MPI
	s->_ucount = size;
	s->_cancelled = 0;
#else
	s->count_lo = size;
	s->count_hi_and_cancelled = 0;
#endif
}

/* The bytes of count elements that lie in one piece; -1 if that is not known, or if
   they are more than most. For none there need be no buffer. */
static inline int64_t bytes(const void *buf, int64_t count, exanet_handle type, uint32_t most)
{
	uint32_t size = exanet_type_of(type)->size;
	if (!size || count < 0 || count > most || ((uintptr_t)buf < 4096 && count > 0))
		return -1;
	int64_t n = count * size;
	return n <= most ? n : -1;
}

/* Tells a peer what a step has left to be told, when the gate is open again. */
static inline void tell(const struct express_table *t, enum express_result r, int32_t world)
{
	if (r == EXPRESS_RUNG)
		bell_ring((struct doorbell *)(uintptr_t)(t->berths + (uint64_t)world * t->step));
	else if (r == EXPRESS_STARVED)
		exanet_refill(world);
}

/* How long a call may look for messages here. */
static inline uint32_t patience(const struct express_table *t)
{
	return t->armed || (t->outside && __atomic_load_n((int64_t *)(uintptr_t)t->outside, __ATOMIC_RELAXED)) ? 0 : t->spins;
}

/* Whether a message is there that the protocol may wait for, when what tells of room for ours has
   been taken. */
static inline int arrived(struct express_table *t, struct express_port *p)
{
	enum express_result r;
	int32_t world;
	while (express_here(t, p)) {
		if ((r = express_credit(t, p, &world)) == EXPRESS_REFUSED)
			return 1;
		tell(t, r, world);
	}
	return 0;
}

/* Makes this rank's own meanwhile what the next message to a peer would be written to. */
static inline void prepare(const struct express_table *t, struct express_port *p)
{
	if (express_unprepared(p))
		express_prepare(t, p);
}

/* Another look for a message, of which so many are left. On x86-64 it is sooner seen with a pause
   between the looks if it is in one line; not, on Intel's, if the other lines would follow while nobody looks. */
static inline uint32_t again(uint32_t left, uint32_t room)
{
#ifdef __x86_64__
	enum { PAUSE = 6 /* looks that one counts for; it takes the time of some 20, so that short messages are looked for longest */ };
	if ((room <= EXPRESS_LINE - EXPRESS_HEADER || pauses_always()) && left > PAUSE) {
		__builtin_ia32_pause();
		return left - PAUSE;
	}
#else
	(void)room;
#endif
	return left - 1;
}

static const struct exanet_awaited nothing = {0, 0, 0, {0, 0}};

/* What tells of the next message from a peer, if it is not there yet. */
static inline struct exanet_awaited awaited(const struct express_table *t, struct express_port *p)
{
	const struct express_ring *r = (const struct express_ring *)(uintptr_t)p->in;
	if (express_here(t, p))
		return nothing;
	return (struct exanet_awaited){(const uint64_t *)(uintptr_t)(p->in + t->cell + (r->head & (t->cells - 1)) * EXPRESS_CELL), (r->head >> t->shift) + 1, p, {0, 0}};
}

#endif
