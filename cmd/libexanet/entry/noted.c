/*
 * Receives that are noted on the express lane, and calls that wait for them, or test whether
 * they are there. What belongs into Go goes on there: its receives are posted then.
 *
 * The handle of a receive, or of a send that has gone on, is a number from EXPRESS_BASE on,
 * its slot; EXPRESS_SENT_ALL is that of every other send, which has completed when the
 * call returns.
 */
#include "noted.h"
#include "gate.h"
#include "rendezvous.h"

exanet_handle exanet_no_request;

/* The number of what has been started of a persistent request, 0 if nothing. */
static inline uint32_t started(const struct express_table *t, uint32_t n) { return n < EXPRESS_KEPTS ? t->kept[n].away : 0; }

/* Asks for a ring of the bell when a long message is announced from now on, which the protocol
   has to learn of while this rank computes; 0 if one may have been already. */
static int attend(struct express_table *t, const struct express_port *p)
{
	struct doorbell *own = (struct doorbell *)(uintptr_t)t->own;
	if (express_here(t, p))
		return 0;
	if (__atomic_load_n(&own->flags, __ATOMIC_RELAXED) & BELL_ANNOUNCED)
		return 1;
	__atomic_or_fetch(&own->flags, BELL_ANNOUNCED, __ATOMIC_SEQ_CST);
	return !express_here(t, p);
}

/* Takes that back when a receive of so many bytes was the last one noted: a ring would disturb who
   computes, or have Go look at what a call sees anyway. */
static inline void unattend(struct express_table *t, uint32_t room)
{
	if (room > t->limit && !t->first)
		__atomic_and_fetch(&((struct doorbell *)(uintptr_t)t->own)->flags, ~(uint32_t)BELL_ANNOUNCED, __ATOMIC_RELAXED);
}

/* Whether noted receives of so many bytes have had rendezvous. */
static inline int32_t *trust(const struct express_table *t, struct express_port *p, uint32_t room)
{
	return room > t->limit ? &p->shy : &p->idle;
}

/* Notes a receive, which is advertised if its message may be long; 0 if it has to be posted. */
uint32_t exanet_note(struct express_table *t, struct express_lane *l, void *buf, uint32_t room)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	struct express_advert a = {0, 0};
	if (!express_vacant(t) || (room > t->limit && !attend(t, p)))
		return 0;
	if (room >= t->direct && exanet_worth(trust(t, p, room)))
		a = express_advertise(l, buf, room, 0, 0, exanet_recent());
	if (room > t->limit && !a.word)
		return 0; /* from Go the peer learns of this receive */
	return express_note(t, l, buf, room, a);
}

__attribute__((flatten)) int exanet_lane_irecv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Request *request)
{
	int64_t room = bytes(buf, count, type, t->most);
	if (room < 0 || !express_enter(t))
		return 0;
	struct express_lane *l = express_find(t->in, comm, source, tag);
	uint32_t at = l ? exanet_note(t, l, buf, room) : 0;
	express_leave(t);
	if (at)
		*(exanet_handle *)request = exanet_handle_of(EXPRESS_BASE + at - 1, EXANET_REQUEST);
	return at != 0;
}

static inline int known(const struct express_table *t, uint32_t n)
{
	return n == EXPRESS_SENT_ALL || (n >= EXPRESS_BASE && n < EXPRESS_BASE + t->fresh);
}

int exanet_known(const struct express_table *t, exanet_handle h)
{
	uint32_t n = exanet_number_of(h, EXANET_REQUEST);
	return h == exanet_no_request || known(t, n) || known(t, started(t, n));
}

static inline struct express_slot *slot(struct express_table *t, uint32_t n)
{
	return n >= EXPRESS_BASE && n < EXPRESS_SENT_ALL ? &t->slots[n - EXPRESS_BASE] : 0;
}

struct express_slot *exanet_slot(struct express_table *t, exanet_handle h)
{
	uint32_t n = exanet_number_of(h, EXANET_REQUEST);
	return slot(t, __builtin_expect(n >= EXPRESS_BASE, 1) ? n : started(t, n));
}

static inline struct express_port *port_of(struct express_table *t, const struct express_slot *s)
{
	return (struct express_port *)(uintptr_t)express_lane_of(t, s)->port;
}

