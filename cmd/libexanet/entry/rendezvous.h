/* Rendezvous of blocking calls on the express lane, see rendezvous.c. */
#ifndef EXANET_RENDEZVOUS_H
#define EXANET_RENDEZVOUS_H

#include "express.h"

/* Whether calls look for rendezvous is a number at each port: when as many as they may have done so in
   vain, the next ones do not, so many as they rest. One that has none takes the rest of its window the
   protocol's way. */
enum { EXANET_REST = 15, EXANET_REST_OF_WINDOWS = 2 };
int exanet_worth(int32_t *number);
void exanet_tried(int32_t *number, int met, int rest);

/* The clock of advertisements. */
int64_t exanet_recent(void);

/* Passes n bytes on a lane to a receive that waits, or begins to within so many looks; and
   receives from the send that has claimed what was advertised. Both want the gate, keep
   it, and return 0 if the message has to go another way. */
int exanet_meet_receive(struct express_lane *l, const void *buf, uint32_t n, uint32_t looks);
int exanet_meet_send(struct express_lane *l, struct express_advert a, uint32_t *size);

/* exanet_meet_receive for a send whose receive need not be a blocking one: if it looks in
   vain, the next ones look but once. */
int exanet_look_for_receive(const struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, uint32_t looks, int blocks);

#endif
