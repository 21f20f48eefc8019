/*
 * Calls on the express lane (package express). Each is tried here first; what the
 * lane does not take, or what has to wait for long, goes on in Go as if it had never
 * been here: its receives that are under way are posted there.
 *
 * The handle of a receive is a number from EXPRESS_BASE on, its slot; EXPRESS_SENT_ALL
 * is that of every send, which has completed when the call returns.
 */
#include "doze.h"
#include "lane.h"
#include "rendezvous.h"
#include "shared.h"


struct express_table *exanet_table;
void (*exanet_refill)(int32_t world);
int64_t (*exanet_rest)(exanet_handle receive, int32_t send, void *out, int64_t outcount, exanet_handle outtype, int32_t dest, int32_t outtag, exanet_handle comm, void *status);

static exanet_handle no_request;

void exanet_lane_open(struct express_table *t, exanet_handle none)
{
	no_request = none;
	exanet_table = t;
}

#ifdef OPEN_MPI
static exanet_handle handle_of(uint32_t n) { return (exanet_handle)n << EXANET_SHIFT | EXANET_REQUEST; }
static uint32_t number_of(exanet_handle h)
{
	return (h & ((1 << EXANET_SHIFT) - 1)) == EXANET_REQUEST && h >> EXANET_SHIFT <= EXPRESS_SENT_ALL ? h >> EXANET_SHIFT : 0;
}
#else
static exanet_handle handle_of(uint32_t n) { return n; }
static uint32_t number_of(exanet_handle h) { return h > 0 && h <= EXPRESS_SENT_ALL ? h : 0; }
#endif

/* The status of a message; that of a send, and of no request, is empty. */
static void status_is(MPI_Status *s, int source, int tag, uint32_t size)
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

