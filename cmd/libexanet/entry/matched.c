/*
 * Matched probes on the express lane. The message that one finds is taken out of the ring, as by a
 * receive, into a place of its own, where it is until it is received. So nothing else can match it,
 * and later messages pass. What cannot be received here, since its type has gaps, or the room is too
 * small, or without waiting, Go makes a message of, under another handle.
 */
#include "wild.h"
#include "gate.h"

#include <string.h>

enum { PLACES = 16, MOST = 32 << 10 /* bytes of a message, as many as a ring takes */, BASE = EXPRESS_BASE /* below are Go's */ };

/* A message that is to be received. Its bytes are where data says; 0: there is none. */
static struct message {
	char *data;
	exanet_handle comm;
	int32_t source, tag;
	uint32_t size;
} places[PLACES];
static char data[PLACES][MOST];

exanet_handle exanet_no_message;
exanet_handle (*exanet_extracted)(exanet_handle comm, int32_t source, int32_t tag, const void *data, uint64_t size);

/* The message of a handle, 0 if it is none of these. */
static struct message *of(const MPI_Message *message)
{
	uint32_t n = exanet_number_of(*(const exanet_handle *)message, EXANET_MESSAGE);
	return n >= BASE && n < BASE + PLACES && places[n - BASE].data ? &places[n - BASE] : 0;
}

/* A place that nobody has; 0 if all are taken. Threads may ask at the same time. */
static struct message *vacant(void)
{
	for (int i = 0; i < PLACES; i++)
		if (!places[i].data && !__atomic_exchange_n(&places[i].data, data[i], __ATOMIC_ACQUIRE))
			return &places[i];
	return 0;
}

static void release(struct message *m) { __atomic_store_n(&m->data, 0, __ATOMIC_RELEASE); }

static int take(struct express_table *t, int source, int tag, exanet_handle comm, int waits, MPI_Message *message, MPI_Status *status)
{
	struct exanet_taken taken;
	struct message *m = vacant();
	if (!m)
		return 0;
	if (!exanet_wild_take(t, m->data, MOST, source, tag, comm, waits, &taken)) {
		release(m);
		return 0;
	}
	m->comm = comm;
	m->source = taken.source;
	m->tag = taken.tag;
	m->size = taken.size;
	*(exanet_handle *)message = exanet_handle_of(BASE + (m - places), EXANET_MESSAGE);
	if ((uintptr_t)status >= 4096)
		status_is(status, taken.source, taken.tag, taken.size);
	return 1;
}

int exanet_lane_mprobe(struct express_table *t, int source, int tag, exanet_handle comm, MPI_Message *message, MPI_Status *status)
{
	return take(t, source, tag, comm, 1, message, status);
}

int exanet_lane_improbe(struct express_table *t, int source, int tag, exanet_handle comm, int *flag, MPI_Message *message, MPI_Status *status)
{
	if (!exanet_wild_probe(t, source, tag, comm, flag, status, 0))
		return 0;
	return !*flag || take(t, source, tag, comm, 0, message, status);
}

/* Has Go make a message of one, under another handle. */
static void extract(struct message *m, MPI_Message *message)
{
	*(exanet_handle *)message = exanet_extracted(m->comm, m->source, m->tag, m->data, m->size);
	release(m);
}

int exanet_lane_mrecv(struct express_table *t, void *buf, int64_t count, exanet_handle type, MPI_Message *message, MPI_Status *status)
{
	struct message *m = of(message);
	if (!m)
		return 0;
	if (bytes(buf, count, type, t->most) < (int64_t)m->size) {
		extract(m, message);
		return 0;
	}
	memcpy(buf, m->data, m->size);
	if ((uintptr_t)status >= 4096)
		status_is(status, m->source, m->tag, m->size);
	*(exanet_handle *)message = exanet_no_message;
	release(m);
	return 1;
}

int exanet_lane_imrecv(struct express_table *t, void *buf, int64_t count, exanet_handle type, MPI_Message *message, MPI_Request *request)
{
	struct message *m = of(message);
	(void)t, (void)buf, (void)count, (void)type, (void)request;
	if (m)
		extract(m, message);
	return 0;
}
