/* Written by cmd/libexanet/layout from the Go source: change that, and run
   go run ./cmd/libexanet/layout >cmd/libexanet/c/layout.h */
#ifndef EXANET_LAYOUT_H
#define EXANET_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* coll */
enum { COLL_BARRIER = 0 };
enum { COLL_BCAST = 1 };
enum { COLL_GATHER = 2 };
enum { COLL_GATHERV = 3 };
enum { COLL_SCATTER = 4 };
enum { COLL_SCATTERV = 5 };
enum { COLL_ALLGATHER = 6 };
enum { COLL_ALLGATHERV = 7 };
enum { COLL_ALLTOALL = 8 };
enum { COLL_ALLTOALLV = 9 };
enum { COLL_ALLTOALLW = 10 };
enum { COLL_REDUCE = 11 };
enum { COLL_ALLREDUCE = 12 };
enum { COLL_REDUCE_SCATTER = 13 };
enum { COLL_REDUCE_SCATTER_BLOCK = 14 };
enum { COLL_SCAN = 15 };
enum { COLL_EXSCAN = 16 };
enum { COLL_NEIGHBOR_ALLGATHER = 17 };
enum { COLL_NEIGHBOR_ALLGATHERV = 18 };
enum { COLL_NEIGHBOR_ALLTOALL = 19 };
enum { COLL_NEIGHBOR_ALLTOALLV = 20 };
enum { COLL_NEIGHBOR_ALLTOALLW = 21 };
enum { COLL_COLLECTIVES = 22 };

/* coll/shm */
enum { COLLECTIVE_DEPTH = 4 };
enum { COLLECTIVE_IN_SLOT = 80 };
enum { COLLECTIVE_KIND_BITS = 2 };
enum { COLLECTIVE_RANK_BITS = 14 };
enum { COLLECTIVE_FOR_ONE = 1 };
enum { COLLECTIVE_FOR_ALL = 2 };
enum { COLLECTIVE_FOR_CALL = 3 };
enum { COLLECTIVE_ROOT_SHIFT = 8 };
enum { COLLECTIVE_FORM_SHIFT = 24 };
enum { COLLECTIVE_SIZE_SHIFT = 28 };
static const uint64_t COLLECTIVE_MIXER = 0x9e3779b97f4a7c15u;
enum { COLLECTIVE_KEEPS = 400 };
enum { COLLECTIVE_KEEPS_FOR_ONE = 100 };
enum { COLLECTIVE_CHECK_EVERY = 64 };
enum { COLLECTIVE_VAIN = 6 };

/* coll/shm */
enum { OPERATOR_SUM = 0 };
enum { OPERATOR_PROD = 1 };
enum { OPERATOR_MAX = 2 };
enum { OPERATOR_MIN = 3 };
enum { OPERATOR_BAND = 4 };
enum { OPERATOR_BOR = 5 };
enum { OPERATOR_BXOR = 6 };
enum { OPERATOR_OPERATORS = 7 };

/* coll/shm */
enum { SHARED_AREAS = 64 };
enum { SHARED_TYPES = 256 };
enum { SHARED_OPS = 16 };

/* datatype */
enum { KIND_BYTE = 1 };
enum { KIND_BOOL = 2 };
enum { KIND_INT8 = 3 };
enum { KIND_INT16 = 4 };
enum { KIND_INT32 = 5 };
enum { KIND_INT64 = 6 };
enum { KIND_UINT8 = 7 };
enum { KIND_UINT16 = 8 };
enum { KIND_UINT32 = 9 };
enum { KIND_UINT64 = 10 };
enum { KIND_FLOAT32 = 11 };
enum { KIND_FLOAT64 = 12 };
enum { KIND_COMPLEX64 = 13 };
enum { KIND_COMPLEX128 = 14 };
enum { KIND_LONG_DOUBLE = 15 };
enum { KIND_LONG_DOUBLE_COMPLEX = 16 };
enum { KIND_BASIC_KINDS = 17 };

/* emu/host */
enum { RING_CELL_SIZE = 256 };
enum { RING_CELL_INLINE = 232 };
enum { RING_BULK_ALIGN = 64 };
enum { RING_HEAD_SIZE = 1280 };

/* emu/host */
enum { BELL_FOREGROUND = 1 };
enum { BELL_BACKGROUND = 2 };
enum { BELL_MESSAGES = 3 };