static inline int enter(struct express_table *t)
{
	uint32_t open = 0;
	return __atomic_compare_exchange_n(&t->gate, &open, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void leave(struct express_table *t) { __atomic_store_n(&t->gate, 0, __ATOMIC_RELEASE); }

/* The bytes of count elements that lie in one piece; -1 if that is not known, or if
   they are more than most. */
static inline int64_t bytes(const void *buf, int64_t count, exanet_handle type, uint32_t most)
{
	uint32_t size = exanet_type_of(type)->size;
	if (!size || count < 0 || count > most || (uintptr_t)buf < 4096)
		return -1;
	int64_t n = count * size;
	return n <= most ? n : -1;
}

/* Tells a peer what a step has left to be told, when the gate is open again. */
static inline void tell(const struct express_table *t, enum express_result r, int32_t world)
{
	if (r == EXPRESS_RUNG)
		bell_ring((struct berth *)(uintptr_t)(t->berths + (uint64_t)world * t->step));
	else if (r == EXPRESS_STARVED)
		exanet_refill(world);
}

/* How long a call may look for messages here. */
static inline uint32_t patience(const struct express_table *t)
{
	return t->armed || (t->outside && __atomic_load_n((int64_t *)(uintptr_t)t->outside, __ATOMIC_RELAXED)) ? 0 : t->spins;
}

/* The longest message of a call that does not block: with a longer one it is better that
   whoever waits copies it, while the other rank computes. */
static inline uint32_t most_unblocked(const struct express_table *t)
{
	enum { MOST = 512 << 10 };
	return t->most < MOST ? t->most : MOST;
}

/* A message goes straight to its receive or into the ring, with the gate held. */
static enum express_result pass(struct express_table *t, const void *buf, uint32_t n, int dest, int tag, exanet_handle comm, int blocks, int32_t *world)
{
	struct express_lane *l = n < t->direct ? 0 : express_find(t->out, comm, dest, tag);
	if (l && exanet_look_for_receive(t, l, buf, n, patience(t), blocks))
		return EXPRESS_SENT;
	return express_send(t, comm, buf, n, dest, tag, world);
}

static int send(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm, int blocks)
{
	int64_t n = bytes(buf, count, type, blocks ? t->most : most_unblocked(t));
	int32_t world;
	if (n < 0 || !enter(t))
		return 0;
	enum express_result r = pass(t, buf, n, dest, tag, comm, blocks, &world);
	leave(t);
	tell(t, r, world);
	return r != EXPRESS_REFUSED;
}

int exanet_lane_send(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm)
{
	return send(t, buf, count, type, dest, tag, comm, 1);
}

static const struct exanet_awaited nothing;

/* What tells of the next message from a peer, if it is not there yet. */
static inline struct exanet_awaited awaited(const struct express_table *t, struct express_port *p)
{
	const struct express_ring *r = (const struct express_ring *)(uintptr_t)p->in;
	if (express_here(t, p))
		return nothing;
	return (struct exanet_awaited){(const uint64_t *)(uintptr_t)(p->in + t->cell + (r->head & (t->cells - 1)) * EXPRESS_CELL), (r->head >> t->shift) + 1, p, {0, 0}};
}

/* A blocking receive. */
struct receive {
	void *buf;
	uint32_t room;
	uint64_t how;  /* of a rendezvous; not 0: by one or not here */
	uint32_t size; /* of the message */
	int32_t world; /* whom to tell */
};

/* One look for the next message of a lane, with the gate held. What a tells says whether, and
   for what, to wait before the next one. */
static enum express_result look(struct express_table *t, struct express_lane *l, struct receive *w, struct exanet_awaited *a)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	uint32_t looks = patience(t);
	struct express_advert advert = a->advert;
	*a = nothing;
	if ((w->how || w->room >= t->direct) && looks && !advert.word && !express_here(t, p)) {
		if (w->how || exanet_worth(&p->shy))
			advert = express_advertise(l, w->buf, w->room, w->how | EXPRESS_AWAITED, exanet_recent());
		if (!advert.word && (w->how || w->room > t->limit))
			return EXPRESS_REFUSED; /* from Go the peer learns of this receive */
	}
	for (uint32_t left = looks; left && !express_here(t, p) && !(advert.word && express_met(advert)); left--)
		;
	if (advert.word && express_met(advert)) {
		exanet_tried(&p->shy, 1, 0);
		return exanet_meet_send(l, advert, &w->size) ? EXPRESS_RECEIVED : EXPRESS_REFUSED;
	}
	enum express_result r = w->how ? EXPRESS_REFUSED : express_receive(t, l, w->buf, w->room, &w->size, &w->world);
	if (r == EXPRESS_REFUSED && looks)
		*a = awaited(t, p);
	if (r == EXPRESS_REFUSED && advert.word && !a->word && !w->how)
		exanet_tried(&p->shy, 0, EXANET_REST);
	a->port = p;
	a->advert = advert;
	return r;
}

static int take(struct express_table *t, struct receive *w, int source, int tag, uint64_t comm)
{
	enum express_result r;
	struct exanet_awaited next = nothing;
	do {
		r = EXPRESS_REFUSED;
		if (!enter(t))
			break;
		struct express_lane *l = express_find(t->in, comm, source, tag);
		next.word = 0;
		if (l && !l->noted)
			r = look(t, l, w, &next);
		leave(t);
	} while (r == EXPRESS_REFUSED && next.word && exanet_doze(t, &next));
	if (next.advert.word)
		express_cancel(next.port, next.advert);
	tell(t, r, w->world);
	return r != EXPRESS_REFUSED;
}

int exanet_lane_recv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	int64_t room = bytes(buf, count, type, t->most);
	struct receive w = {buf, room, 0, 0, 0};
	if (room < 0 || !take(t, &w, source, tag, comm))
		return 0;
	if ((uintptr_t)status >= 4096)
		status_is(status, source, tag, w.size);
	return 1;
}

int exanet_lane_pass(struct express_table *t, const void *buf, uint32_t n, int dest, int tag, exanet_handle comm)
{
	if (n > t->most || !enter(t))
		return 0;
	struct express_lane *l = express_find(t->out, (uint64_t)comm ^ EXPRESS_COLLECTIVE, dest, tag);
	int passed = l && exanet_meet_receive(l, buf, n, patience(t));
	leave(t);
	return passed;
}

int exanet_lane_take(struct express_table *t, void *buf, uint32_t n, uint64_t how, int source, int tag, exanet_handle comm)
{
	struct receive w = {buf, n, EXPRESS_EXACT | how, 0, 0};
	return n <= t->most && take(t, &w, source, tag, (uint64_t)comm ^ EXPRESS_COLLECTIVE);
}

