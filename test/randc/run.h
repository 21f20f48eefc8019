/* What the generated programs share: transfers with the memory around them, what a
   rank has seen, and the ways to complete requests. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Open MPI 4.1.4 alone does otherwise. */
#ifdef OPEN_MPI
#define MPI_Bsend_init MPI_Send_init /* started again, it sends the old data */
#define MPI_Ibsend MPI_Isend         /* a receive from any source may miss it */
#endif
/* The status of a wait for what has been looked at: MPICH 4.2.1 and 5.0.2 alone forget that of a persistent receive. */
#ifdef MPICH_VERSION
#define AFTER_LOOK(status) MPI_STATUS_IGNORE
#else
#define AFTER_LOOK(status) (status)
#endif

enum { MARGIN = 64, TRANSFERS = 4000, MIXED = 20 };
enum kind { OUT, IN, COLL };

/* A transfer: a request, and a buffer with a margin on both sides. */
struct transfer {
	enum kind kind;
	char *mem, *base;
	size_t len;
	MPI_Datatype type;
	MPI_Request r;
	MPI_Status s;
	int code;      /* what the call that completed it has said of it */
	int truncated; /* what is in the buffer means nothing */
};
static struct transfer x[TRANSFERS];
static MPI_Comm c[100];
static MPI_Datatype t[600];
static MPI_Datatype mixed_types[MIXED]; /* their elements are of several kinds */
static int nmixed;
static int me;       /* in MPI_COMM_WORLD */
static int persists; /* persistent collectives work */
/* RANDC_TRACE in the environment: what is said goes to stderr at once, and the lines that are reached. */
static int traced;

/* What this thread has seen. */
static __thread char *said;
static __thread size_t saidlen, saidcap;

static void note(const char *line)
{
	size_t n = strlen(line);
	if (saidlen + n + 1 > saidcap)
		said = realloc(said, saidcap = 2 * saidcap + n + 10000);
	memcpy(said + saidlen, line, n + 1);
	saidlen += n;
	if (traced)
		fprintf(stderr, "[%d] %s", me, line);
}

static void say(const char *format, ...)
{
	char line[500];
	va_list ap;
	va_start(ap, format);
	vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	note(line);
}

static int class(int code)
{
	int class = 0;
	if (code)
		MPI_Error_class(code, &class);
	return class;
}

/* Says what a call returns, if it is an error. */
#define E(call)                                                                               \
	do {                                                                                  \
		if (traced)                                                                   \
			fprintf(stderr, "[%d] line %d\n", me, __LINE__);                      \
		int code_ = call;                                                             \
		if (code_)                                                                    \
			say("line %d: class %d\n", __LINE__, class(code_));                   \
	} while (0)