/* emu/host */
enum { WAIT_POLLS = 200 };
enum { WAIT_LOOKS = 50 };
enum { WAIT_SPIN_TIME = 30000 };
enum { WAIT_LONG_SPIN = 200000 };
enum { WAIT_WAKE_UP = 100000 };
enum { WAIT_YIELDS = 400 };
enum { WAIT_FEWEST = 8 };
enum { WAIT_HAND_OVER = 1000 };
enum { WAIT_SLOW_YIELD = 1000000 };
enum { WAIT_BACK_OFF = 100000000 };

/* fastpath */
enum { FAST_CHANNELS = 256 };
enum { FAST_SLOTS = 2048 };
enum { FAST_FIRST_SLOT = 33554432 };
enum { FAST_SENT_ALL = 67108863 };
static const uint64_t FAST_NEXT_MESSAGE = 0x100000000u;

/* fastpath */
enum { FAST_DEDICATED = 0 };
enum { FAST_YIELDING = 1 };
enum { FAST_IN_GO = 2 };

/* fastpath */
enum { SLOT_UNUSED = 0 };
enum { SLOT_PENDING = 1 };
enum { SLOT_DONE = 2 };
enum { SLOT_POSTED = 3 };

/* fastpath */
static const uint64_t PLACE_COMM_FACTOR = 0x9e3779b1u;
static const uint64_t PLACE_PEER_FACTOR = 0x85ebca6bu;
static const uint64_t PLACE_TAG_FACTOR = 0xc2b2ae35u;
enum { PLACE_SHIFT = 24 };

/* coll/shm.header */
struct collective_header {
	uint64_t sleepers;
	uint64_t failed;
	uint64_t ended;
	unsigned char unused0[104];
};
_Static_assert(offsetof(struct collective_header, sleepers) == 0, "sleepers");
_Static_assert(offsetof(struct collective_header, failed) == 8, "failed");
_Static_assert(offsetof(struct collective_header, ended) == 16, "ended");
_Static_assert(sizeof(struct collective_header) == 128, "size");

/* coll/shm.line */
struct collective_line {
	uint64_t waiting;
	uint64_t ended;
	uint64_t who[2];
	uint64_t which[2];
	uint64_t call;
	uint64_t posted;
	uint64_t known;
	uint64_t past;
	uint64_t cut;
	uint64_t world;
	uint64_t core;
	unsigned char unused0[24];
};
_Static_assert(offsetof(struct collective_line, waiting) == 0, "waiting");
_Static_assert(offsetof(struct collective_line, ended) == 8, "ended");
_Static_assert(offsetof(struct collective_line, who) == 16, "who");
_Static_assert(offsetof(struct collective_line, which) == 32, "which");
_Static_assert(offsetof(struct collective_line, call) == 48, "call");
_Static_assert(offsetof(struct collective_line, posted) == 56, "posted");
_Static_assert(offsetof(struct collective_line, known) == 64, "known");
_Static_assert(offsetof(struct collective_line, past) == 72, "past");
_Static_assert(offsetof(struct collective_line, cut) == 80, "cut");
_Static_assert(offsetof(struct collective_line, world) == 88, "world");
_Static_assert(offsetof(struct collective_line, core) == 96, "core");
_Static_assert(sizeof(struct collective_line) == 128, "size");

/* coll/shm.slot */
struct collective_slot {
	uint64_t round;
	uint64_t what;
	uint64_t past;
	uint64_t addr;
	uint64_t length;
	uint64_t second;
	uint8_t data[80];
};
_Static_assert(offsetof(struct collective_slot, round) == 0, "round");
_Static_assert(offsetof(struct collective_slot, what) == 8, "what");
_Static_assert(offsetof(struct collective_slot, past) == 16, "past");
_Static_assert(offsetof(struct collective_slot, addr) == 24, "addr");
_Static_assert(offsetof(struct collective_slot, length) == 32, "length");
_Static_assert(offsetof(struct collective_slot, second) == 40, "second");
_Static_assert(offsetof(struct collective_slot, data) == 48, "data");
_Static_assert(sizeof(struct collective_slot) == 128, "size");

/* coll/shm.Count */
struct collective_count {
	uint64_t calls;
	uint64_t bytes;
};
_Static_assert(offsetof(struct collective_count, calls) == 0, "Calls");
_Static_assert(offsetof(struct collective_count, bytes) == 8, "Bytes");
_Static_assert(sizeof(struct collective_count) == 16, "size");

