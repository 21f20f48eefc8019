/* Noted receives of the express lane, see noted.c. What may change one wants the gate, but for
   exanet_wait, which takes it. */
#ifndef EXANET_NOTED_H
#define EXANET_NOTED_H

#include "express.h"
#include "handles.h"
#include "lane.h"

extern exanet_handle exanet_no_request;

/* Notes a receive of a lane; returns its slot+1, 0 if it has to be posted. */
uint32_t exanet_note(struct express_table *t, struct express_lane *l, void *buf, uint32_t room);

/* Whether a handle is one of the lane's, or none; and its slot, 0 if it has none. The handle of a
   persistent request stands for what has been started of it. */
int exanet_known(const struct express_table *t, exanet_handle h);
struct express_slot *exanet_slot(struct express_table *t, exanet_handle h);

/* Completes a noted receive from the peer of one, if a message is there, or comes within so many
   looks. */
enum exanet_move { EXANET_NOTHING, EXANET_MOVED, EXANET_IN_GO };
enum exanet_move exanet_move(struct express_table *t, struct express_slot *s, uint32_t left);

/* Takes one message that is there for the oldest noted receive, of a rank that sends at the same time:
   else a window of messages each way is in nobody's cache any more when it is received. */
void exanet_take_in_turn(struct express_table *t);

/* The place of a persistent request, 0 if it has none. */
static inline struct express_kept *exanet_kept(struct express_table *t, exanet_handle h)
{
	uint32_t n = exanet_number_of(h, EXANET_REQUEST);
	return n > 0 && n < EXPRESS_KEPTS ? &t->kept[n] : 0;
}

/* Ends a request that is done; a persistent one keeps its handle. */
void exanet_end(struct express_table *t, exanet_handle *h, MPI_Status *status);

/* Waits for n requests of the lane, until what is left belongs into Go. */
int exanet_wait(struct express_table *t, int n, exanet_handle *h, MPI_Status *statuses);

/* Whether a test that has found nothing may say so by itself: not if calls belong into Go, which
   may look no times, and now and then, for deaths and the like. */
unsigned exanet_vain(uint32_t looks);

#endif
