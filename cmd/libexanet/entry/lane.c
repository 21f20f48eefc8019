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
#include "shared.h"

#include <sched.h>

struct express_table *exanet_table;
void (*exanet_refill)(int32_t world);

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
   they do not fit an eager message. */
static inline int64_t bytes(const struct express_table *t, const void *buf, int64_t count, exanet_handle type)
{
	uint32_t size = exanet_type_of(type)->size;
	if (!size || count < 0 || count > t->limit || (uintptr_t)buf < 4096)
		return -1;
	int64_t n = count * size;
	return n <= t->limit ? n : -1;
}

/* Tells a peer what a step has left to be told, when the gate is open again. */
static inline void tell(const struct express_table *t, enum express_result r, int32_t world)
{
	if (r == EXPRESS_RUNG)
		bell_ring((struct berth *)(uintptr_t)(t->berths + (uint64_t)world * t->step));
	else if (r == EXPRESS_STARVED)
		exanet_refill(world);
}

int exanet_lane_send(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm)
{
	int64_t n = bytes(t, buf, count, type);
	int32_t world;
	if (n < 0 || !enter(t))
		return 0;
	enum express_result r = express_send(t, comm, buf, n, dest, tag, &world);
	leave(t);
	tell(t, r, world);
	return r != EXPRESS_REFUSED;
}

/* How long a call may look for messages here. */
static inline uint32_t patience(const struct express_table *t)
{
	return t->armed || (t->outside && __atomic_load_n((int64_t *)(uintptr_t)t->outside, __ATOMIC_RELAXED)) ? 0 : t->spins;
}

static const struct exanet_awaited nothing;

/* What tells of the next message from a peer, if it is not there yet. */
static inline struct exanet_awaited awaited(const struct express_table *t, const struct express_port *p)
{
	const struct express_ring *r = (const struct express_ring *)(uintptr_t)p->in;
	if (express_here(t, p))
		return nothing;
	return (struct exanet_awaited){(const uint64_t *)(uintptr_t)(p->in + t->cell + (r->head & (t->cells - 1)) * EXPRESS_CELL), (r->head >> t->shift) + 1};
}

int exanet_lane_recv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	int64_t room = bytes(t, buf, count, type);
	int32_t world;
	uint32_t size;
	enum express_result r;
	struct exanet_awaited next;
	if (room < 0)
		return 0;
	do {
		if (!enter(t))
			return 0;
		struct express_lane *l = express_find(t->in, comm, source, tag);
		next = nothing;
		r = EXPRESS_REFUSED;
		if (l && !l->noted) {
			struct express_port *p = (struct express_port *)(uintptr_t)l->port;
			uint32_t looks = patience(t);
			for (uint32_t left = looks; !express_here(t, p) && left; left--)
				;
			r = express_receive(t, l, buf, room, &size, &world);
			if (looks)
				next = awaited(t, p);
		}
		leave(t);
	} while (r == EXPRESS_REFUSED && next.word && exanet_doze(t, next));
	if (r == EXPRESS_REFUSED)
		return 0;
	tell(t, r, world);
	if ((uintptr_t)status >= 4096)
		status_is(status, source, tag, size);
	return 1;
}

int exanet_lane_isend(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm, MPI_Request *request)
{
	if (!exanet_lane_send(t, buf, count, type, dest, tag, comm))
		return 0;
	*(exanet_handle *)request = handle_of(EXPRESS_SENT_ALL);
	return 1;
}

int exanet_lane_irecv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Request *request)
{
	int64_t room = bytes(t, buf, count, type);
	if (room < 0 || !enter(t))
		return 0;
	struct express_lane *l = express_find(t->in, comm, source, tag);
	uint32_t at = l ? express_note(t, l, buf, room) : 0;
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

/* Looks for the messages of a noted receive, and of others from the same peer,
   until it is there. */
static int await(struct express_table *t, struct express_slot *s, uint32_t left)
{
	while (s->state == EXPRESS_NOTED) {
		struct express_port *p = (struct express_port *)(uintptr_t)t->in[s->lane].port;
		int32_t world;
		while (!express_here(t, p) && left)
			left--;
		enum express_result r = express_progress(t, p, &world);
		if (r == EXPRESS_REFUSED)
			return 0;
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
	for (int i = 0; i < n; i++) {
		struct express_slot *s = slot_of(t, h[i]);
		if (s && s->state != EXPRESS_DONE && !await(t, s, left))
			return 0;
	}
	for (int i = 0; i < n; i++)
		end(t, &h[i], statuses ? &statuses[i] : 0);
	return 1;
}

/* What tells of the message that the first request waits for which is not done. */
static struct exanet_awaited pending(struct express_table *t, int n, const exanet_handle *h)
{
	for (int i = 0; i < n && known(t, h[i]); i++) {
		struct express_slot *s = slot_of(t, h[i]);
		if (s && s->state != EXPRESS_DONE)
			return s->state == EXPRESS_NOTED ? awaited(t, (struct express_port *)(uintptr_t)t->in[s->lane].port) : nothing;
	}
	return nothing;
}

/* Waits for n requests of the lane, until what is left belongs into Go. */
static int wait(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses)
{
	struct exanet_awaited next;
	int done;
	do {
		if (!enter(t))
			return 0;
		uint32_t looks = patience(t);
		done = all(t, n, h, statuses, looks);
		next = done || !looks ? nothing : pending(t, n, h);
		leave(t);
	} while (next.word && exanet_doze(t, next));
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
