/*
 * Calls on the fast path: sends, receives, and waits and tests for receives that are pending. Each is tried here
 * first; what the fast path does not take, or what has to wait for long, goes on in Go as if it had never been here.
 *
 * The number of a receive's request is its slot and FAST_FIRST_SLOT; FAST_SENT_ALL is that of every send, which
 * has completed when the call returns.
 */
#include "calls.h"
#include "channel.h"
#include "lock.h"
#include "shared.h"
#include "wait.h"

#ifdef EXANET_ABI
int exanet_count_at;
#endif
struct fast_table *exanet_table;
static exanet_handle no_request;

void exanet_fast_open(struct fast_table *t, exanet_handle none)
{
	no_request = none;
	exanet_table = t;
}

/* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are no addresses. */
static inline MPI_Status *wanted(MPI_Status *s) { return (uintptr_t)s < 4096 ? 0 : s; }

/* The status of a message; that of a send, and of no request, is empty. */
static inline void set_status(MPI_Status *s, int source, int tag, uint32_t size)
{
	s->MPI_SOURCE = source;
	s->MPI_TAG = tag;
#ifdef EXANET_ABI
	exanet_set_size(s, exanet_count_at, size, 0);
#elif defined OPEN_MPI
	s->_ucount = size;
	s->_cancelled = 0;
#else
	s->count_lo = size;
	s->count_hi_and_cancelled = 0;
#endif
}

/* The bytes of count elements that lie in one piece; -1 if that is not known, or if a length of 32 bits does not tell
   them. For none there need be no buffer. */
static inline int64_t bytes(const void *buf, int64_t count, exanet_handle type)
{
	uint32_t size = exanet_type_of(type)->size;
	if (!size || count < 0 || count > INT32_MAX || ((uintptr_t)buf < 4096 && count > 0))
		return -1;
	int64_t n = count * size;
	return n <= UINT32_MAX ? n : -1;
}

/* What tells of the next message from a peer, for which a call is about to wait. */
static inline struct awaited next_from(const struct fast_table *t, const struct fast_port *p)
{
	ring_prefetch(&t->rings, ring_at(p->out));
	struct ring *r = ring_at(p->in);
	return (struct awaited){&ring_cell(&t->rings, r, r->head)->header[0], ring_phase(&t->rings, r->head)};
}

int exanet_fast_send(const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm)
{
	struct fast_table *t = exanet_table;
	int64_t n = bytes(buf, count, type);
	if (n < 0 || n > t->limit || !lock_enter(&t->lock))
		return 0;
	int sent = fast_send(t, comm, buf, n, dest, tag);
	lock_leave(&t->lock);
	return sent;
}

int exanet_fast_isend(const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm,
	MPI_Request *request)
{
	if (!exanet_fast_send(buf, count, type, dest, tag, comm))
		return 0;
	*(exanet_handle *)request = exanet_handle_of(FAST_SENT_ALL, EXANET_REQUEST);
	return 1;
}

/* A receive with more room than an eager message needs takes one that is there, but does not wait for it: its message
   may be a long one, whose sender is to learn of the receive. */
int exanet_fast_recv(void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm,
	MPI_Status *status)
{
	struct fast_table *t = exanet_table;
	int64_t room = bytes(buf, count, type);
	if (room < 0)
		return 0;
	struct awaited next;
	uint32_t size;
	int received, waits;
	do {
		if (!lock_enter(&t->lock))
			return 0;
		struct fast_channel *ch = channel_find(t->in, comm, source, tag);
		received = waits = 0;
		if (ch && !ch->pending) {
			if (fast_arrived(t, port_of(ch)))
				received = fast_receive(t, ch, buf, room, &size);
			else if ((waits = room <= t->limit && fast_waits(t)))
				next = next_from(t, port_of(ch));
		}
		t->counts.waits += waits;
		lock_leave(&t->lock);
	} while (waits && fast_wait_for(t, &next));
	if (received && wanted(status))
		set_status(status, source, tag, size);
	return received;
}

