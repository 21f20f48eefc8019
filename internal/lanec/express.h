/* The express lane: see package express, whose tables these are, word by word. */
#ifndef EXANET_EXPRESS_H
#define EXANET_EXPRESS_H

#include "../boardc/across.h"

#include <stddef.h>
#include <stdint.h>

enum { EXPRESS_LANES = 256, EXPRESS_SLOTS = 2048, EXPRESS_KEPTS = 256 };

/* Of a lane: it has been lent; and a send of it has gone on, whose slot+1 is in noted. */
enum { EXPRESS_LENT = 1, EXPRESS_BUSY = 2 };

struct express_lane {
	uint64_t comm;
	int32_t peer, tag;
	uint64_t head, word;
	uint64_t port;
	uint32_t next, noted, lent;
	uint32_t spare[3];
};

struct express_port {
	int64_t unmatched, consumed;
	uint32_t shut;
	int32_t world;
	uint64_t out, in, bell;
	int32_t pid, calm, shy, idle;
	uint64_t open;
};

/* What a receive has advertised: where, and the word that says so; 0: nothing. */
struct express_advert {
	struct express_rendezvous *at;
	uint64_t word;
};

enum { EXPRESS_UNUSED, EXPRESS_NOTED, EXPRESS_DONE, EXPRESS_POSTED, EXPRESS_SENDING };

struct express_slot {
	uint64_t buf;
	uint32_t room, state;
	uint64_t comm;
	int32_t source, tag;
	uint32_t size, lane;
	uint32_t next, prev;
	struct express_advert advert;
};

/* A persistent request, by its number. Away is the number of what has been started of it, or a
   number below those. */
struct express_kept {
	uint64_t buf;
	int64_t count;
	uint64_t type, comm;
	int32_t peer, tag;
	uint32_t sends, away;
};

/* How who waits hands his core to other ranks: by yields, or only by sleeping; or each has one. */
enum express_crowd { EXPRESS_ROOMY, EXPRESS_YIELDING, EXPRESS_NAPPING };

/* Who may touch the rest, see type Gate. */
struct express_gate {
	uint32_t shut, inside, many, spare;
	uint64_t caller;
};

struct express_table {
	struct express_gate gate;
	uint32_t armed, spins, limit;
	uint32_t cells, shift, bulk, window, crowd;
	uint32_t first, last, free, fresh;
	uint64_t outside, cell, berths, own;
	uint32_t step, fenced;
	uint32_t direct, most;
	uint32_t sends, ins, turn, strays, ranks;
	uint32_t percore;
	uint16_t listed[EXPRESS_LANES];
	uint64_t credit[2];
	struct express_lane in[EXPRESS_LANES], out[EXPRESS_LANES];
	struct express_slot slots[EXPRESS_SLOTS];
	struct express_kept kept[EXPRESS_KEPTS];
};

/* A receive that waits for a long message, see rendezvous.c: by what its message is known, its
   buffer, what the message is to be combined with, and the buffer of the send that has come to
   it, which copies the front. */
struct express_rendezvous {
	uint64_t word;
	uint64_t header[2], to;
	uint64_t with; /* or up to where the ring had been read, if it is to be the next message */
	uint64_t from;
	uint32_t room; /* and how the receive wants it */
	uint32_t at;   /* when, in EXPRESS_TICKs of the monotonic clock */
	uint32_t size, front;
};

enum { EXPRESS_MEETINGS = 64 };

static const uint32_t EXPRESS_ON_BELT = 1u << 31;

/* A ring of package host: what the producer touches; what the consumer has released, and
   whether it waits in a call; whether the producer waits for what is released; what the
   consumer touches; how it wants bulk to be written; how far the producer has come with the belt; where the two meet; cells; bulk. */
struct express_ring {
	uint64_t tail, credit, bulk_tail, bulk_credit;
	uint8_t opened, attach;
	uint8_t spare1[2];
	uint32_t recent; /* bytes of the last message with bulk, if it was hot, or cold with EXPRESS_ON_BELT, until the place of the next one has been prepared */
	uint64_t claimed[2], done;
	uint64_t released, bulk_released;
	uint32_t waits;
	uint32_t spare2[11];
	uint32_t starved;
	uint32_t spare3[15];
	uint64_t head, returned, bulk_head, bulk_returned, bulk_done;
	uint64_t spare4[3];
	struct across gauge;
	uint64_t cold; /* where the next cold copy goes, on the belt */
	uint64_t spare5[23]; /* cells begin with four lines */
	struct express_rendezvous meetings[EXPRESS_MEETINGS];
};