int exanet_lane_isend(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm, MPI_Request *request)
{
	if (!send(t, buf, count, type, dest, tag, comm, 0))
		return 0;
	*(exanet_handle *)request = handle_of(EXPRESS_SENT_ALL);
	return 1;
}

/* Asks for a ring of the bell when a long message is announced from now on, which the protocol
   has to learn of while this rank computes; 0 if one may have been already. */
static int attend(struct express_table *t, const struct express_port *p)
{
	struct berth *own = (struct berth *)(uintptr_t)t->own;
	if (__atomic_load_n(&own->flags, __ATOMIC_RELAXED) & BELL_ANNOUNCED)
		return 1;
	__atomic_or_fetch(&own->flags, BELL_ANNOUNCED, __ATOMIC_SEQ_CST);
	return !express_here(t, p);
}

/* Whether noted receives of so many bytes have had rendezvous. */
static inline int32_t *trust(const struct express_table *t, struct express_port *p, uint32_t room)
{
	return room > t->limit ? &p->shy : &p->idle;
}

/* Notes a receive, which is advertised if its message may be long; 0 if it has to be posted. */
static uint32_t note(struct express_table *t, struct express_lane *l, void *buf, uint32_t room)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	struct express_advert a = {0, 0};
	if (!express_vacant(t) || (room > t->limit && !attend(t, p)))
		return 0;
	if (room >= t->direct && exanet_worth(trust(t, p, room)))
		a = express_advertise(l, buf, room, 0, exanet_recent());
	if (room > t->limit && !a.word)
		return 0; /* from Go the peer learns of this receive */
	return express_note(t, l, buf, room, a);
}

int exanet_lane_irecv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Request *request)
{
	int64_t room = bytes(buf, count, type, most_unblocked(t));
	if (room < 0 || !enter(t))
		return 0;
	struct express_lane *l = express_find(t->in, comm, source, tag);
	uint32_t at = l ? note(t, l, buf, room) : 0;
	leave(t);
	if (at)
		*(exanet_handle *)request = handle_of(EXPRESS_BASE + at - 1);
	return at != 0;
}

/* Whether a handle is one of the lane's, or none. */
static inline int known(const struct express_table *t, exanet_handle h)
{
	uint32_t n = number_of(h);
	return h == no_request || n == EXPRESS_SENT_ALL || (n >= EXPRESS_BASE && n < EXPRESS_BASE + t->fresh);
}

/* The slot of a handle, 0 if it has none. */
static inline struct express_slot *slot_of(struct express_table *t, exanet_handle h)
{
	uint32_t n = number_of(h);
	return n >= EXPRESS_BASE && n < EXPRESS_SENT_ALL ? &t->slots[n - EXPRESS_BASE] : 0;
}

static inline struct express_port *port_of(struct express_table *t, const struct express_slot *s)
{
	return (struct express_port *)(uintptr_t)t->in[s->lane].port;
}

/* Looks for the messages of a noted receive, and of others from the same peer,
   until it is there. */
static int await(struct express_table *t, struct express_slot *s, uint32_t left)
{
	static struct express_slot unknown;
	while (s->state == EXPRESS_NOTED) {
		struct express_port *p = port_of(t, s);
		struct express_slot *o = express_oldest(t, s->lane);
		int32_t world;
		if (!o)
			o = &unknown;
		while (left && !express_here(t, p) && !(o->advert.word && express_met(o->advert)))
			left--;
		if (o->advert.word && express_met(o->advert)) {
			uint32_t size;
			exanet_tried(trust(t, p, o->room), 1, 0);
			if (!exanet_meet_send(&t->in[s->lane], o->advert, &size)) {
				o->advert.word = 0;
				return 0;
			}
			express_done(t, o, size);
			continue;
		}
		int advertised = o->advert.word != 0;
		enum express_result r = express_progress(t, p, &world);
		if (r == EXPRESS_REFUSED)
			return 0;
		if (advertised && o->state == EXPRESS_DONE && o->room <= t->limit)
			exanet_tried(&p->idle, 0, EXANET_REST);
		tell(t, r, world);
	}
	return s->state == EXPRESS_DONE;
}

