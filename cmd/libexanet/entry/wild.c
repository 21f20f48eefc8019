/*
 * Receives from any source, or of any tag, and probes for such messages, as far as they come on
 * lanes that are lent. Not if messages wait in the protocol, which have come before. Of peers
 * that have no lane here nothing is seen: from time to time, and where nothing comes, Go looks.
 */
#include "wild.h"
#include "gate.h"
#include "noted.h"

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

/* Looks until a message is there, for as long as the call has patience: only briefly where it may
   come from a rank of which nothing is seen here. */
static struct found look(struct express_table *t, const struct wanted *w, struct express_port *from, uint32_t room, uint32_t looks)
{
	enum { BRIEFLY = 100 };
	struct found f = sift(t, w);
	if (from && t->spins && !f.lane && !f.go && express_unprepared(from))
		express_prepare(t, from);
	if (!from)
		looks = t->ins ? (t->ranks > 2 && looks > BRIEFLY ? BRIEFLY : looks) / t->ins : 0;
	for (uint32_t left = looks; left && !f.lane && !f.go; left = again(left, room))
		if (!from || express_here(t, from))
			f = sift(t, w);
	return f;
}

int exanet_wild_receive(struct express_table *t, void *buf, uint32_t room, int source, int tag, exanet_handle comm, MPI_Status *status)
{
	enum { OWN = 256 /* receives for one in Go */ };
	static unsigned received;
	struct exanet_awaited next;
	enum express_result r;
	struct wanted w;
	struct found f;
	int32_t world, from = 0, as = 0;
	if (!wants(&w, source, tag, comm) || ++received % OWN == 0)
		return 0;
	do {
		r = EXPRESS_REFUSED;
		next = nothing;
		if (!enter(t))
			break;
		struct express_port *p = only(t, &w);
		uint32_t looks = patience(t);
		f = look(t, &w, p, room, looks);
		if (f.lane) {
			from = f.lane->peer, as = f.lane->tag;
			r = express_receive(t, f.lane, buf, room, &f.size, &world);
		} else if (looks && p && w.source != EXPRESS_ANY && !f.go) {
			next = awaited(t, p);
		}
		leave(t);
	} while (next.word && exanet_doze(t, &next));
	if (r == EXPRESS_REFUSED)
		return 0;
	tell(t, r, world);
	if ((uintptr_t)status >= 4096)
		status_is(status, from, as, f.size);
	return 1;
}

int exanet_wild_probe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status, int blocks)
{
	struct wanted w;
	if (!wants(&w, source, tag, comm) || !enter(t))
		return 0;
	uint32_t looks = patience(t);
	struct found f = look(t, &w, only(t, &w), 0, blocks ? looks : 0);
	int some = t->ins != 0;
	if (f.lane && (uintptr_t)status >= 4096)
		status_is(status, f.lane->peer, f.lane->tag, f.size);
	leave(t);
	*flag = f.lane != 0;
	return f.lane || (!blocks && some && !f.go && exanet_vain(looks));
}