enum { EXPRESS_CELL = 256, EXPRESS_HEADER = 24, EXPRESS_INLINE = EXPRESS_CELL - EXPRESS_HEADER, EXPRESS_LINE = 64,
	EXPRESS_SHORT = EXPRESS_LINE - EXPRESS_HEADER - 8 /* payload beside which done has room */, EXPRESS_FRONT = 8192 /* for which the bulk space begins again, and behind which */, EXPRESS_WINDOW = 32768 /* and up to which */,
	EXPRESS_SLACK = 256 << 10 /* what a jump in the bulk space leaves: more than the consumer consumes before it gives back */ };

struct express_cell {
	uint64_t header[3];
	union {
		unsigned char payload[EXPRESS_INLINE];
		struct {
			unsigned char start[EXPRESS_SHORT - 16];
			uint64_t told; /* of how bulk of ACROSS_LEAST bytes or more has been written */
			uint64_t bulk_at, done;
		};
	};
};

/* The flags of a bell that any message rings. */
enum { EXPRESS_BELLS = 3 };

/* What became of a try. STARVED: done, and the peer, whose rank in the job is in
   world, waits for room; RUNG: done, and its bell is up, for the message or for what a receive
   has had to tell. */
enum express_result { EXPRESS_REFUSED, EXPRESS_SENT, EXPRESS_RUNG, EXPRESS_RECEIVED, EXPRESS_STARVED };

