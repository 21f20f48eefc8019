/*
 * How long blocking calls wait for each other on the express lane, when one of them passes a
 * long message straight to the other (rendezvous.c of internal/lanec, which has the steps).
 * A send that could go through the ring looks for a receive for a fraction of the time that
 * this would take; one that is too long for that looks longer, since the way into Go and
 * back takes longer. Where receives are not posted by blocking calls, both soon give up
 * to look.
 */
#include "rendezvous.h"

#include <sched.h>
#include <time.h>

/* TURN: looks until the other side's turn, which copies, before the processor goes to others; TURNS: how
   often it does before a call gives up, about a millisecond. */
enum { TURN = 20000, TURNS = 1000 };

int64_t exanet_recent(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Claims the receive of a send, if one comes within so many looks. */
static struct express_advert claim(struct express_lane *l, const void *buf, uint32_t n, int later, uint32_t looks)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	struct express_advert a = {0, 0};
	if (p->shut || !p->pid)
		return a;
	int64_t now = exanet_recent();
	for (; looks && !a.word; looks--)
		a = express_claim(l, buf, n, later, now);
	return a;
}

/* The turns of a send, as long as it waits for the other side's, but not for more than so many looks. */
static enum express_stage turns(struct express_lane *l, struct express_advert a, const struct express_combination *c, int most)
{
	int64_t now = exanet_recent();
	enum express_stage s;
	for (int looks = 0; (s = express_write(l, a, now, c)) == EXPRESS_WAITING && looks < most; looks++)
		if (looks >= TURN)
			sched_yield();
	return s;
}

int exanet_meet_receive(struct express_lane *l, const void *buf, uint32_t n, const struct express_combination *c, uint32_t looks)
{
	struct express_advert a = claim(l, buf, n, 0, looks);
	if (!a.word)
		return 0;
	enum express_stage s = turns(l, a, c, TURN + TURNS);
	if (s == EXPRESS_WAITING)
		s = express_give_up_write(l, a);
	return s == EXPRESS_COMPLETE;
}

__attribute__((noinline, cold)) int exanet_push(struct express_table *t, struct express_slot *s, int waits)
{
	if (!s->advert.word)
		return 0;
	switch (turns(express_lane_of(t, s), s->advert, 0, waits ? TURN + TURNS : 1)) {
	case EXPRESS_COMPLETE:
		express_sent(t, s);
		return 1;
	case EXPRESS_OVER:
		s->advert.word = 0;
		return 0;
	default:
		return 0;
	}
}

/* Above 0 the number is that of calls that do not look; below, of those that may do so in
   vain, since others have met. */
int exanet_worth(int32_t *number)
{
	if (*number <= 0)
		return 1;
	--*number;
	return 0;
}

void exanet_tried(int32_t *number, int met, int rest)
{
	enum { TRUST = 3 };
	if (met)
		*number = -TRUST;
	else
		*number = *number < 0 ? *number + 1 : rest;
}

/* SHORT_LOOKS: for what could go through the ring; LATER_LOOKS: for a send that does not block, or would
   go on; TRUSTED_LOOKS: for one that does not block where others have met. */
enum { SHORT_LOOKS = 300, LATER_LOOKS = 1500, TRUSTED_LOOKS = 12000 };

__attribute__((noinline)) int exanet_look_for_receive(const struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, uint32_t looks, int blocks)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	if (n <= t->limit) {
		if (express_awaited(p->out))
			return 0; /* while the one copies into the ring the other copies out */
		if (looks > SHORT_LOOKS)
			looks = SHORT_LOOKS;
	} else if (looks && !blocks) {
		looks = p->calm < 0 ? TRUSTED_LOOKS : LATER_LOOKS;
	}
	int worth = exanet_worth(&p->calm), met = exanet_meet_receive(l, buf, n, 0, worth ? looks : 1);
	if (worth || met)
		exanet_tried(&p->calm, met, blocks ? EXANET_REST : EXANET_REST_OF_WINDOWS);
	return met;
}

uint32_t exanet_send_later(struct express_table *t, uint64_t comm, const void *buf, uint32_t n, int dest, int tag, uint32_t looks)
{
	struct express_lane *l = express_busy(t->out, comm, dest, tag);
	if ((l && !exanet_push(t, &t->slots[l->noted - 1], 1)) || !express_vacant(t))
		return 0;
	if (!l && !(l = express_find(t->out, comm, dest, tag)))
		return 0;
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	int worth = exanet_worth(&p->calm);
	struct express_advert a = claim(l, buf, n, 1, worth && looks ? LATER_LOOKS : 1);
	if (worth || a.word)
		exanet_tried(&p->calm, a.word != 0, EXANET_REST_OF_WINDOWS);
	return a.word ? express_go_on(t, l, buf, n, a) : 0;
}

enum express_stage exanet_meet_send(struct express_lane *l, struct express_advert a, const struct express_combination *c, uint32_t *size)
{
	int64_t now = exanet_recent();
	enum express_stage s;
	for (int looks = 0; (s = express_read(l, a, now, c, size)) == EXPRESS_WAITING && looks < TURN + TURNS; looks++)
		if (looks >= TURN)
			sched_yield();
	return s == EXPRESS_WAITING ? express_give_up_read(l, a) : s;
}