/* coll/shm.View */
struct collective_area {
	uint64_t id;
	uint64_t head;
	uint64_t own;
	uint64_t lines;
	uint64_t slots;
	uint64_t segments;
	uint64_t bells;
	uint32_t bell_step;
	uint32_t segment;
	uint32_t me;
	uint32_t ranks;
	uint32_t fenced;
	uint32_t spins;
	uint32_t yields;
	uint32_t hand_over;
	uint64_t limit[22];
	struct collective_count counts[22];
};
_Static_assert(offsetof(struct collective_area, id) == 0, "ID");
_Static_assert(offsetof(struct collective_area, head) == 8, "head");
_Static_assert(offsetof(struct collective_area, own) == 16, "own");
_Static_assert(offsetof(struct collective_area, lines) == 24, "lines");
_Static_assert(offsetof(struct collective_area, slots) == 32, "slots");
_Static_assert(offsetof(struct collective_area, segments) == 40, "segments");
_Static_assert(offsetof(struct collective_area, bells) == 48, "Bells");
_Static_assert(offsetof(struct collective_area, bell_step) == 56, "BellStep");
_Static_assert(offsetof(struct collective_area, segment) == 60, "segment");
_Static_assert(offsetof(struct collective_area, me) == 64, "me");
_Static_assert(offsetof(struct collective_area, ranks) == 68, "ranks");
_Static_assert(offsetof(struct collective_area, fenced) == 72, "fenced");
_Static_assert(offsetof(struct collective_area, spins) == 76, "spins");
_Static_assert(offsetof(struct collective_area, yields) == 80, "yields");
_Static_assert(offsetof(struct collective_area, hand_over) == 84, "handOver");
_Static_assert(offsetof(struct collective_area, limit) == 88, "Limit");
_Static_assert(offsetof(struct collective_area, counts) == 264, "Counts");
_Static_assert(sizeof(struct collective_area) == 616, "size");

/* coll/shm.Type */
struct shared_type {
	uint64_t handle;
	uint32_t size;
	uint32_t kind;
	uint32_t operators;
	unsigned char unused0[4];
};
_Static_assert(offsetof(struct shared_type, handle) == 0, "Handle");
_Static_assert(offsetof(struct shared_type, size) == 8, "Size");
_Static_assert(offsetof(struct shared_type, kind) == 12, "Kind");
_Static_assert(offsetof(struct shared_type, operators) == 16, "Operators");
_Static_assert(sizeof(struct shared_type) == 24, "size");

/* coll/shm.Operator */
struct shared_op {
	uint64_t handle;
	uint64_t operator;
};
_Static_assert(offsetof(struct shared_op, handle) == 0, "Handle");
_Static_assert(offsetof(struct shared_op, operator) == 8, "Operator");
_Static_assert(sizeof(struct shared_op) == 16, "size");

/* coll/shm.Shared */
struct shared {
	struct collective_area areas[64];
	struct shared_type types[256];
	struct shared_op ops[16];
	uint64_t known;
};
_Static_assert(offsetof(struct shared, areas) == 0, "Areas");
_Static_assert(offsetof(struct shared, types) == 39424, "Types");
_Static_assert(offsetof(struct shared, ops) == 45568, "Ops");
_Static_assert(offsetof(struct shared, known) == 45824, "Known");
_Static_assert(sizeof(struct shared) == 45832, "size");

/* emu/host.ringHead */
struct ring {
	uint64_t tail;
	uint64_t credit;
	uint64_t bulk_tail;
	uint64_t bulk_credit;
	uint64_t claimed[2];
	uint8_t opened;
	uint8_t attach;
	unsigned char unused0[2];
	uint32_t recent;
	unsigned char unused1[8];
	uint64_t released;
	uint64_t bulk_released;
	unsigned char unused2[48];
	uint32_t starved;
	unsigned char unused3[60];
	uint64_t head;
	uint64_t returned;
	uint64_t bulk_head;
	uint64_t bulk_returned;
	unsigned char unused4[1056];
};
_Static_assert(offsetof(struct ring, tail) == 0, "tail");
_Static_assert(offsetof(struct ring, credit) == 8, "credit");
_Static_assert(offsetof(struct ring, bulk_tail) == 16, "bulkTail");
_Static_assert(offsetof(struct ring, bulk_credit) == 24, "bulkCredit");
_Static_assert(offsetof(struct ring, claimed) == 32, "claimed");
_Static_assert(offsetof(struct ring, opened) == 48, "opened");
_Static_assert(offsetof(struct ring, attach) == 49, "attach");
_Static_assert(offsetof(struct ring, recent) == 52, "recent");
_Static_assert(offsetof(struct ring, released) == 64, "released");
_Static_assert(offsetof(struct ring, bulk_released) == 72, "bulkReleased");
_Static_assert(offsetof(struct ring, starved) == 128, "starved");
_Static_assert(offsetof(struct ring, head) == 192, "head");
_Static_assert(offsetof(struct ring, returned) == 200, "returned");
_Static_assert(offsetof(struct ring, bulk_head) == 208, "bulkHead");
_Static_assert(offsetof(struct ring, bulk_returned) == 216, "bulkReturned");
_Static_assert(sizeof(struct ring) == 1280, "size");

