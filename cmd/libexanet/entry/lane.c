/*
 * Blocking calls and sends on the express lane (package express); noted.c has the receives that are
 * completed later, wild.c those with wildcards, kept.c persistent requests. Each is tried here first;
 * what the lane does not take, or what has to wait for long, goes on in Go as if it had never been here.
 */
#include "gate.h"
#include "noted.h"
#include "rendezvous.h"
#include "wild.h"

struct express_table *exanet_table;
void (*exanet_refill)(int32_t world);
int64_t (*exanet_rest)(exanet_handle receive, int32_t send, void *out, int64_t outcount, exanet_handle outtype, int32_t dest, int32_t outtag, exanet_handle comm, void *status);

void exanet_lane_open(struct express_table *t, const struct exanet_none *none)
{
	exanet_no_request = none->request;
	exanet_no_message = none->message;
	exanet_table = t;
}

/* A message goes straight to its receive or into the ring, with the gate held. */
static enum express_result pass(struct express_table *t, const void *buf, uint32_t n, int dest, int tag, exanet_handle comm, int blocks, int32_t *world)
{
	struct express_lane *l = n < t->direct ? 0 : express_find(t->out, comm, dest, tag);
	if (l && exanet_look_for_receive(t, l, buf, n, patience(t), blocks))
		return EXPRESS_SENT;
	return express_send(t, comm, buf, n, dest, tag, world);
}

/* From so many bytes on a message that leaves, of a window of many each way, is worth taking one that has come. */
enum { LEAST_IN_TURN = 4096 };

/* Flat, as exanet_lane_irecv is: of a window of short messages the calls from file to file would be some hundredths of the time. */
static __attribute__((flatten)) int send(struct express_table *t, const void *buf, int64_t n, int dest, int tag, exanet_handle comm, int blocks)
{
	int32_t world;
	if (n < 0 || !express_enter(t))
		return 0;
	enum express_result r = pass(t, buf, n, dest, tag, comm, blocks, &world);
	if (!blocks && n > LEAST_IN_TURN && n <= t->limit && t->first)
		exanet_take_in_turn(t);
	express_leave(t);
	tell(t, r, world);
	return r != EXPRESS_REFUSED;
}

int exanet_lane_send(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm)
{
	return send(t, buf, bytes(buf, count, type, t->most), dest, tag, comm, 1);
}

/* A blocking receive. */
struct receive {
	void *buf;
	uint32_t room;
	uint32_t how;  /* of a rendezvous; not 0: by one or not here */
	uint32_t size; /* of the message */
	int32_t world; /* whom to tell */
	const struct express_combination *combination;
};

/* One look for the next message of a lane, with the gate held. What a tells says whether, and
   for what, to wait before the next one. */
static enum express_result look(struct express_table *t, struct express_lane *l, struct receive *w, struct exanet_awaited *a)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	uint32_t looks = patience(t);
	struct express_advert advert = a->advert;
	*a = nothing;
	if ((w->how || w->room >= t->direct) && looks && !advert.word && !arrived(t, p)) {
		if (w->how || exanet_worth(&p->shy))
			advert = express_advertise(l, w->buf, w->room, w->how | EXPRESS_AWAITED, w->combination, exanet_recent());
		if (!advert.word && (w->how || w->room > t->limit))
			return EXPRESS_REFUSED; /* from Go the peer learns of this receive */
	}
	if (looks)
		prepare(t, p);
	for (uint32_t left = looks; left && !arrived(t, p) && !(advert.word && express_met(advert));)
		left = again(left, w->room);
	if (advert.word && express_met(advert)) {
		exanet_tried(&p->shy, 1, 0);
		enum express_stage s = exanet_meet_send(l, advert, w->combination, &w->size);
		if (s == EXPRESS_STALE)
			s = express_give_up_read(l, advert);
		return s == EXPRESS_COMPLETE ? EXPRESS_RECEIVED : EXPRESS_REFUSED;
	}
	enum express_result r = w->how ? EXPRESS_REFUSED : express_receive(t, l, w->buf, w->room, &w->size, &w->world);
	if (r == EXPRESS_REFUSED && looks)
		*a = awaited(t, p);
	if (r == EXPRESS_REFUSED && advert.word && !a->word && !w->how)
		exanet_tried(&p->shy, 0, w->room > t->limit ? EXANET_REST_OF_LONG : EXANET_REST_OF_RECEIVES);
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
		if (!express_enter(t))
			break;
		struct express_lane *l = express_find(t->in, comm, source, tag);
		next.word = 0;
		if (l && !l->noted)
			r = look(t, l, w, &next);
		express_leave(t);
	} while (r == EXPRESS_REFUSED && next.word && exanet_doze(t, &next));
	if (next.advert.word)
		express_cancel(next.port, next.advert);
	tell(t, r, w->world);
	return r != EXPRESS_REFUSED;
}

int exanet_lane_recv(struct express_table *t, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	int64_t room = bytes(buf, count, type, t->most);
	struct receive w = {buf, room, 0, 0, 0, 0};
	if (room >= 0 && exanet_wild(source, tag))
		return exanet_wild_receive(t, buf, room, source, tag, comm, status);
	if (room < 0 || !take(t, &w, source, tag, comm))
		return 0;
	if ((uintptr_t)status >= 4096)
		status_is(status, source, tag, w.size);
	return 1;
}

int exanet_lane_pass(struct express_table *t, const void *buf, uint32_t n, const struct express_combination *c, int dest, int tag, exanet_handle comm)
{
	if (n > t->most || !express_enter(t))
		return 0;
	struct express_lane *l = express_find(t->out, (uint64_t)comm ^ EXPRESS_COLLECTIVE, dest, tag);
	int passed = l && exanet_meet_receive(l, buf, n, c, patience(t));
	express_leave(t);
	return passed;
}