/* As mem.Thread has it. */
static inline uint64_t express_thread(void)
{
#ifdef __x86_64__
	uint64_t thread;
	__asm__("mov %%fs:0, %0" : "=r"(thread));
	return thread;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

static inline void express_leave(struct express_table *t) { __atomic_store_n(&t->gate.inside, 0, __ATOMIC_RELEASE); }

/* Takes the gate, and reports whether it could. That this thread is inside may be seen after it has looked whether the
   gate is shut: who shuts it sees to that. On ARM64 a load that acquires would wait for the store by
   which the call before left, so the fence is apart. */
static inline int express_enter(struct express_table *t)
{
	struct express_gate *g = &t->gate;
	uint32_t shut, out = 0;
	if (__builtin_expect(g->many, 0)) {
		if (!__atomic_compare_exchange_n(&g->inside, &out, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return 0;
		shut = __atomic_load_n(&g->shut, __ATOMIC_SEQ_CST);
	} else {
		uint64_t thread = express_thread();
		if (__builtin_expect(__atomic_load_n(&g->caller, __ATOMIC_RELAXED) != thread, 0)) {
			/* One of Go's may have the number of a thread that has ended: it sees that another calls, or is seen to shut. */
			__atomic_store_n(&g->caller, thread, __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		}
		__atomic_store_n(&g->inside, 1, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		shut = __atomic_load_n(&g->shut, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	}
	if (__builtin_expect(shut, 0))
		express_leave(t);
	return !shut;
}

/* The steps, with the gate held. */
enum express_result express_send(struct express_table *t, uint64_t comm, const void *buf, uint32_t n, int32_t dest, int32_t tag, int32_t *world);
enum express_result express_receive(struct express_table *t, struct express_lane *l, void *buf, uint32_t room, uint32_t *size, int32_t *world);
enum express_result express_peek(const struct express_table *t, const struct express_lane *l, uint32_t *size);
uint64_t express_prepare(const struct express_table *t, struct express_port *p);
int express_admits(const struct express_lane *l, uint64_t comm, int32_t source, int32_t tag);
struct express_lane *express_sift(struct express_table *t, uint64_t comm, int32_t source, int32_t tag, uint32_t *size, struct express_port **other);
enum express_result express_progress(struct express_table *t, struct express_port *p, int32_t *world);
enum express_result express_credit(struct express_table *t, struct express_port *p, int32_t *world);
struct express_lane *express_find(struct express_lane *lanes, uint64_t comm, int32_t peer, int32_t tag);
struct express_lane *express_busy(struct express_lane *lanes, uint64_t comm, int32_t peer, int32_t tag);
uint32_t express_note(struct express_table *t, struct express_lane *l, void *buf, uint32_t room, struct express_advert a);
struct express_slot *express_oldest(struct express_table *t, uint32_t lane);
void express_done(struct express_table *t, struct express_slot *s, uint32_t size);
void express_release(struct express_table *t, uint32_t slot);
uint32_t express_go_on(struct express_table *t, struct express_lane *l, const void *buf, uint32_t n, struct express_advert a);
void express_sent(struct express_table *t, struct express_slot *s);

/* For a source or a tag: whichever. */
enum { EXPRESS_ANY = INT32_MIN };

/* In the handle of a communicator: its collectives. */
static const uint64_t EXPRESS_COLLECTIVE = 1ull << 62;

/* How a receive wants its message, beside the bytes that fit: just so many; combined with what it
   has itself; that its call waits; and only if it is the next of all messages from the peer, as one with a
   wildcard must. */
static const uint32_t EXPRESS_EXACT = 1u << 31, EXPRESS_COMBINED = 1u << 30, EXPRESS_AWAITED = 1u << 29, EXPRESS_NEXT = 1u << 28;

enum { EXPRESS_TICK = 1 << 20 /* ns */, EXPRESS_FRESH = 19 /* ticks for which an advertisement holds */ };

/* What either side of a rendezvous combines with what it has itself. */
struct express_combination {
	void (*fold)(const void *in, void *inout, size_t n); /* commutes; n is a multiple of 8 but for the end */
	const char *own;
};

/* What a step of a rendezvous has found. WAITING: it is the other side's turn; COMPLETE: the
   message is where it belongs; OVER: it has to go another way; STALE: the send has gone on so long
   ago that the protocol has to see first whether the other side lives. */
enum express_stage { EXPRESS_WAITING, EXPRESS_COMPLETE, EXPRESS_OVER, EXPRESS_STALE };

/* The steps of a rendezvous, with the gate held. Advertised is the receive that is the next of
   the lane after the noted ones. Both sides know a rendezvous by what has been advertised, which
   a send has claimed; nothing if that could not be. A send that claims it for later goes on. */
struct express_advert express_advertise(struct express_lane *l, void *buf, uint32_t room, uint32_t how, const struct express_combination *c, int64_t now);
enum express_stage express_read(struct express_lane *l, struct express_advert a, int64_t now, const struct express_combination *c, uint32_t *size);
struct express_advert express_claim(struct express_lane *l, const void *buf, uint32_t n, int later, int64_t now);
enum express_stage express_write(struct express_lane *l, struct express_advert a, int64_t now, const struct express_combination *c);

/* Gives a rendezvous up that has been claimed, unless it is complete. */
enum express_stage express_give_up_read(struct express_lane *l, struct express_advert a);
enum express_stage express_give_up_write(struct express_lane *l, struct express_advert a);

/* Takes an advertisement back unless it has been claimed, and reports whether it is over;
   express_cancel breaks it if it has been. Neither needs the gate, nor the lane. */
int express_withdraw(struct express_port *p, struct express_advert a);
void express_cancel(struct express_port *p, struct express_advert a);

/* Whether somebody has come to an advertisement. */
static inline int express_met(struct express_advert a)
{
	return __atomic_load_n(&a.at->word, __ATOMIC_ACQUIRE) != a.word;
}

/* Says to the producer of a ring whether its consumer waits in a call for noted receives; and
   what it has said. */
static inline void express_waits(uint64_t ring, uint32_t waits)
{
	__atomic_store_n(&((struct express_ring *)(uintptr_t)ring)->waits, waits, __ATOMIC_RELAXED);
}

static inline int express_awaited(uint64_t ring)
{
	return __atomic_load_n(&((struct express_ring *)(uintptr_t)ring)->waits, __ATOMIC_RELAXED);
}

/* The lane of a request; those to send on are behind those to receive. */
static inline struct express_lane *express_lane_of(struct express_table *t, const struct express_slot *s)
{
	return s->lane < EXPRESS_LANES ? &t->in[s->lane] : &t->out[s->lane - EXPRESS_LANES];
}

/* Whether there is a slot for a request. */
static inline int express_vacant(const struct express_table *t) { return t->free || t->fresh < EXPRESS_SLOTS; }

/* The bytes that the next message to a peer, as long as the last one, would be written to, unless they have been
   prepared. */
static inline uint32_t express_unprepared(const struct express_port *p) { return ((const struct express_ring *)(uintptr_t)p->out)->recent; }

/* Whether a message from a peer is there. */
static inline int express_here(const struct express_table *t, const struct express_port *p)
{
	const struct express_ring *r = (const struct express_ring *)(uintptr_t)p->in;
	const uint64_t *word = (const uint64_t *)(uintptr_t)(p->in + t->cell + (r->head & (t->cells - 1)) * EXPRESS_CELL);
	return (__atomic_load_n(word, __ATOMIC_ACQUIRE) & 0xffff) == (((r->head >> t->shift) + 1) & 0xffff);
}

#endif
