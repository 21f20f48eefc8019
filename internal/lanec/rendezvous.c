/*
 * A rendezvous: a long message of a lane goes straight from the buffer of a blocking send
 * to that of a blocking receive, and each of the two copies its share. The receive
 * advertises its buffer, next to the ring of its peer. The send that is the next of
 * that lane claims it, says where its data are, and copies the front; the receive
 * sees the claim and copies the back.
 *
 *	bit  0      advertised
 *	bit  1      claimed
 *	bits 2, 3   the front, the back has been copied
 *	bit  4      broken: one side could not go on, or would not wait any longer
 *	bit  5      the send knows that it is broken
 *	bits 32-63  generation: which use of the word this is
 *
 * The receive owns the word: it begins a use when the one before is over for both sides.
 * The message counts when both parts have been copied and it is not broken, for either
 * side by that alone. If it breaks, it has not been sent: the send and the receive go the
 * protocol's way, and write over what has been copied. A side that goes there cannot
 * end before the other one has gone there too, that is before nobody copies any more.
 *
 * Memory order: what says that a part has been copied, or where something is, is
 * released after it and acquired before the other side relies on it.
 *
 * A process id may come round again when its process has died. So an advertisement
 * holds for a short time only, and who has just claimed one is there.
 */
#define _GNU_SOURCE
#include "express.h"

#include <errno.h>
#include <sys/uio.h>

enum {
	ADVERTISED = 1, CLAIMED = 2, FRONT = 4, BACK = 8, BROKEN = 16, SEEN = 32,
	BOTH = FRONT | BACK, STATE = 0xff, PAGE = 4096,
};

static inline uint64_t generation(uint64_t word) { return word >> 32; }
static inline uint64_t load(const struct express_rendezvous *m) { return __atomic_load_n(&m->word, __ATOMIC_ACQUIRE); }
static inline int change(struct express_rendezvous *m, uint64_t *old, uint64_t to)
{
	return __atomic_compare_exchange_n(&m->word, old, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline struct express_port *port(const struct express_lane *l) { return (struct express_port *)(uintptr_t)l->port; }

/* The third word of the header of a lane's next message. */
static inline uint64_t next(const struct express_lane *l) { return (uint32_t)l->tag | (uint64_t)l->next << 32; }

/* The bytes of n that the send is to copy. */
static inline uint64_t front(uint64_t n) { return n / 2 & ~(uint64_t)(PAGE - 1); }

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

uint64_t express_advertise(struct express_lane *l, void *buf, uint64_t room, uint64_t how, int64_t now)
{
	struct express_port *p = port(l);
	if (!p->pid)
		return 0;
	struct express_rendezvous *m = express_meeting(p->in);
	uint64_t w = load(m);
	if ((w & STATE) && !complete(w, w) && !(w & SEEN))
		return 0;
	m->header[0] = (l->head & ~(uint64_t)0xffffffff) | (uint32_t)l->word;
	m->header[1] = next(l);
	m->to = (uint64_t)(uintptr_t)buf;
	m->room = room | how;
	m->at = now;
	w = (generation(w) + 1) << 32 | ADVERTISED;
	__atomic_store_n(&m->word, w, __ATOMIC_RELEASE);
	return w;
}

int express_withdraw(const struct express_port *p, uint64_t word)
{
	uint64_t w = word;
	return change(express_meeting(p->in), &w, word & ~(uint64_t)STATE) || (w & BROKEN);
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

void express_cancel(const struct express_port *p, uint64_t word)
{
	if (!express_withdraw(p, word))
		end(express_meeting(p->in), word, BROKEN);
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

enum express_stage express_give_up_read(struct express_lane *l, uint64_t word)
{
	if (!end(express_meeting(port(l)->in), word, BROKEN))
		return EXPRESS_OVER;
	l->next++;
	return EXPRESS_COMPLETE;
}

enum express_stage express_give_up_write(struct express_lane *l, uint64_t word)
{
	if (!end(express_meeting(port(l)->out), word, BROKEN | SEEN))
		return EXPRESS_OVER;
	l->next++;
	return EXPRESS_COMPLETE;
}

enum express_stage express_read(struct express_lane *l, uint64_t word, uint32_t *size)
{
	struct express_port *p = port(l);
	struct express_rendezvous *m = express_meeting(p->in);
	uint64_t w = load(m);
	if (w == word)
		return EXPRESS_WAITING;
	*size = m->size;
	if ((w & BROKEN) || complete(w, word))
		return express_give_up_read(l, word);
	if (w & BACK)
		return EXPRESS_WAITING;
	uint64_t at = m->room & EXPRESS_ALONE ? 0 : front(m->size);
	if (!copy(process_vm_readv, p, m->to + at, m->from + at, m->size - at))
		return express_give_up_read(l, word);
	return copied(l, m, BACK);
}

uint64_t express_claim(struct express_lane *l, const void *buf, uint64_t n, int64_t now)
{
	struct express_port *p = port(l);
	struct express_rendezvous *m = express_meeting(p->out);
	uint64_t w = load(m), room = m->room & ~(EXPRESS_EXACT | EXPRESS_ALONE);
	if ((w & STATE) != ADVERTISED || m->header[0] != ((l->head & ~(uint64_t)0xffffffff) | (uint32_t)l->word) || m->header[1] != next(l) ||
	    n > room || (m->room & EXPRESS_EXACT && n < room) || now - m->at > EXPRESS_FRESH)
		return 0;
	m->from = (uint64_t)(uintptr_t)buf;
	m->size = n;
	return change(m, &w, w | CLAIMED | (m->room & EXPRESS_ALONE ? FRONT : 0)) ? w : 0;
}

enum express_stage express_write(struct express_lane *l, uint64_t word)
{
	struct express_port *p = port(l);
	struct express_rendezvous *m = express_meeting(p->out);
	uint64_t w = load(m);
	if ((w & BROKEN) || complete(w, word))
		return express_give_up_write(l, word);
	if (w & FRONT)
		return EXPRESS_WAITING;
	if (!copy(process_vm_writev, p, m->from, m->to, front(m->size)))
		return express_give_up_write(l, word);
	return copied(l, m, FRONT);
}