int exanet_lane_take(struct express_table *t, void *buf, uint32_t n, const struct express_combination *c, int source, int tag, exanet_handle comm)
{
	struct receive w = {buf, n, EXPRESS_EXACT, 0, 0, c};
	return t->crowd == EXPRESS_ROOMY && n <= t->most && take(t, &w, source, tag, (uint64_t)comm ^ EXPRESS_COLLECTIVE); /* else nobody would come to it */
}

/* Apart, and rare: what it needs does not burden the way of short messages. */
static __attribute__((noinline, cold)) int go_on(struct express_table *t, const void *buf, uint32_t n, int dest, int tag, exanet_handle comm, MPI_Request *request)
{
	if (!express_enter(t))
		return 0;
	uint32_t at = exanet_send_later(t, comm, buf, n, dest, tag, patience(t));
	express_leave(t);
	if (at)
		*(exanet_handle *)request = exanet_handle_of(EXPRESS_BASE + at - 1, EXANET_REQUEST);
	return at != 0;
}

int exanet_lane_isend(struct express_table *t, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm, MPI_Request *request)
{
	enum { MOST_AT_ONCE = 512 << 10 /* bytes that it copies before it returns; longer ones whoever waits copies, while the other rank computes */ };
	int64_t n = bytes(buf, count, type, t->most);
	if (n > MOST_AT_ONCE)
		return go_on(t, buf, n, dest, tag, comm, request);
	if (!send(t, buf, n, dest, tag, comm, 0))
		return 0;
	*(exanet_handle *)request = exanet_handle_of(EXPRESS_SENT_ALL, EXANET_REQUEST);
	return 1;
}

int exanet_lane_sendrecv(struct express_table *t, const void *out, int64_t outcount, exanet_handle outtype, int dest, int outtag, void *in, int64_t incount, exanet_handle intype, int source, int intag, exanet_handle comm, MPI_Status *status, int64_t *result)
{
	int64_t n = bytes(out, outcount, outtype, t->most), room = bytes(in, incount, intype, t->most);
	if ((uintptr_t)status < 4096)
		status = 0;
	if (n < 0 || room < 0 || !express_enter(t))
		return 0;
	struct express_lane *l = express_find(t->out, comm, dest, outtag) ? express_find(t->in, comm, source, intag) : 0;
	uint32_t at = l ? exanet_note(t, l, in, room) : 0;
	int32_t world;
	enum express_result r = at ? pass(t, out, n, dest, outtag, comm, 1, &world) : EXPRESS_REFUSED;
	express_leave(t);
	if (!at)
		return 0;
	tell(t, r, world);
	exanet_handle h = exanet_handle_of(EXPRESS_BASE + at - 1, EXANET_REQUEST);
	*result = 0;
	if (r == EXPRESS_REFUSED || !exanet_wait(t, 1, &h, status))
		*result = exanet_rest(h, r == EXPRESS_REFUSED, (void *)(uintptr_t)out, outcount, outtype, dest, outtag, comm, status);
	return 1;
}

/* The data must have left, into the ring, before the receive is noted: which is sure then, since
   it is a short one, and a slot is vacant. */
int exanet_lane_sendrecv_replace(struct express_table *t, void *buf, int64_t count, exanet_handle type, int dest, int outtag, int source, int intag, exanet_handle comm, MPI_Status *status, int64_t *result)
{
	int64_t n = bytes(buf, count, type, t->limit);
	if ((uintptr_t)status < 4096)
		status = 0;
	if (n < 0 || !express_enter(t))
		return 0;
	struct express_lane *l = express_vacant(t) ? express_find(t->in, comm, source, intag) : 0;
	int32_t world;
	enum express_result r = l ? express_send(t, comm, buf, n, dest, outtag, &world) : EXPRESS_REFUSED;
	uint32_t at = r != EXPRESS_REFUSED ? exanet_note(t, l, buf, n) : 0;
	express_leave(t);
	if (!at)
		return 0;
	tell(t, r, world);
	exanet_handle h = exanet_handle_of(EXPRESS_BASE + at - 1, EXANET_REQUEST);
	*result = exanet_wait(t, 1, &h, status) ? 0 : exanet_rest(h, 0, buf, count, type, dest, outtag, comm, status);
	return 1;
}

/* The status of a message that could be received now; 0 if it is to be looked for in Go. */
static int probe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status, int blocks)
{
	uint32_t size;
	if (exanet_wild(source, tag))
		return exanet_wild_probe(t, source, tag, comm, flag, status, blocks);
	if (!express_enter(t))
		return 0;
	struct express_lane *l = express_find(t->in, comm, source, tag);
	uint32_t looks = patience(t);
	enum express_result r = EXPRESS_REFUSED;
	int there = 0;
	if (l && !l->noted) {
		struct express_port *p = (struct express_port *)(uintptr_t)l->port;
		if (looks)
			prepare(t, p);
		for (uint32_t left = blocks ? looks : 0; left && !arrived(t, p); left--)
			;
		there = arrived(t, p);
		if (there)
			r = express_peek(t, l, &size);
	}
	express_leave(t);
	if (r == EXPRESS_RECEIVED) {
		*flag = 1;
		if ((uintptr_t)status >= 4096)
			status_is(status, source, tag, size);
		return 1;
	}
	if (blocks || !l || l->noted || there || !exanet_vain(looks))
		return 0;
	*flag = 0;
	return 1;
}

int exanet_lane_iprobe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status)
{
	return probe(t, source, tag, comm, flag, status, 0);
}

int exanet_lane_probe(struct express_table *t, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	int flag;
	return probe(t, source, tag, comm, &flag, status, 1);
}
