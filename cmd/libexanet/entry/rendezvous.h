/* Rendezvous of blocking calls on the express lane, see rendezvous.c. */
#ifndef EXANET_RENDEZVOUS_H
#define EXANET_RENDEZVOUS_H

#include "express.h"

/* Whether calls look for rendezvous is a number at each port: when as many as they may have done so in
   vain, the next ones do not, so many as they rest. Sends that block rest for EXANET_REST, others take the
   rest of their window the protocol's way; receives that could have their messages through the
   ring rest for EXANET_REST_OF_RECEIVES, long ones for EXANET_REST_OF_LONG (as Port.Miss of package
   express has it). The numbers+1 have no common divisor: two sides that have got out of step meet again. */
enum { EXANET_REST = 15, EXANET_REST_OF_WINDOWS = 2, EXANET_REST_OF_RECEIVES = 16, EXANET_REST_OF_LONG = 4 };
int exanet_worth(int32_t *number);
void exanet_tried(int32_t *number, int met, int rest);

/* The clock of advertisements. */
int64_t exanet_recent(void);

/* Passes n bytes on a lane to a receive that waits, or begins to within so many looks; and
   receives from the send that has claimed what was advertised. Both want the gate, keep
   it, and end the rendezvous, unless it is stale; the first returns 0 if the message has to go another way. */
int exanet_meet_receive(struct express_lane *l, const void *buf, uint32_t n, const struct express_combination *c, uint32_t looks);
enum express_stage exanet_meet_send(struct express_lane *l, struct express_advert a, const struct express_combination *c, uint32_t *size);

/* Begins to send n bytes to a receive that is advertised, and goes on: whichever rank comes to wait for
   it copies. Returns the slot+1 of the request, 0 if the message has to go another way. With
   the gate held, as the next. */
uint32_t exanet_send_later(struct express_table *t, uint64_t comm, const void *buf, uint32_t n, int dest, int tag, uint32_t looks);

/* Carries such a send on, and waits for it, or not; 0: it is not done. If no
   advertisement is left, the protocol has to send the message. */
int exanet_push(struct express_table *t, struct express_slot *s, int waits);

/* exanet_meet_receive for a send whose receive need not be a blocking one: if it looks in
   vain, the next ones look but once. */
int exanet_look_for_receive(const struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, uint32_t looks, int blocks);

#endif
