/*
 * Receives from any source, or of any tag, and probes for such messages, as far as they come on
 * lanes that are lent. Not if messages wait in the protocol, which have come before. Of peers
 * that have no lane here nothing is seen: from time to time, and where nothing comes, Go looks.
 * A receive of a long message is advertised as well, on the lane of the last one, for the message
 * that is the next of all from that peer.
 */
#include "wild.h"
#include "gate.h"
#include "noted.h"
#include "rendezvous.h"

/* What a call asks for. */
struct wanted {
	exanet_handle comm;
	int32_t source, tag;
};

/* What it has found: a lane with a message of that size; 0, and whether the message that has come is
   one for Go, or none of these lanes'. */
struct found {
	struct express_lane *lane;
	uint32_t size;
	int go;
};

static struct found sift(struct express_table *t, const struct wanted *w)
{
	struct found f = {0, 0, 1};
	struct express_port *other;
	if (t->strays)
		return f;
	do
		f.lane = express_sift(t, w->comm, w->source, w->tag, &f.size, &other);
	while (!f.lane && other && !arrived(t, other));
	f.go = other != 0;
	return f;
}

/* The port of the lanes on which it may come, if it is one and the same; 0 else. */
static struct express_port *only(const struct express_table *t, const struct wanted *w)
{
	uint64_t port = 0;
	for (uint32_t i = 0; i < t->ins; i++) {
		const struct express_lane *l = &t->in[t->listed[i]];
		if (!express_admits(l, w->comm, w->source, w->tag) || l->port == port)
			continue;
		if (port)
			return 0;
		port = l->port;
	}
	return (struct express_port *)(uintptr_t)port;
}

/* Of a source that is no rank nothing comes. */
static int wants(struct wanted *w, int source, int tag, exanet_handle comm)
{
	*w = (struct wanted){comm, source == MPI_ANY_SOURCE ? EXPRESS_ANY : source, tag == MPI_ANY_TAG ? EXPRESS_ANY : tag};
	return source >= 0 || w->source == EXPRESS_ANY;
}

/* The lane on which a long message is expected: that of the last one, or the first of those that
   admit it; 0 if receives are noted there, which come before. */
static struct express_lane *likely(struct express_table *t, const struct wanted *w)
{
	for (uint32_t i = 0, at = t->turn ? t->turn - 1 : 0; i < t->ins; i++, at++) {
		if (at >= t->ins)
			at = 0;
		struct express_lane *l = &t->in[t->listed[at]];
		if (express_admits(l, w->comm, w->source, w->tag))
			return l->noted ? 0 : l;
	}
	return 0;
}

/* A blocking receive; and what it has advertised on a lane, if the next message there is that with
   a number. */
struct receive {
	struct wanted wanted;
	void *buf;
	uint32_t room;
	int meets, waits;
	struct express_advert advert;
	struct express_lane *lane;
	uint32_t number;
	struct express_port *port; /* where it may come, if that is one */
	int32_t from, as;          /* of the message that has come, as the next two */
	uint32_t size;
	int32_t world;
};

/* Advertises it for the next message from the peer. */
static __attribute__((noinline, cold)) void advertise(struct express_table *t, struct receive *w)
{
	struct express_lane *l = likely(t, &w->wanted);
	if (t->strays || !l || arrived(t, w->port) || !exanet_worth(&w->port->shy))
		return;
	w->lane = l;
	w->number = l->next;
	w->advert = express_advertise(l, w->buf, w->room, EXPRESS_AWAITED | EXPRESS_NEXT, 0, exanet_recent());
}

/* Whether what it advertised before it left the gate is still so. */
static __attribute__((noinline, cold)) int stands(const struct receive *w)
{
	const struct express_lane *l = w->lane;
	return l->lent == EXPRESS_LENT && express_admits(l, w->wanted.comm, w->wanted.source, w->wanted.tag) && l->port == (uint64_t)(uintptr_t)w->port && l->next == w->number && !l->noted;
}

/* Whether a send has come to what it has advertised: that is the next message then, whatever else is there.
   If not, that is taken back. */
static __attribute__((noinline, cold)) int met(const struct express_table *t, struct receive *w)
{
	int yes = express_met(w->advert) || !express_withdraw(w->port, w->advert);
	exanet_tried(&w->port->shy, yes, w->room > t->limit ? EXANET_REST_OF_LONG : EXANET_REST_OF_RECEIVES);
	if (!yes)
		w->advert.word = 0;
	return yes;
}

/* Receives from that send; refused if that went wrong, and its message comes another way. */
static __attribute__((noinline, cold)) enum express_result meet(struct receive *w)
{
	struct express_advert a = w->advert;
	w->advert.word = 0;
	w->from = w->lane->peer, w->as = w->lane->tag;
	enum express_stage s = exanet_meet_send(w->lane, a, 0, &w->size);
	if (s == EXPRESS_STALE)
		s = express_give_up_read(w->lane, a);
	return s == EXPRESS_COMPLETE ? EXPRESS_RECEIVED : EXPRESS_REFUSED;
}

