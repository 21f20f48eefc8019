#ifndef EXANET_DOZE_H
#define EXANET_DOZE_H

#include "express.h"

/* The first word of the message that a call waits for, and what its lower 16 bits are when
   it is there; and what the call has advertised to its peer. */
struct exanet_awaited {
	const uint64_t *word;
	uint16_t phase;
	struct express_port *port;
	struct express_advert advert;
};

/* Waits for a message without the gate, and reports whether it may be there: if not, the
   wait goes on in Go. What has been advertised it may have taken back; its word is 0 then. */
int exanet_doze(const struct express_table *t, struct exanet_awaited *a);

#endif
