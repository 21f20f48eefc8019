/* Calls with wildcards on the express lane, see wild.c. */
#ifndef EXANET_WILD_H
#define EXANET_WILD_H

#include "lane.h"

static inline int exanet_wild(int source, int tag) { return source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }

/* Of a message: from whom, and how long it is. */
struct exanet_taken {
	int32_t source, tag;
	uint32_t size;
};

/* Receives into buf, which has so much room; and so for a matched probe, which may wait, a message that comes
   through the ring. Source and tag need be no wildcards. */
int exanet_wild_receive(struct express_table *t, void *buf, uint32_t room, int source, int tag, exanet_handle comm, MPI_Status *status);
int exanet_wild_take(struct express_table *t, void *buf, uint32_t room, int source, int tag, exanet_handle comm, int waits, struct exanet_taken *taken);
int exanet_wild_probe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status, int blocks);

#endif
