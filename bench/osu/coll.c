#include "osu.h"

#include <stdlib.h>
#include <string.h>

/*
 * The collectives: mean time of a call, over iterations, between which there is a
 * barrier, and over ranks; and that of a call and the barrier behind it. Ranks may wait for each
 * other in either, and only the second says what both cost. The size is that of the vector, or of
 * the block of one rank. Reductions are of MPI_FLOAT; v-forms have the same block for each rank.
 */

struct coll {
	int n;		       /* elements of the vector or block: bytes, or floats */
	int *counts, *offsets; /* of v-forms, for each rank */
	char *out, *in;	       /* room for a block of each rank */
};

static const MPI_Comm world = MPI_COMM_WORLD;

static void barrier(struct coll *c)
{
	(void)c;
	MPI_Barrier(world);
}

static void bcast(struct coll *c)
{
	MPI_Bcast(rank ? c->in : c->out, c->n, MPI_CHAR, 0, world);
}

static void reduce(struct coll *c)
{
	MPI_Reduce(c->out, c->in, c->n, MPI_FLOAT, MPI_SUM, 0, world);
}

static void allreduce(struct coll *c)
{
	MPI_Allreduce(c->out, c->in, c->n, MPI_FLOAT, MPI_SUM, world);
}

static void reduce_scatter(struct coll *c)
{
	MPI_Reduce_scatter(c->out, c->in, c->counts, MPI_FLOAT, MPI_SUM, world);
}

static void scan(struct coll *c)
{
	MPI_Scan(c->out, c->in, c->n, MPI_FLOAT, MPI_SUM, world);
}

static void exscan(struct coll *c)
{
	MPI_Exscan(c->out, c->in, c->n, MPI_FLOAT, MPI_SUM, world);
}

static void scatter(struct coll *c)
{
	MPI_Scatter(c->out, c->n, MPI_CHAR, c->in, c->n, MPI_CHAR, 0, world);
}

static void scatterv(struct coll *c)
{
	MPI_Scatterv(c->out, c->counts, c->offsets, MPI_CHAR, c->in, c->n, MPI_CHAR, 0, world);
}

static void gather(struct coll *c)
{
	MPI_Gather(c->out, c->n, MPI_CHAR, c->in, c->n, MPI_CHAR, 0, world);
}

static void gatherv(struct coll *c)
{
	MPI_Gatherv(c->out, c->n, MPI_CHAR, c->in, c->counts, c->offsets, MPI_CHAR, 0, world);
}

static void allgather(struct coll *c)
{
	MPI_Allgather(c->out, c->n, MPI_CHAR, c->in, c->n, MPI_CHAR, world);
}

static void allgatherv(struct coll *c)
{
	MPI_Allgatherv(c->out, c->n, MPI_CHAR, c->in, c->counts, c->offsets, MPI_CHAR, world);
}

static void alltoall(struct coll *c)
{
	MPI_Alltoall(c->out, c->n, MPI_CHAR, c->in, c->n, MPI_CHAR, world);
}

static void alltoallv(struct coll *c)
{
	MPI_Alltoallv(c->out, c->counts, c->offsets, MPI_CHAR, c->in, c->counts, c->offsets, MPI_CHAR, world);
}

/* What a rank gets, for -c. */
enum outcome {
	nothing,
	block,	/* one of rank 0's, or of whom it is from */
	blocks, /* one of each rank */
	sum,	/* of a vector, or a part of it */
};

static const struct kind {
	const char *name;
	void (*call)(struct coll *);
	enum outcome outcome;
	bool at_root; /* only rank 0 gets it */
	bool floats, split; /* the vector is split over the ranks */
	bool own; /* each rank gets a block of its own */
} kinds[] = {
	{"barrier", barrier, nothing, false, false, false, false},
	{"bcast", bcast, block, false, false, false, false},
	{"reduce", reduce, sum, true, true, false, false},
	{"allreduce", allreduce, sum, false, true, false, false},
	{"reduce_scatter", reduce_scatter, sum, false, true, true, false},
	{"scan", scan, sum, false, true, false, false},
	{"exscan", exscan, sum, false, true, false, false},
	{"scatter", scatter, block, false, false, false, true},
	{"scatterv", scatterv, block, false, false, false, true},
	{"gather", gather, blocks, true, false, false, false},
	{"gatherv", gatherv, blocks, true, false, false, false},
	{"allgather", allgather, blocks, false, false, false, false},
	{"allgatherv", allgatherv, blocks, false, false, false, false},
	{"alltoall", alltoall, blocks, false, false, false, true},
	{"alltoallv", alltoallv, blocks, false, false, false, true},
};

/* term is what a rank adds to element i: small integers, so that sums are exact. */
static float term(int i, int who, int round)
{
	return (float)(i % 61 + 3 * who + round);
}

static void fill_out(struct coll *c, const struct kind *k, int round)
{
	float *v = (float *)c->out;

	if (k->floats)
		for (int i = 0; i < c->n; i++)
			v[i] = term(i, rank, round);
	else /* the block for a rank differs from that for others by the round */
		for (int to = 0; to < (k->own ? ranks : 1); to++)
			fill(c->out + (size_t)to * c->n, c->n, rank, round + 17 * (k->own ? to : 0));
}