/* Ends a request that is done. */
static inline void end(struct express_table *t, exanet_handle *h, MPI_Status *status)
{
	struct express_slot *s = slot_of(t, *h);
	if (s) {
		if (status)
			status_is(status, s->source, s->tag, s->size);
		express_release(t, s - t->slots);
	} else if (status) {
		status_is(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
	}
	*h = no_request;
}

/* Waits, or tests if left is 0, for n requests of the lane. */
static int all(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses, uint32_t left)
{
	for (int i = 0; i < n; i++)
		if (!known(t, h[i]))
			return 0;
	uint64_t ring = 0;
	int done = 1;
	for (int i = 0; i < n && done; i++) {
		struct express_slot *s = slot_of(t, h[i]);
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
		end(t, &h[i], statuses ? &statuses[i] : 0);
	return 1;
}

/* What tells of the message that the first request waits for which is not done, and the
   slot of what is advertised for it. */
static struct exanet_awaited pending(struct express_table *t, int n, const exanet_handle *h, struct express_slot **slot)
{
	for (int i = 0; i < n && known(t, h[i]); i++) {
		struct express_slot *s = slot_of(t, h[i]);
		if (!s || s->state == EXPRESS_DONE)
			continue;
		if (s->state != EXPRESS_NOTED)
			break;
		struct exanet_awaited a = awaited(t, port_of(t, s));
		if ((*slot = express_oldest(t, s->lane)))
			a.advert = (*slot)->advert;
		return a;
	}
	return nothing;
}

/* Waits for n requests of the lane, until what is left belongs into Go. */
static int wait(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses)
{
	struct exanet_awaited next = nothing;
	struct express_slot *slot = 0;
	int done;
	do {
		if (!enter(t))
			return 0;
		if (slot && slot->state == EXPRESS_NOTED)
			slot->advert = next.advert;
		uint32_t looks = patience(t);
		done = all(t, n, h, statuses, looks);
		next = done || !looks ? nothing : pending(t, n, h, &slot);
		leave(t);
	} while (next.word && exanet_doze(t, &next));
	return done;
}

int exanet_lane_wait(struct express_table *t, MPI_Request *request, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	return *h != no_request && known(t, *h) && wait(t, 1, h, (uintptr_t)status < 4096 ? 0 : status);
}

int exanet_lane_waitall(struct express_table *t, int n, MPI_Request *requests, MPI_Status *statuses)
{
	if (n <= 0 || !known(t, *(exanet_handle *)requests))
		return 0;
	if ((uintptr_t)statuses < 4096)
		statuses = 0;
	int done = wait(t, n, (exanet_handle *)requests, statuses);
	for (int i = 0; i < n && done && statuses; i++)
		statuses[i].MPI_ERROR = MPI_SUCCESS;
	return done;
}

int exanet_lane_sendrecv(struct express_table *t, const void *out, int64_t outcount, exanet_handle outtype, int dest, int outtag, void *in, int64_t incount, exanet_handle intype, int source, int intag, exanet_handle comm, MPI_Status *status, int64_t *result)
{
	int64_t n = bytes(out, outcount, outtype, t->most), room = bytes(in, incount, intype, t->most);
	if ((uintptr_t)status < 4096)
		status = 0;
	if (n < 0 || room < 0 || !enter(t))
		return 0;
	struct express_lane *l = express_find(t->out, comm, dest, outtag) ? express_find(t->in, comm, source, intag) : 0;
	uint32_t at = l ? note(t, l, in, room) : 0;
	int32_t world;
	enum express_result r = at ? pass(t, out, n, dest, outtag, comm, 1, &world) : EXPRESS_REFUSED;
	leave(t);
	if (!at)
		return 0;
	tell(t, r, world);
	exanet_handle h = handle_of(EXPRESS_BASE + at - 1);
	*result = 0;
	if (r == EXPRESS_REFUSED || !wait(t, 1, &h, status))
		*result = exanet_rest(h, r == EXPRESS_REFUSED, (void *)(uintptr_t)out, outcount, outtype, dest, outtag, comm, status);
	return 1;
}

int exanet_lane_test(struct express_table *t, MPI_Request *request, int *flag, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	if (*h == no_request || !known(t, *h) || !enter(t))
		return 0;
	int done = all(t, 1, h, (uintptr_t)status < 4096 ? 0 : status, 0);
	leave(t);
	if (done)
		*flag = 1;
	return done;
}