int exanet_fast_irecv(void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm,
	MPI_Request *request)
{
	struct fast_table *t = exanet_table;
	int64_t room = bytes(buf, count, type);
	if (room < 0 || room > t->limit || !lock_enter(&t->lock))
		return 0;
	struct fast_channel *ch = channel_find(t->in, comm, source, tag);
	uint32_t at = ch ? fast_post(t, ch, buf, room) : 0;
	lock_leave(&t->lock);
	if (at)
		*(exanet_handle *)request = exanet_handle_of(FAST_FIRST_SLOT + at - 1, EXANET_REQUEST);
	return at != 0;
}

/* The data leave before the receive is pending: it may be for the same buffer. */
int exanet_fast_sendrecv(const void *out, int64_t outcount, exanet_handle outtype, int dest, int outtag, void *in,
	int64_t incount, exanet_handle intype, int source, int intag, exanet_handle comm, MPI_Request *request)
{
	struct fast_table *t = exanet_table;
	int64_t n = bytes(out, outcount, outtype), room = bytes(in, incount, intype);
	if (n < 0 || n > t->limit || room < 0 || room > t->limit || !lock_enter(&t->lock))
		return 0;
	struct fast_channel *ch = channel_find(t->in, comm, source, intag);
	int sent = ch && fast_vacant(t) && fast_send(t, comm, out, n, dest, outtag);
	if (sent)
		*(exanet_handle *)request = exanet_handle_of(FAST_FIRST_SLOT + fast_post(t, ch, in, room) - 1, EXANET_REQUEST);
	lock_leave(&t->lock);
	return sent;
}

int exanet_fast_sendrecv_replace(void *buf, int64_t count, exanet_handle type, int dest, int outtag, int source,
	int intag, exanet_handle comm, MPI_Request *request)
{
	return exanet_fast_sendrecv(buf, count, type, dest, outtag, buf, count, type, source, intag, comm, request);
}

/* The slot of a request, 0 if it has none: that of a send, and no request. */
static inline struct fast_slot *slot_of(struct fast_table *t, exanet_handle h)
{
	uint32_t n = exanet_number_of(h, EXANET_REQUEST);
	return n >= FAST_FIRST_SLOT && n < FAST_SENT_ALL ? &t->slots[n - FAST_FIRST_SLOT] : 0;
}

/* Whether requests are all of the fast path, or none. */
static inline int known(const struct fast_table *t, int n, const exanet_handle *h)
{
	for (int i = 0; i < n; i++) {
		uint32_t number = exanet_number_of(h[i], EXANET_REQUEST);
		if (h[i] != no_request && number != FAST_SENT_ALL && number - FAST_FIRST_SLOT >= t->fresh)
			return 0;
	}
	return 1;
}

/* What has become of a request: it is done; its message is not there; or that belongs into Go. */
enum outcome { DONE, NOTHING, ELSEWHERE };

static inline enum outcome progress(struct fast_table *t, struct fast_slot *s)
{
	while (s && s->state == SLOT_PENDING) {
		struct fast_port *p = port_of(&t->in[s->place]);
		if (!fast_arrived(t, p))
			return NOTHING;
		if (!fast_complete(t, p))
			return ELSEWHERE;
	}
	return !s || s->state == SLOT_DONE ? DONE : ELSEWHERE;
}

static inline void end(struct fast_table *t, exanet_handle *h, MPI_Status *status)
{
	struct fast_slot *s = slot_of(t, *h);
	if (status && s)
		set_status(status, s->source, s->tag, s->size);
	else if (status)
		set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
	if (s)
		fast_release(t, s);
	*h = no_request;
}

/* Waits for requests, if it blocks, or looks once, and ends them if all are done. NOTHING: who does not block is to
   try again. */