static void check_sum(const struct coll *c, const struct kind *k, int round)
{
	const float *v = (const float *)c->in;
	int from = 0, n = c->n, last = ranks - 1;

	if (k->split) {
		from = c->offsets[rank];
		n = c->counts[rank];
	}
	if (k->call == scan)
		last = rank;
	if (k->call == exscan)
		last = rank - 1; /* rank 0 gets nothing */
	for (int i = 0; i < n && last >= 0; i++) {
		float want = 0;

		for (int who = 0; who <= last; who++)
			want += term(from + i, who, round);
		if (v[i] != want)
			die("%s: element %d of %d is %g and should be %g (round %d)", k->name, i, n, v[i], want, round);
	}
}

static void check_in(const struct coll *c, const struct kind *k, int round)
{
	if (k->at_root && rank != 0)
		return;
	if (k->own)
		round += 17 * rank;
	switch (k->outcome) {
	case nothing:
		break;
	case block:
		if (rank != 0 || k->own)
			expect(c->in, c->n, 0, round, k->name);
		break;
	case blocks:
		for (int who = 0; who < ranks; who++)
			expect(c->in + (size_t)who * c->n, c->n, who, round, k->name);
		break;
	case sum:
		check_sum(c, k, round);
		break;
	}
}

static void prepare(struct coll *c, const struct kind *k, long size)
{
	c->n = size / (k->floats ? (int)sizeof(float) : 1);
	for (int i = 0; i < ranks; i++) {
		c->counts[i] = k->split ? c->n / ranks + (k->call == reduce_scatter && i < c->n % ranks) : c->n;
		c->offsets[i] = i > 0 ? c->offsets[i - 1] + c->counts[i - 1] : 0;
	}
	if (k->split)
		c->n = c->offsets[ranks - 1] + c->counts[ranks - 1];
}

/* What a rank has measured of a call, in seconds. */
struct times {
	double call, both; /* both: with the barrier behind it */
};

static struct times measure(struct coll *c, const struct kind *k, int iterations)
{
	double *calls = malloc((iterations + 1) * sizeof *calls), *both = malloc((iterations + 1) * sizeof *both);
	struct times t;

	for (int i = 0; i < iterations; i++) {
		double start = MPI_Wtime();

		k->call(c);
		calls[i] = MPI_Wtime() - start;
		MPI_Barrier(world);
		both[i] = MPI_Wtime() - start;
	}
	t = (struct times){mean_or_median(calls, iterations), mean_or_median(both, iterations)};
	free(calls);
	free(both);
	return t;
}

static const struct kind *find(const char *name)
{
	const struct kind *k = kinds;

	while (strcmp(k->name, name))
		k++;
	return k;
}

static void run(const struct benchmark *b)
{
	const struct kind *k = find(b->name);
	size_t room = last_size(b) * (k->floats ? 1 : ranks);
	struct coll c = {
		.counts = malloc(ranks * sizeof *c.counts), .offsets = malloc(ranks * sizeof *c.offsets),
		.out = buffer(room), .in = buffer(room),
	};

	print_title(b, NULL, k->outcome == nothing ? "" : "Size", 2,
		(const char *[]){"Avg Latency(us)", "With barrier(us)"});
	for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
		struct counts n = counts_for(size, (struct counts){10000, 200}, (struct counts){1000, 10});
		struct times t;
		double begun, mine[2], sum[2];

		prepare(&c, k, size);
		for (int round = 0; options.check && round < CHECKED_ROUNDS; round++) {
			fill_out(&c, k, round);
			memset(c.in, 0, room);
			k->call(&c);
			check_in(&c, k, round);
		}
		measure(&c, k, 1);
		begun = MPI_Wtime();
		measure(&c, k, 2);
		n = limited(n, (MPI_Wtime() - begun) / 2);
		measure(&c, k, n.warmup);
		t = measure(&c, k, n.iterations);
		mine[0] = t.call * 1e6 / ranks;
		mine[1] = t.both * 1e6 / ranks;
		MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, world);
		print_row(k->outcome == nothing ? -1 : size, 2, sum);
	}
}

#define COLLECTIVE(name, from, to) {name, "", 1, 0, from, to, run, true}

const struct benchmark coll_benchmarks[] = {
	COLLECTIVE("barrier", 0, 0),
	COLLECTIVE("bcast", 1, 1 << 20),
	COLLECTIVE("reduce", 4, 1 << 20),
	COLLECTIVE("allreduce", 4, 1 << 20),
	COLLECTIVE("reduce_scatter", 4, 1 << 20),
	COLLECTIVE("scan", 4, 1 << 20),
	COLLECTIVE("exscan", 4, 1 << 20),
	COLLECTIVE("scatter", 1, 1 << 20),
	COLLECTIVE("scatterv", 1, 1 << 20),
	COLLECTIVE("gather", 1, 1 << 20),
	COLLECTIVE("gatherv", 1, 1 << 20),
	COLLECTIVE("allgather", 1, 1 << 20),
	COLLECTIVE("allgatherv", 1, 1 << 20),
	COLLECTIVE("alltoall", 1, 1 << 20),
	COLLECTIVE("alltoallv", 1, 1 << 20),
	{0},
};
