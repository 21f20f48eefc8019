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

int exanet_meet_receive(struct express_lane *l, const void *buf, uint32_t n, uint32_t looks)
{
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	if (p->shut || !p->pid)
		return 0;
	int64_t now = exanet_recent();
	struct express_advert a = {0, 0};
	for (; looks && !a.word; looks--)
		a = express_claim(l, buf, n, now);
	if (!a.word)
		return 0;
	enum express_stage s;
	for (looks = 0; (s = express_write(l, a)) == EXPRESS_WAITING && looks < TURN + TURNS; looks++)
		if (looks >= TURN)
			sched_yield();
	if (s == EXPRESS_WAITING)
		s = express_give_up_write(l, a);
	return s == EXPRESS_COMPLETE;
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

int exanet_look_for_receive(const struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, uint32_t looks, int blocks)
{
	enum { SHORT_LOOKS = 300, WINDOW_LOOKS = 1500, TRUSTED_LOOKS = 12000 };
	struct express_port *p = (struct express_port *)(uintptr_t)l->port;
	if (n <= t->limit) {
		if (express_awaited(p->out))
			return 0; /* while the one copies into the ring the other copies out */
		if (looks > SHORT_LOOKS)
			looks = SHORT_LOOKS;
	} else if (looks && !blocks) {
		looks = p->calm < 0 ? TRUSTED_LOOKS : WINDOW_LOOKS;
	}
	int worth = exanet_worth(&p->calm), met = exanet_meet_receive(l, buf, n, worth ? looks : 1);
	if (worth || met)
		exanet_tried(&p->calm, met, blocks ? EXANET_REST : EXANET_REST_OF_WINDOWS);
	return met;
}

int exanet_meet_send(struct express_lane *l, struct express_advert a, uint32_t *size)
{
	enum express_stage s;
	for (int looks = 0; (s = express_read(l, a, size)) == EXPRESS_WAITING && looks < TURN + TURNS; looks++)
		if (looks >= TURN)
			sched_yield();
	if (s == EXPRESS_WAITING)
		s = express_give_up_read(l, a);
	return s == EXPRESS_COMPLETE;
}
