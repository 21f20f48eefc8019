/*
 * A rendezvous: a long message of a lane goes straight from the buffer of its send to that
 * of its receive, without a word through the ring. The receive advertises its buffer next to
 * the ring of its peer, at a place that follows from the lane and the number of the message.
 * The send with that number claims it, says where its data are, and copies the front. The
 * back is the receive's if that is a blocking call. If it is a noted one, whose rank may be
 * computing, the send takes the back as well unless a call that waits for it was sooner. A
 * send that has gone on to compute copies when it comes back: until then the receive may
 * take the front as well.
 *
 *	bit  0      advertised
 *	bit  1      claimed
 *	bits 2, 3   the front, the back has been copied
 *	bit  4      broken: one side could not go on, or would not wait any longer
 *	bit  5      the send knows that it is broken
 *	bit  6      somebody copies the back, or has
 *	bit  7      the send has gone on: the front is whose who comes first
 *	bit  8      in that case, somebody copies the front, or has
 *	bits 32-63  generation: which use of the word this is
 *
 * A message that is to be combined with what the receive has is combined where it is copied: the
 * receive does so with the back, in its buffer, when it has told that it needs the send's no
 * longer; the send reads what belongs to the front, and writes what it makes of it. Each byte of
 * that is copied twice, so the front is shorter, and a short message has none.
 *
 * The receive owns the word: it begins a use when the one before is over for both sides; for
 * itself it keeps that in the port (open).
 * The message counts when both parts have been copied and it is not broken, for either
 * side by that alone. If it breaks, it has not been sent: the send and the receive go the
 * protocol's way, and write over what has been copied. A side that goes there cannot
 * end before the other one has gone there too, that is before nobody copies any more.
 *
 * A receive with a wildcard wants the next message of all from its peer, of whatever lane. So the send may
 * claim it only if it has put none into the ring since the receive has looked there; and not to go on,
 * since what is sent meanwhile would be sooner if the rendezvous broke.
 *
 * Memory order: what says that a part has been copied, or where something is, is
 * released after it and acquired before the other side relies on it.
 *
 * A process id may come round again when its process has died. So an advertisement
 * holds for a short time only, and who has just claimed one is there.
 */
#include "express.h"

#include <errno.h>
#include <sys/uio.h>

enum {
	ADVERTISED = 1, CLAIMED = 2, FRONT = 4, BACK = 8, BROKEN = 16, SEEN = 32, TAKEN = 64, LATER = 128, LED = 256,
	BOTH = FRONT | BACK, STATE = 0x1ff, PAGE = 4096,
	PIECE = 1 << 18, /* bytes that a send combines at a time */
};