/* emu/host.cell */
struct ring_cell {
	uint64_t header[3];
	uint8_t payload[232];
};
_Static_assert(offsetof(struct ring_cell, header) == 0, "header");
_Static_assert(offsetof(struct ring_cell, payload) == 24, "payload");
_Static_assert(sizeof(struct ring_cell) == 256, "size");

/* emu/host.doorbell */
struct doorbell {
	uint32_t flags;
	uint32_t core;
	uint32_t thread;
	unsigned char unused0[52];
	uint32_t foreground;
	uint32_t background;
	unsigned char unused1[56];
};
_Static_assert(offsetof(struct doorbell, flags) == 0, "flags");
_Static_assert(offsetof(struct doorbell, core) == 4, "core");
_Static_assert(offsetof(struct doorbell, thread) == 8, "thread");
_Static_assert(offsetof(struct doorbell, foreground) == 64, "foreground");
_Static_assert(offsetof(struct doorbell, background) == 68, "background");
_Static_assert(sizeof(struct doorbell) == 128, "size");

/* fastpath.BiasedLock */
struct biased_lock {
	uint32_t shut;
	uint32_t inside;
	uint32_t many;
	unsigned char unused0[4];
	uint64_t caller;
};
_Static_assert(offsetof(struct biased_lock, shut) == 0, "shut");
_Static_assert(offsetof(struct biased_lock, inside) == 4, "inside");
_Static_assert(offsetof(struct biased_lock, many) == 8, "many");
_Static_assert(offsetof(struct biased_lock, caller) == 16, "caller");
_Static_assert(sizeof(struct biased_lock) == 24, "size");

/* fastpath.Geometry */
struct geometry {
	uint32_t cells;
	uint32_t shift;
	uint32_t bulk;
};
_Static_assert(offsetof(struct geometry, cells) == 0, "Cells");
_Static_assert(offsetof(struct geometry, shift) == 4, "Shift");
_Static_assert(offsetof(struct geometry, bulk) == 8, "Bulk");
_Static_assert(sizeof(struct geometry) == 12, "size");

/* fastpath.Counts */
struct fast_counts {
	uint64_t sends;
	uint64_t sent;
	uint64_t receives;
	uint64_t received;
	uint64_t waits;
};
_Static_assert(offsetof(struct fast_counts, sends) == 0, "Sends");
_Static_assert(offsetof(struct fast_counts, sent) == 8, "Sent");
_Static_assert(offsetof(struct fast_counts, receives) == 16, "Receives");
_Static_assert(offsetof(struct fast_counts, received) == 24, "Received");
_Static_assert(offsetof(struct fast_counts, waits) == 32, "Waits");
_Static_assert(sizeof(struct fast_counts) == 40, "size");

/* fastpath.Channel */
struct fast_channel {
	uint64_t comm;
	int32_t peer;
	int32_t tag;
	uint64_t header[3];
	uint64_t port;
	uint32_t pending;
	uint32_t leased;
};
_Static_assert(offsetof(struct fast_channel, comm) == 0, "Comm");
_Static_assert(offsetof(struct fast_channel, peer) == 8, "Peer");
_Static_assert(offsetof(struct fast_channel, tag) == 12, "Tag");
_Static_assert(offsetof(struct fast_channel, header) == 16, "Header");
_Static_assert(offsetof(struct fast_channel, port) == 40, "Port");
_Static_assert(offsetof(struct fast_channel, pending) == 48, "Pending");
_Static_assert(offsetof(struct fast_channel, leased) == 52, "Leased");
_Static_assert(sizeof(struct fast_channel) == 56, "size");