enum exanet_move exanet_move(struct express_table *t, struct express_slot *s, uint32_t left)
{
	static struct express_slot unknown;
	struct express_port *p = port_of(t, s);
	int32_t world;
	if (s == &t->slots[t->first - 1] && s->room < t->direct && express_here(t, p)) {
		/* The way of windows of short messages. */
		enum express_result r = express_progress(t, p, &world);
		if (r != EXPRESS_REFUSED) {
			tell(t, r, world);
			return EXANET_MOVED;
		}
	}
	struct express_slot *o = express_oldest(t, s->lane);
	if (!o)
		o = &unknown;
	if (left)
		prepare(t, p);
	while (left && !arrived(t, p) && !(o->advert.word && express_met(o->advert)))
		left = again(left, o->room);
	if (o->advert.word && express_met(o->advert)) {
		uint32_t size;
		exanet_tried(trust(t, p, o->room), 1, 0);
		switch (exanet_meet_send(&t->in[s->lane], o->advert, 0, &size)) {
		case EXPRESS_COMPLETE:
			express_done(t, o, size);
			unattend(t, o->room);
			return EXANET_MOVED;
		case EXPRESS_OVER:
			o->advert.word = 0;
			return EXANET_IN_GO;
		default:
			return EXANET_IN_GO;
		}
	}
	if (!arrived(t, p))
		return EXANET_NOTHING;
	int advertised = o->advert.word != 0;
	enum express_result r = express_progress(t, p, &world);
	if (r == EXPRESS_REFUSED)
		return EXANET_IN_GO;
	if (advertised && o->state == EXPRESS_DONE && o->room <= t->limit)
		exanet_tried(&p->idle, 0, EXANET_REST_OF_RECEIVES);
	if (o->state == EXPRESS_DONE)
		unattend(t, o->room);
	tell(t, r, world);
	return EXANET_MOVED;
}

__attribute__((noinline)) void exanet_take_in_turn(struct express_table *t)
{
	struct express_slot *s = &t->slots[t->first - 1];
	if (express_here(t, port_of(t, s)) && !(s->advert.word && express_met(s->advert))) /* else it would wait for a copy */
		exanet_move(t, s, 0);
}

/* Looks for the messages of a noted receive, and of others from the same peer,
   until it is there; or carries a send on. */
static int await(struct express_table *t, struct express_slot *s, uint32_t left)
{
	if (s->state == EXPRESS_SENDING)
		return exanet_push(t, s, left > 0);
	while (s->state == EXPRESS_NOTED)
		if (exanet_move(t, s, left) != EXANET_MOVED)
			return 0;
	return s->state == EXPRESS_DONE;
}