static inline uint64_t generation(uint64_t word) { return word >> 32; }
static inline uint64_t load(const struct express_rendezvous *m) { return __atomic_load_n(&m->word, __ATOMIC_ACQUIRE); }
static inline int change(struct express_rendezvous *m, uint64_t *old, uint64_t to)
{
	return __atomic_compare_exchange_n(&m->word, old, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline struct express_port *port(const struct express_lane *l) { return (struct express_port *)(uintptr_t)l->port; }

static inline struct express_rendezvous *meetings(uint64_t ring) { return ((struct express_ring *)(uintptr_t)ring)->meetings; }

/* What the words of the header of a lane's message with a number are, but for its size. */
static inline uint64_t head(const struct express_lane *l) { return (l->head & ~(uint64_t)0xffffffff) | (uint32_t)l->word; }
static inline uint64_t numbered(const struct express_lane *l, uint32_t number) { return (uint32_t)l->tag | (uint64_t)number << 32; }

/* The place of that message among the meetings of its ring. */
static inline uint32_t place(const struct express_lane *l, uint32_t number)
{
	uint64_t h = head(l);
	return (((uint32_t)(h >> 32) ^ (uint32_t)h ^ (uint32_t)l->tag * 0x85ebca6bu) * 0x9e3779b1u / (1u << 26) + number) % EXPRESS_MEETINGS;
}

/* Whether the use that a word has begun is complete. Once there is a later one it is, since
   none begins before the send knows of a broken one. */
static inline int complete(uint64_t now, uint64_t word)
{
	return generation(now) != generation(word) || (now & (BOTH | BROKEN)) == BOTH;
}

/* Copies n bytes between here and the peer, and reports whether it could. Memory that is not
   there is the matter of one message; what else stands in the way is not tried again. */
static int copy(ssize_t (*call)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long, unsigned long), struct express_port *p, uint64_t here, uint64_t there, uint64_t n)
{
	while (n) {
		struct iovec local = {(void *)(uintptr_t)here, n}, remote = {(void *)(uintptr_t)there, n};
		ssize_t k = call(p->pid, &local, 1, &remote, 1, 0);
		if (k <= 0) {
			if (k < 0 && errno != EFAULT)
				p->pid = 0;
			return 0;
		}
		here += k, there += k, n -= k;
	}
	return 1;
}

/* Combines the bytes of a message from one place to another with the receive's, where the send is. */
static int combine_there(struct express_port *p, const struct express_rendezvous *m, uint64_t from, uint64_t to, const struct express_combination *c)
{
	static char piece[PIECE] __attribute__((aligned(EXPRESS_LINE))); /* whoever has the gate uses it */
	for (uint64_t n; from < to; from += n) {
		n = to - from < PIECE ? to - from : PIECE;
		if (!copy(process_vm_readv, p, (uint64_t)(uintptr_t)piece, m->with + from, n))
			return 0;
		c->fold(c->own + from, piece, n);
		if (!copy(process_vm_writev, p, (uint64_t)(uintptr_t)piece, m->to + from, n))
			return 0;
	}
	return 1;
}

/* The bit of a meeting in its port. */
static inline uint64_t bit(const struct express_rendezvous *m) { return 1ull << (uintptr_t)m / EXPRESS_LINE % EXPRESS_MEETINGS; }

/* The receive's side of a use is over. A call that has left the gate may say so. */
static inline void left(struct express_port *p, struct express_advert a)
{
	__atomic_fetch_and(&p->open, ~bit(a.at), __ATOMIC_RELEASE);
}

struct express_advert express_advertise(struct express_lane *l, void *buf, uint32_t room, uint32_t how, const struct express_combination *c, int64_t now)
{
	static const struct express_advert none;
	struct express_port *p = port(l);
	uint32_t number = l->next + l->noted;
	struct express_rendezvous *m = &meetings(p->in)[place(l, number)];
	if (!p->pid || __atomic_load_n(&p->open, __ATOMIC_ACQUIRE) & bit(m))
		return none;
	uint64_t w = load(m);
	if ((w & STATE) && !complete(w, w) && !(w & SEEN))
		return none;
	m->header[0] = head(l);
	m->header[1] = numbered(l, number);
	m->to = (uint64_t)(uintptr_t)buf;
	m->with = c ? (uint64_t)(uintptr_t)c->own : how & EXPRESS_NEXT ? ((struct express_ring *)(uintptr_t)p->in)->head : 0;
	m->room = room | how | (c ? EXPRESS_COMBINED : 0);
	m->at = now / EXPRESS_TICK;
	w = (generation(w) + 1) << 32 | ADVERTISED;
	__atomic_fetch_or(&p->open, bit(m), __ATOMIC_RELAXED);
	__atomic_store_n(&m->word, w, __ATOMIC_RELEASE);
	return (struct express_advert){m, w};
}

/* Ends a use in any case: breaks it, unless it is complete, and reports which. */
static int end(struct express_rendezvous *m, uint64_t word, uint64_t how)
{
	uint64_t w = load(m);
	do {
		if (complete(w, word))
			return 1;
	} while ((w & how) != how && !change(m, &w, w | how));
	return 0;
}

int express_withdraw(struct express_port *p, struct express_advert a)
{
	uint64_t w = a.word;
	if (!change(a.at, &w, a.word & ~(uint64_t)STATE) && (w & (ADVERTISED | BROKEN)) == ADVERTISED)
		return 0;
	left(p, a);
	return 1;
}

void express_cancel(struct express_port *p, struct express_advert a)
{
	if (express_withdraw(p, a))
		return;
	end(a.at, a.word, BROKEN);
	left(p, a);
}

/* Says that a part has been copied. */
static enum express_stage copied(struct express_lane *l, struct express_rendezvous *m, uint64_t part)
{
	uint64_t w = __atomic_fetch_add(&m->word, part, __ATOMIC_ACQ_REL) + part;
	if ((w & BOTH) != BOTH || (w & BROKEN))
		return EXPRESS_WAITING;
	l->next++;
	return EXPRESS_COMPLETE;
}

enum express_stage express_give_up_read(struct express_lane *l, struct express_advert a)
{
	int whole = end(a.at, a.word, BROKEN);
	left(port(l), a);
	l->next += whole;
	return whole ? EXPRESS_COMPLETE : EXPRESS_OVER;
}

enum express_stage express_give_up_write(struct express_lane *l, struct express_advert a)
{
	int whole = end(a.at, a.word, BROKEN | SEEN);
	l->next += whole;
	return whole ? EXPRESS_COMPLETE : EXPRESS_OVER;
}

/* Takes the front of a send that has gone on. */
static inline int lead(struct express_rendezvous *m, uint64_t *w) { return (*w & (LATER | LED)) == LATER && change(m, w, *w | LED); }

/* Whether the process id of the other side may be another's by now. */
static inline int stale(const struct express_rendezvous *m, uint64_t w, int64_t now) { return w & LATER && (uint32_t)(now / EXPRESS_TICK) - m->at > EXPRESS_FRESH; }

enum express_stage express_read(struct express_lane *l, struct express_advert a, int64_t now, const struct express_combination *c, uint32_t *size)
{
	struct express_port *p = port(l);
	struct express_rendezvous *m = a.at;
	uint64_t w = load(m), from, n, part;
	if (w == a.word)
		return EXPRESS_WAITING;
	*size = m->size;
	if ((w & BROKEN) || complete(w, a.word))
		return express_give_up_read(l, a);
	if (stale(m, w, now))
		return EXPRESS_STALE;
	if (!(w & TAKEN) && change(m, &w, w | TAKEN))
		from = m->front, n = m->size - from, part = BACK;
	else if (lead(m, &w))
		from = 0, n = m->front, part = FRONT;
	else
		return EXPRESS_WAITING;
	if (!copy(process_vm_readv, p, m->to + from, m->from + from, n))
		return express_give_up_read(l, a);
	void *to = (void *)(uintptr_t)(m->to + from);
	enum express_stage s = copied(l, m, part);
	if (c)
		c->fold(c->own + from, to, n);
	if (s == EXPRESS_COMPLETE)
		left(p, a);
	return s;
}

/* The bytes of a message of n that a send is to combine. */
static inline uint32_t share(uint32_t n)
{
	enum { SHORT = 128 << 10, LONG = 512 << 10 };
	return n < SHORT ? 0 : n < LONG ? n / 4 : n / 8 * 3;
}

struct express_advert express_claim(struct express_lane *l, const void *buf, uint32_t n, int later, int64_t now)
{
	static const struct express_advert none;
	struct express_port *p = port(l);
	struct express_rendezvous *m = &meetings(p->out)[place(l, l->next)];
	uint64_t w = load(m), state = CLAIMED;
	uint32_t how = m->room, room = how & ~(EXPRESS_EXACT | EXPRESS_COMBINED | EXPRESS_AWAITED | EXPRESS_NEXT);
	if ((w & STATE) != ADVERTISED || m->header[0] != head(l) || m->header[1] != numbered(l, l->next) ||
	    n > room || (how & EXPRESS_EXACT && n < room) || (uint32_t)(now / EXPRESS_TICK) - m->at > EXPRESS_FRESH)
		return none;
	if (how & EXPRESS_NEXT && (later || m->with != ((struct express_ring *)(uintptr_t)p->out)->tail))
		return none;
	m->from = (uint64_t)(uintptr_t)buf;
	m->size = n;
	m->front = (how & EXPRESS_COMBINED ? share(n) : n / 2) & ~(uint32_t)(PAGE - 1);
	if (!later && !(how & EXPRESS_AWAITED) && !express_awaited(p->out)) {
		m->front = n;
		state |= TAKEN | BACK;
	}
	if (later) {
		m->at = now / EXPRESS_TICK;
		state |= LATER;
	}
	if (!m->front)
		state |= FRONT | LED;
	return change(m, &w, w | state) ? (struct express_advert){m, w} : none;
}

enum express_stage express_write(struct express_lane *l, struct express_advert a, int64_t now, const struct express_combination *c)
{
	struct express_port *p = port(l);
	struct express_rendezvous *m = a.at;
	uint64_t w = load(m), from = 0, to = m->front, part = FRONT;
	if ((w & BROKEN) || complete(w, a.word))
		return express_give_up_write(l, a);
	if (stale(m, w, now))
		return EXPRESS_STALE;
	if (w & (FRONT | LATER) && !lead(m, &w)) {
		if ((w & TAKEN) || m->room & EXPRESS_AWAITED || !change(m, &w, w | TAKEN))
			return EXPRESS_WAITING;
		from = m->front, to = m->size, part = BACK;
	}
	if (!(c ? combine_there(p, m, from, to, c) : copy(process_vm_writev, p, m->from + from, m->to + from, to - from)))
		return express_give_up_write(l, a);
	return copied(l, m, part);
}