static uint64_t mixed(uint64_t h)
{
	h ^= h >> 31, h *= 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash(const void *p, size_t n)
{
	uint64_t h = 14695981039346656037u + n, w;
	for (; n >= 8; n -= 8, p = (const char *)p + 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x100000001b3u;
		h ^= h >> 32;
	}
	w = 0;
	memcpy(&w, p, n);
	return mixed((h ^ w) * 0x100000001b3u);
}

static void pattern(struct transfer *b, uint64_t seed)
{
	uint64_t h = mixed(seed * 2 + 1);
	size_t i;
	for (i = 0; i + 8 <= b->len; i += 8) {
		h = h * 6364136223846793005u + 1442695040888963407u;
		memcpy(b->mem + i, &h, 8);
	}
	for (; i < b->len; i++)
		b->mem[i] = (char)(h >> i % 8 * 8);
}

/* The memory of several blocks of count elements, each some bytes behind the base. */
struct span {
	MPI_Aint lo, hi;
};

static void cover(struct span *s, MPI_Aint at, int count, MPI_Datatype type)
{
	MPI_Aint lb, extent, tlb, text;
	if (!count)
		return;
	MPI_Type_get_extent(type, &lb, &extent);
	MPI_Type_get_true_extent(type, &tlb, &text);
	MPI_Aint last = (count - 1) * extent;
	MPI_Aint lo = at + tlb + (last < 0 ? last : 0), hi = at + tlb + text + (last > 0 ? last : 0);
	if (lo < s->lo)
		s->lo = lo;
	if (hi > s->hi)
		s->hi = hi;
}

static void take(int id, enum kind kind, struct span s, MPI_Datatype type, uint64_t seed)
{
	struct transfer *b = &x[id];
	memset(b, 0, sizeof *b);
	b->kind = kind;
	b->type = type;
	b->len = s.hi - s.lo + 2 * MARGIN;
	b->mem = aligned_alloc(64, (b->len + 63) / 64 * 64);
	b->base = b->mem + MARGIN - s.lo;
	b->r = MPI_REQUEST_NULL;
	pattern(b, seed);
}

static void buffer(int id, enum kind kind, int count, MPI_Datatype type, uint64_t seed)
{
	struct span s = {0, 0};
	cover(&s, 0, count, type);
	take(id, kind, s, type, seed);
}

/* A buffer of n blocks; displacements in extents. */
static void vbuffer(int id, int n, const int *counts, const int *displs, MPI_Datatype type, uint64_t seed)
{
	struct span s = {0, 0};
	MPI_Aint lb, extent;
	MPI_Type_get_extent(type, &lb, &extent);
	for (int i = 0; i < n; i++)
		cover(&s, displs[i] * extent, counts[i], type);
	take(id, COLL, s, type, seed);
}

/* The same with displacements in bytes and a datatype for each block. */
static void wbuffer(int id, int n, const int *counts, const int *displs, const MPI_Datatype *types, uint64_t seed)
{
	struct span s = {0, 0};
	for (int i = 0; i < n; i++)
		cover(&s, displs[i], counts[i], types[i]);
	take(id, COLL, s, MPI_BYTE, seed);
}

/* Room for a message that is longer than the receive: some MPIs write it all. */
static void spare(int id, size_t more)
{
	struct transfer *b = &x[id];
	size_t off = b->base - b->mem;
	b->len += more;
	b->mem = realloc(b->mem, b->len);
	b->base = b->mem + off;
	b->truncated = 1;
}

/* Fills a buffer of numbers. */
#define NUMBERS(id, T, n, seed)                                                               \
	for (int i = 0; i < (n); i++)                                                         \
	((T *)x[id].base)[i] = (T)(mixed((seed) + i * 977) % 7)

/* A number and an index, without what lies between them. */
#define PAIRS(id, T, n, seed)                                                                 \
	do {                                                                                  \
		memset(x[id].mem, 0, x[id].len);                                              \
		for (int i = 0; i < (n); i++) {                                               \
			((struct { T v; int k; } *)x[id].base)[i].v = (T)(mixed((seed) + i * 977) % 4); \
			((struct { T v; int k; } *)x[id].base)[i].k = (int)(mixed((seed) * 3 + i) % 50); \
		}                                                                             \
	} while (0)

#define SAYPAIRS(id, T, n)                                                                    \
	do {                                                                                  \
		uint64_t h = 1;                                                               \
		for (int i = 0; i < (n); i++) {                                               \
			T v = ((struct { T v; int k; } *)x[id].base)[i].v;                    \
			h = mixed(h ^ hash(&v, sizeof(T) > 10 ? 10 : sizeof(T)));             \
			h = mixed(h ^ ((struct { T v; int k; } *)x[id].base)[i].k);           \
		}                                                                             \
		say("%d: pairs %lx\n", id, h);                                                \
	} while (0)

#define SAYWIDE(id, n)                                                                        \
	do {                                                                                  \
		uint64_t h = 1;                                                               \
		for (int i = 0; i < (n); i++)                                                 \
			h = mixed(h ^ hash((long double *)x[id].base + i, 10));               \
		say("%d: wide %lx\n", id, h);                                                 \
	} while (0)

/* x -> a x + b, composed: associative, not commutative. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
	MPI_Aint lb, extent;
	MPI_Type_get_extent(*type, &lb, &extent);
	for (int i = 0; i < *n; i++) {
		uint32_t *f = (uint32_t *)((char *)in + i * extent), *g = (uint32_t *)((char *)inout + i * extent);
		g[1] += g[0] * f[1];
		g[0] *= f[0];
	}
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	MPI_Aint lb, extent;
	MPI_Type_get_extent(*type, &lb, &extent);
	for (int i = 0; i < *n; i++) {
		uint32_t *f = (uint32_t *)((char *)in + i * extent), *g = (uint32_t *)((char *)inout + i * extent);
		g[0] += f[0];
		g[1] ^= f[1];
	}
}
static MPI_Op composing, adding;
static MPI_Datatype couple, apart; /* two numbers, and with a gap behind them */

/* The basic elements of a message. MPICH 4.0.2 may divide by zero if they are of
   different kinds. */
static int mixed_type(MPI_Datatype type)
{
	for (int i = 0; i < MIXED; i++)
		if (i < nmixed && type == mixed_types[i])
			return 1;
	return 0;
}

static int elements(MPI_Status *s, MPI_Datatype type)
{
	int e = -1;
#ifdef MPICH
	if (mixed_type(type))
		return e;
#endif
	MPI_Get_elements(s, type, &e);
	return e;
}

/* What a probe has found. */
static void probed(int id, MPI_Status *s, MPI_Datatype type)
{
	int n, e;
	MPI_Get_count(s, type, &n);
	e = elements(s, type);
	say("%d: probed source %d tag %d count %d elements %d\n", id, s->MPI_SOURCE, s->MPI_TAG, n, e);
}

/* Says what has become of a transfer. */
static void settled(int id)
{
	struct transfer *b = &x[id];
	int n, e, cancelled;
	if (b->code)
		say("%d: class %d\n", id, class(b->code));
	if (b->kind == IN) {
		MPI_Test_cancelled(&b->s, &cancelled);
		if (cancelled)
			say("%d: cancelled\n", id);
		else if (b->truncated)
			say("%d: source %d tag %d\n", id, b->s.MPI_SOURCE, b->s.MPI_TAG);
		else {
			MPI_Get_count(&b->s, b->type, &n);
			e = elements(&b->s, b->type);
			say("%d: source %d tag %d count %d elements %d\n", id, b->s.MPI_SOURCE, b->s.MPI_TAG, n, e);
		}
	}
	if (!b->truncated && b->mem)
		say("%d: %lx\n", id, hash(b->mem, b->len));
}

/* The same for receives from any source that compete: a sum over the sources, in
   the order of each. */
static void settled_any(int n, const int *ids)
{
	uint64_t by[64] = {0}, sum = 0;
	for (int k = 0; k < n; k++) {
		struct transfer *b = &x[ids[k]];
		int count;
		MPI_Get_count(&b->s, b->type, &count);
		uint64_t h = hash(b->mem, b->len) + b->code * 31 + b->s.MPI_TAG * 7 + count;
		by[b->s.MPI_SOURCE] = mixed(by[b->s.MPI_SOURCE] * 3 + h);
	}
	for (int k = 0; k < 64; k++)
		sum += mixed(by[k] + k);
	say("any of %d: %lx\n", ids[0], sum);
}

enum how { WAIT, BACKWARDS, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, LOOK, IGNORED, WAYS };

/* Completes n requests in one of the ways; what was inactive stays so. An array
   holds null requests as well. */
static void complete(enum how how, int n, const int *ids)
{
	enum { MAX = 200 };
	MPI_Request rs[MAX];
	MPI_Status sts[MAX];
	int at[MAX], m = 0, flag = 0, index, some, list[MAX];
	for (int k = 0; k < n; k++) {
		if ((ids[k] + k) % 5 == 0)
			rs[m] = MPI_REQUEST_NULL, at[m++] = -1;
		rs[m] = x[ids[k]].r, at[m++] = ids[k];
	}
	memset(sts, 0, sizeof sts);
#ifdef OPEN_MPI
	/* It ends the job if one of several requests has failed behind a null one. */
	for (int k = 0; k < n; k++)
		if (x[ids[k]].truncated)
			how = WAIT;
#endif
	switch (how) {
	case WAIT:
	case BACKWARDS:
	case TEST:
	case LOOK:
		for (int k = 0; k < n; k++) {
			struct transfer *b = &x[ids[how == BACKWARDS ? n - 1 - k : k]];
			if (how == LOOK)
				for (flag = 0; !flag;)
					MPI_Request_get_status(b->r, &flag, &b->s);
			if (how == TEST)
				for (flag = 0; !flag;)
					b->code = MPI_Test(&b->r, &flag, &b->s);
			else
				b->code = MPI_Wait(&b->r, how == LOOK ? AFTER_LOOK(&b->s) : &b->s);
		}
		return;
	case WAITALL:
	case TESTALL:
		if (how == WAITALL)
			index = MPI_Waitall(m, rs, sts);
		else
			do
				index = MPI_Testall(m, rs, &flag, sts);
			while (!index && !flag);
		for (int k = 0; k < m; k++)
			if (at[k] >= 0) {
				struct transfer *b = &x[at[k]];
				b->r = rs[k], b->s = sts[k];
				b->code = class(index) == MPI_ERR_IN_STATUS ? sts[k].MPI_ERROR : index;
				if (class(b->code) == MPI_ERR_PENDING)
					b->code = MPI_Wait(&b->r, &b->s);
			}
		return;
	case IGNORED:
		index = MPI_Waitall(m, rs, MPI_STATUSES_IGNORE);
		for (int k = 0; k < m; k++)
			if (at[k] >= 0)
				x[at[k]].r = rs[k], x[at[k]].code = index;
		return;
	case WAITANY:
	case TESTANY:
		for (;;) {
			int code;
			MPI_Status s;
			if (how == WAITANY)
				code = MPI_Waitany(m, rs, &index, &s);
			else
				for (flag = 0; !flag;)
					code = MPI_Testany(m, rs, &index, &flag, &s);
			if (index == MPI_UNDEFINED)
				break;
			x[at[index]].code = code, x[at[index]].s = s, x[at[index]].r = rs[index];
		}
		return;
	case WAITSOME:
	case TESTSOME:
		for (;;) {
			int code = how == WAITSOME ? MPI_Waitsome(m, rs, &some, list, sts) : MPI_Testsome(m, rs, &some, list, sts);
			if (some == MPI_UNDEFINED)
				break;
			for (int k = 0; k < some; k++) {
				struct transfer *b = &x[at[list[k]]];
				b->s = sts[k], b->r = rs[list[k]];
				b->code = class(code) == MPI_ERR_IN_STATUS ? sts[k].MPI_ERROR : code;
			}
		}
		return;
	default:
		abort();
	}
}

/* One element of an absolute address, for MPI_BOTTOM. */
static MPI_Datatype absolute(int id, int count, MPI_Datatype type)
{
	MPI_Aint a;
	MPI_Datatype d;
	MPI_Get_address(x[id].base, &a);
	MPI_Type_create_struct(1, &count, &a, &type, &d);
	MPI_Type_commit(&d);
	return d;
}

/* A packed copy of a buffer, in place of it; its length. */
static int packed(int id, int count, MPI_Datatype type)
{
	int n, at = 0;
	MPI_Pack_size(count, type, MPI_COMM_WORLD, &n);
	char *p = malloc(n + 1);
	E(MPI_Pack(x[id].base, count, type, p, n, &at, MPI_COMM_WORLD));
	x[id].base = p;
	return at;
}

/* What a thread has seen. */
static void adopt(const char *p)
{
	while (*p) {
		int n = strcspn(p, "\n") + 1;
		say("%.*s", n, p);
		p += n;
	}
}

static void about(int id)
{
	int n = -1, k = -1, same, topo;
	if (c[id] == MPI_COMM_NULL) {
		say("c[%d] null\n", id);
		return;
	}
	MPI_Comm_size(c[id], &n);
	MPI_Comm_rank(c[id], &k);
	MPI_Topo_test(c[id], &topo);
	MPI_Comm_compare(c[id], MPI_COMM_WORLD, &same);
	say("c[%d] %d of %d, %s%s\n", id, k, n, topo == MPI_UNDEFINED ? "" : "topology, ", same == MPI_CONGRUENT ||
		same == MPI_IDENT ? "as the world" : same == MPI_SIMILAR ? "similar" : "other");
}

/* What a type is like, as the generator believes. */
static void expect(int id, MPI_Aint lb, MPI_Aint extent, MPI_Aint tlb, MPI_Aint text, int size)
{
	MPI_Aint l, e, tl, te;
	int n;
	MPI_Type_get_extent(t[id], &l, &e);
	MPI_Type_get_true_extent(t[id], &tl, &te);
	MPI_Type_size(t[id], &n);
	if (l != lb || e != extent || tl != tlb || te != text || n != size)
		say("t[%d] is %ld %ld, %ld %ld, %d, not %ld %ld, %ld %ld, %d\n", id, (long)l, (long)e, (long)tl, (long)te, n,
			(long)lb, (long)extent, (long)tlb, (long)text, size);
}

static void begin(int *argc, char ***argv, int ranks, int level)
{
	int provided, size;
	MPI_Init_thread(argc, argv, level, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != ranks || provided < level) {
		fprintf(stderr, "this program is for %d ranks\n", ranks);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	persists = *argc > 1;
	traced = getenv("RANDC_TRACE") != 0;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Op_create(compose, 0, &composing);
	MPI_Op_create(add, 1, &adding);
	MPI_Type_contiguous(2, MPI_UINT32_T, &couple);
	MPI_Type_create_resized(couple, -4, 16, &apart);
	MPI_Type_commit(&couple);
	MPI_Type_commit(&apart);
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		t[i] = MPI_DATATYPE_NULL;
	c[0] = MPI_COMM_WORLD, c[1] = MPI_COMM_SELF;
	MPI_Buffer_attach(malloc(16 << 20), 16 << 20);
}

/* Rank 0 prints what all have seen, by the host MPI's own calls. */
static void end(int ranks, int types)
{
	int n;
	void *p;
	for (int i = 0; i < types; i++)
		if (t[i] != MPI_DATATYPE_NULL)
			E(MPI_Type_free(&t[i]));
	E(MPI_Buffer_detach(&p, &n));
	MPI_Op_free(&composing);
	MPI_Op_free(&adding);
	MPI_Type_free(&couple);
	MPI_Type_free(&apart);
	say("detached %d\n", n);
	n = saidlen;
	if (me) {
		PMPI_Ssend(&n, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
		PMPI_Ssend(said, n, MPI_CHAR, 0, 77, MPI_COMM_WORLD);
	} else
		for (int i = 0; i < ranks; i++) {
			if (i) {
				PMPI_Recv(&n, 1, MPI_INT, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				said = realloc(said, n + 1);
				PMPI_Recv(said, n, MPI_CHAR, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			}
			printf("rank %d\n%.*s", i, n, said);
		}
	MPI_Finalize();
}
