/* Messages of channels that are leased (package fastpath), see channel.c. The caller has the table's lock. */
#ifndef EXANET_CHANNEL_H
#define EXANET_CHANNEL_H

#include "layout.h"
#include "ring.h"

static inline struct fast_port *port_of(const struct fast_channel *ch)
{
	return (struct fast_port *)(uintptr_t)ch->port;
}
static inline struct ring *ring_at(uint64_t address) { return (struct ring *)(uintptr_t)address; }

/* A channel of one direction of the table, 0 if it is not leased. */
static inline struct fast_channel *channel_find(struct fast_channel *all, uint64_t comm, int32_t peer, int32_t tag)
{
	uint32_t mixed = ((uint32_t)comm ^ (uint32_t)(comm >> 32)) * (uint32_t)PLACE_COMM_FACTOR;
	mixed += (uint32_t)peer * (uint32_t)PLACE_PEER_FACTOR + (uint32_t)tag * (uint32_t)PLACE_TAG_FACTOR;
	struct fast_channel *ch = &all[mixed >> PLACE_SHIFT];
	return ch->leased && ch->comm == comm && ch->peer == peer && ch->tag == tag ? ch : 0;
}

/* Sends a message, and reports whether it could. */
int fast_send(struct fast_table *t, uint64_t comm, const void *buf, uint32_t n, int32_t dest, int32_t tag);

/* Whether a message is there from the peer of a channel, but such as tell what it has consumed: those it takes. */
int fast_arrived(struct fast_table *t, struct fast_port *p);

/* Receives the next message of a channel without pending receives. Reports 0 if none is there, if another is, or
   if there is not enough room. */
int fast_receive(struct fast_table *t, struct fast_channel *ch, void *buf, uint32_t room, uint32_t *size);

/* Makes a receive pending; returns its slot+1, 0 if none is free. */
uint32_t fast_post(struct fast_table *t, struct fast_channel *ch, void *buf, uint32_t room);
static inline int fast_vacant(const struct fast_table *t) { return t->free || t->fresh < FAST_SLOTS; }

/* Completes a pending receive by the next message from a peer, and reports whether it could. */
int fast_complete(struct fast_table *t, struct fast_port *p);

/* Gives a slot back. */
void fast_release(struct fast_table *t, struct fast_slot *s);

#endif