/* fastpath.Slot */
struct fast_slot {
	uint64_t buf;
	uint32_t room;
	uint32_t state;
	uint64_t comm;
	int32_t source;
	int32_t tag;
	uint32_t size;
	uint32_t place;
	uint32_t next;
	uint32_t prev;
};
_Static_assert(offsetof(struct fast_slot, buf) == 0, "Buf");
_Static_assert(offsetof(struct fast_slot, room) == 8, "Room");
_Static_assert(offsetof(struct fast_slot, state) == 12, "State");
_Static_assert(offsetof(struct fast_slot, comm) == 16, "Comm");
_Static_assert(offsetof(struct fast_slot, source) == 24, "Source");
_Static_assert(offsetof(struct fast_slot, tag) == 28, "Tag");
_Static_assert(offsetof(struct fast_slot, size) == 32, "Size");
_Static_assert(offsetof(struct fast_slot, place) == 36, "Place");
_Static_assert(offsetof(struct fast_slot, next) == 40, "Next");
_Static_assert(offsetof(struct fast_slot, prev) == 44, "Prev");
_Static_assert(sizeof(struct fast_slot) == 48, "size");

/* fastpath.Table */
struct fast_table {
	struct biased_lock lock;
	uint32_t armed;
	uint32_t waiting;
	uint32_t limit;
	uint32_t window;
	uint32_t fenced;
	uint32_t ranks;
	uint32_t step;
	uint32_t ring_step;
	struct geometry rings;
	uint32_t first;
	uint32_t last;
	uint32_t free;
	uint32_t fresh;
	unsigned char unused0[4];
	uint64_t outside;
	uint64_t doorbells;
	uint64_t inward;
	uint64_t credit[2];
	uint64_t tested;
	struct fast_counts counts;
	struct fast_channel in[256];
	struct fast_channel out[256];
	struct fast_slot slots[2048];
};
_Static_assert(offsetof(struct fast_table, lock) == 0, "Lock");
_Static_assert(offsetof(struct fast_table, armed) == 24, "Armed");
_Static_assert(offsetof(struct fast_table, waiting) == 28, "Waiting");
_Static_assert(offsetof(struct fast_table, limit) == 32, "Limit");
_Static_assert(offsetof(struct fast_table, window) == 36, "Window");
_Static_assert(offsetof(struct fast_table, fenced) == 40, "Fenced");
_Static_assert(offsetof(struct fast_table, ranks) == 44, "Ranks");
_Static_assert(offsetof(struct fast_table, step) == 48, "Step");
_Static_assert(offsetof(struct fast_table, ring_step) == 52, "RingStep");
_Static_assert(offsetof(struct fast_table, rings) == 56, "Rings");
_Static_assert(offsetof(struct fast_table, first) == 68, "First");
_Static_assert(offsetof(struct fast_table, last) == 72, "Last");
_Static_assert(offsetof(struct fast_table, free) == 76, "Free");
_Static_assert(offsetof(struct fast_table, fresh) == 80, "Fresh");
_Static_assert(offsetof(struct fast_table, outside) == 88, "Outside");
_Static_assert(offsetof(struct fast_table, doorbells) == 96, "Doorbells");
_Static_assert(offsetof(struct fast_table, inward) == 104, "Inward");
_Static_assert(offsetof(struct fast_table, credit) == 112, "Credit");
_Static_assert(offsetof(struct fast_table, tested) == 128, "Tested");
_Static_assert(offsetof(struct fast_table, counts) == 136, "Counts");
_Static_assert(offsetof(struct fast_table, in) == 176, "In");
_Static_assert(offsetof(struct fast_table, out) == 14512, "Out");
_Static_assert(offsetof(struct fast_table, slots) == 28848, "Slots");
_Static_assert(sizeof(struct fast_table) == 127152, "size");

/* variants.Account */
struct account {
	int64_t unmatched;
	int64_t consumed;
	uint32_t shut;
	int32_t world;
};
_Static_assert(offsetof(struct account, unmatched) == 0, "Unmatched");
_Static_assert(offsetof(struct account, consumed) == 8, "Consumed");
_Static_assert(offsetof(struct account, shut) == 16, "Shut");
_Static_assert(offsetof(struct account, world) == 20, "World");
_Static_assert(sizeof(struct account) == 24, "size");

/* fastpath.Port */
struct fast_port {
	struct account account;
	uint64_t out;
	uint64_t in;
};
_Static_assert(offsetof(struct fast_port, account) == 0, "Account");
_Static_assert(offsetof(struct fast_port, out) == 24, "Out");
_Static_assert(offsetof(struct fast_port, in) == 32, "In");
_Static_assert(sizeof(struct fast_port) == 40, "size");

#endif