/* Looks until a message is there, or a send has come to what is advertised, for as long as the call has patience:
   only briefly where it may come from a rank of which nothing is seen here. */
static struct found look(struct express_table *t, const struct wanted *w, struct express_port *from, uint32_t room, uint32_t looks, struct express_advert a)
{
	enum { BRIEFLY = 100 };
	struct found f = sift(t, w);
	if (from && t->spins && !f.lane && !f.go)
		prepare(t, from);
	if (!from)
		looks = t->ins ? (t->ranks > 2 && looks > BRIEFLY ? BRIEFLY : looks) / t->ins : 0;
	for (uint32_t left = looks; left && !f.lane && !f.go && !(a.word && express_met(a)); left = again(left, room))
		if (!from || express_here(t, from))
			f = sift(t, w);
	return f;
}

/* Waits for what is next, without the gate, and reports whether to look again. */
static int doze(const struct express_table *t, struct receive *w, struct exanet_awaited *next)
{
	next->advert = w->advert;
	int again = exanet_doze(t, next);
	w->advert = next->advert;
	return again;
}

/* One look for it, with the gate held. What next tells says for what to wait before another one. */
static inline enum express_result once(struct express_table *t, struct receive *w, struct exanet_awaited *next)
{
	uint32_t looks = w->waits ? patience(t) : 0;
	if (!w->advert.word) {
		w->port = only(t, &w->wanted);
		if (w->meets && w->room >= t->direct && w->port && looks)
			advertise(t, w);
	} else if (!stands(w)) {
		return EXPRESS_REFUSED;
	}
	struct found f = look(t, &w->wanted, w->port, w->room, looks, w->advert);
	int waits = !f.lane && !f.go && looks && w->port && (w->wanted.source != EXPRESS_ANY || t->ranks == 2);
	if (w->advert.word && (!waits || express_met(w->advert)) && met(t, w))
		return meet(w);
	if (f.lane) {
		w->from = f.lane->peer, w->as = f.lane->tag;
		return express_receive(t, f.lane, w->buf, w->room, &w->size, &w->world);
	}
	if (waits)
		*next = awaited(t, w->port);
	return EXPRESS_REFUSED;
}

/* Receives it, unless it is one for Go. */
static inline int receive(struct express_table *t, struct receive *w, int source, int tag, exanet_handle comm, struct exanet_taken *taken)
{
	struct exanet_awaited next;
	enum express_result r;
	if (!wants(&w->wanted, source, tag, comm))
		return 0;
	do {
		r = EXPRESS_REFUSED;
		next = nothing;
		if (!express_enter(t))
			break;
		r = once(t, w, &next);
		express_leave(t);
	} while (next.word && doze(t, w, &next));
	if (w->advert.word)
		express_cancel(w->port, w->advert);
	if (r == EXPRESS_REFUSED)
		return 0;
	tell(t, r, w->world);
	*taken = (struct exanet_taken){w->from, w->as, w->size};
	return 1;
}

/* One call in so many is for Go, which sees ranks of which nothing is seen here. */
static int turn_of_go(void)
{
	enum { OWN = 256 };
	static unsigned calls;
	return ++calls % OWN == 0;
}

int exanet_wild_receive(struct express_table *t, void *buf, uint32_t room, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	struct receive w = {.buf = buf, .room = room, .meets = 1, .waits = 1};
	struct exanet_taken taken;
	if (turn_of_go() || !receive(t, &w, source, tag, comm, &taken))
		return 0;
	if ((uintptr_t)status >= 4096)
		status_is(status, taken.source, taken.tag, taken.size);
	return 1;
}

int exanet_wild_take(struct express_table *t, void *buf, uint32_t room, int source, int tag, exanet_handle comm, int waits, struct exanet_taken *taken)
{
	struct receive w = {.buf = buf, .room = room, .waits = waits};
	return !turn_of_go() && receive(t, &w, source, tag, comm, taken);
}

int exanet_wild_probe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status, int blocks)
{
	struct wanted w;
	if (!wants(&w, source, tag, comm) || !express_enter(t))
		return 0;
	uint32_t looks = patience(t);
	struct found f = look(t, &w, only(t, &w), 0, blocks ? looks : 0, nothing.advert);
	int some = t->ins != 0;
	if (f.lane && (uintptr_t)status >= 4096)
		status_is(status, f.lane->peer, f.lane->tag, f.size);
	express_leave(t);
	*flag = f.lane != 0;
	return f.lane || (!blocks && some && !f.go && exanet_vain(looks));
}