static inline enum outcome all(int n, exanet_handle *h, MPI_Status *statuses, int blocks)
{
	struct fast_table *t = exanet_table;
	struct awaited next;
	enum outcome o;
	int i = 0, waits;
	do {
		if (!lock_enter(&t->lock))
			return ELSEWHERE;
		for (o = DONE; i < n && (o = progress(t, slot_of(t, h[i]))) == DONE;)
			i++;
		waits = o == NOTHING && fast_waits(t);
		if (waits)
			next = next_from(t, port_of(&t->in[slot_of(t, h[i])->place]));
		for (int k = 0; o == DONE && k < n; k++)
			end(t, &h[k], statuses ? &statuses[k] : 0);
		t->counts.waits += blocks && waits;
		lock_leave(&t->lock);
	} while (blocks && waits && fast_wait_for(t, &next));
	return o == NOTHING && !waits ? ELSEWHERE : o;
}

int exanet_fast_wait(MPI_Request *request, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	return *h != no_request && known(exanet_table, 1, h) && all(1, h, wanted(status), 1) == DONE;
}

static void succeed(int n, MPI_Status *statuses)
{
	for (int i = 0; wanted(statuses) && i < n; i++)
		statuses[i].MPI_ERROR = MPI_SUCCESS;
}

int exanet_fast_waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
	exanet_handle *h = (exanet_handle *)requests;
	if (n <= 0 || !known(exanet_table, n, h) || all(n, h, wanted(statuses), 1) != DONE)
		return 0;
	succeed(n, statuses);
	return 1;
}

/* A test that has found nothing says so itself, but one in so many, which sees what is not seen here. */
static inline int elsewhere(void)
{
	enum { IN_GO = 64 };
	static unsigned tests;
	return ++tests % IN_GO == 0;
}

static int test(int n, exanet_handle *h, int *flag, MPI_Status *statuses)
{
	enum outcome o = all(n, h, statuses, 0);
	*flag = o == DONE;
	return *flag || (o == NOTHING && !elsewhere());
}

/* Whether no message waits for this rank, nor does the host's MPI for a look. */
static int nothing_came(struct fast_table *t)
{
	uint64_t word, from = t->inward;
	if (!from || (t->outside && __atomic_load_n((int64_t *)(uintptr_t)t->outside, __ATOMIC_RELAXED)))
		return 0;
	if (!lock_enter(&t->lock))
		return 0;
	uint32_t i = 0;
	while (i < t->ranks && !ring_peek(&t->rings, ring_at(from + (uint64_t)i * t->ring_step), &word))
		i++;
	lock_leave(&t->lock);
	return i == t->ranks;
}

/* Whether none of some requests of Go's is done: so it is if none was at the last test, and nothing has come. Go takes
   the mark away in calls that end a request or make one (request.go). */
static int none_done(int n, const exanet_handle *h)
{
	struct fast_table *t = exanet_table;
	uint64_t mark = n;
	for (int i = 0; i < n; i++)
		mark = (mark ^ (uint64_t)h[i]) * COLLECTIVE_MIXER + 1;
	if (mark == __atomic_load_n(&t->tested, __ATOMIC_RELAXED))
		return !elsewhere() && nothing_came(t);
	__atomic_store_n(&t->tested, mark, __ATOMIC_RELAXED);
	return 0;
}

int exanet_fast_test(MPI_Request *request, int *flag, MPI_Status *status)
{
	exanet_handle *h = (exanet_handle *)request;
	if (*h == no_request)
		return 0;
	if (known(exanet_table, 1, h))
		return test(1, h, flag, wanted(status));
	*flag = 0;
	return none_done(1, h);
}

int exanet_fast_testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	(void)status;
	if (n <= 0 || !none_done(n, (exanet_handle *)requests))
		return 0;
	*index = MPI_UNDEFINED, *flag = 0;
	return 1;
}

int exanet_fast_testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	exanet_handle *h = (exanet_handle *)requests;
	if (n <= 0 || !known(exanet_table, n, h) || !test(n, h, flag, wanted(statuses)))
		return 0;
	if (*flag)
		succeed(n, statuses);
	return 1;
}