static inline void end(struct express_table *t, struct express_slot *s, MPI_Status *status)
{
	if (status && s && s->lane < EXPRESS_LANES)
		status_is(status, s->source, s->tag, s->size);
	else if (status)
		status_is(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
	if (s)
		express_release(t, s - t->slots);
}

void exanet_end(struct express_table *t, exanet_handle *h, MPI_Status *status)
{
	uint32_t n = exanet_number_of(*h, EXANET_REQUEST);
	if (__builtin_expect(n >= EXPRESS_BASE || n == 0, 1)) {
		end(t, slot(t, n), status);
		*h = exanet_no_request;
	} else {
		end(t, slot(t, started(t, n)), status);
		t->kept[n].away = 0;
	}
}

/* Waits, or tests if left is 0, for n requests of the lane. What this rank can copy it copies
   before it waits for others. */
static int all(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses, uint32_t left)
{
	for (int i = 0; i < n; i++)
		if (!exanet_known(t, h[i]))
			return 0;
	for (int i = 0; i < n && t->sends; i++) {
		struct express_slot *s = exanet_slot(t, h[i]);
		if (s && s->state == EXPRESS_SENDING)
			exanet_push(t, s, 0);
	}
	uint64_t ring = 0;
	int done = 1;
	for (int i = 0; i < n && done; i++) {
		struct express_slot *s = exanet_slot(t, h[i]);
		if (!s || s->state == EXPRESS_DONE)
			continue;
		if (left && s->state == EXPRESS_NOTED && ring != port_of(t, s)->in) {
			if (ring)
				express_waits(ring, 0);
			express_waits(ring = port_of(t, s)->in, 1);
		}
		done = await(t, s, left);
	}
	if (ring)
		express_waits(ring, 0);
	if (!done)
		return 0;
	for (int i = 0; i < n; i++)
		exanet_end(t, &h[i], statuses ? &statuses[i] : 0);
	return 1;
}

/* The first request that is not done; 0 if it is not one of the lane's. */
static struct express_slot *undone(struct express_table *t, int n, const exanet_handle *h)
{
	for (int i = 0; i < n && exanet_known(t, h[i]); i++) {
		struct express_slot *s = exanet_slot(t, h[i]);
		if (s && s->state != EXPRESS_DONE)
			return s;
	}
	return 0;
}

/* What tells of the message that the first request waits for which is not done, and the
   slot of what is advertised for it. */
static struct exanet_awaited pending(struct express_table *t, int n, const exanet_handle *h, struct express_slot **slot)
{
	struct express_slot *s = undone(t, n, h);
	if (!s || s->state != EXPRESS_NOTED)
		return nothing;
	struct exanet_awaited a = awaited(t, port_of(t, s));
	if ((*slot = express_oldest(t, s->lane)))
		a.advert = (*slot)->advert;
	return a;
}

/* Waits for n requests of the lane, until what is left belongs into Go. */
int exanet_wait(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses)
{
	struct exanet_awaited next = nothing;
	struct express_slot *slot = 0;
	int done;
	do {
		if (!express_enter(t))
			return 0;
		if (slot && slot->state == EXPRESS_NOTED)
			slot->advert = next.advert;
		uint32_t looks = patience(t);
		done = all(t, n, h, statuses, looks);
		next = done || !looks ? nothing : pending(t, n, h, &slot);
		express_leave(t);
	} while (next.word && exanet_doze(t, &next));
	return done;
}

int exanet_lane_wait(struct express_table *t, MPI_Request *request, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	return *h != exanet_no_request && exanet_known(t, *h) && exanet_wait(t, 1, h, (uintptr_t)status < 4096 ? 0 : status);
}

int exanet_lane_waitall(struct express_table *t, int n, MPI_Request *requests, MPI_Status *statuses)
{
	if (n <= 0 || !exanet_known(t, *(exanet_handle *)requests))
		return 0;
	if ((uintptr_t)statuses < 4096)
		statuses = 0;
	int done = exanet_wait(t, n, (exanet_handle *)requests, statuses);
	for (int i = 0; i < n && done && statuses; i++)
		statuses[i].MPI_ERROR = MPI_SUCCESS;
	return done;
}

unsigned exanet_vain(uint32_t looks)
{
	enum { OWN = 64 /* tests for one in Go */ };
	static unsigned tests;
	return looks ? ++tests % OWN : 0;
}

/* Tests, and reports whether nothing can be done about those that are not there. */
static int test(struct express_table *t, int n, exanet_handle *h, int *flag, MPI_Status *statuses)
{
	struct express_slot *slot, *s;
	if (!express_enter(t))
		return 0;
	uint32_t looks = patience(t);
	*flag = all(t, n, h, statuses, 0);
	int known = *flag || pending(t, n, h, &slot).word || ((s = undone(t, n, h)) && s->state == EXPRESS_SENDING && s->advert.word);
	express_leave(t);
	return *flag || (known && exanet_vain(looks));
}

int exanet_lane_test(struct express_table *t, MPI_Request *request, int *flag, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	return *h != exanet_no_request && exanet_known(t, *h) && test(t, 1, h, flag, (uintptr_t)status < 4096 ? 0 : status);
}

int exanet_lane_testall(struct express_table *t, int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	if (n <= 0 || !exanet_known(t, *(exanet_handle *)requests))
		return 0;
	if ((uintptr_t)statuses < 4096)
		statuses = 0;
	int known = test(t, n, (exanet_handle *)requests, flag, statuses);
	for (int i = 0; i < n && known && *flag && statuses; i++)
		statuses[i].MPI_ERROR = MPI_SUCCESS;
	return known;
}
