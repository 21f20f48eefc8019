#include "osu.h"

#include <stdlib.h>
#include <string.h>

/*
 * bw, bibw and mbw_mr: windows of non-blocking messages, each answered by a short one.
 * All messages of a window are sent from one buffer and received into one.
 */

enum { tag_data = 100, tag_answer = 101 };

struct stream {
	int peer;
	bool sends, receives;
	char *out, *in, answer[4];
	MPI_Request *requests; /* two windows */
};

/* window sends and receives one. Who begins, the lower rank, gets the answer. */
static void window(struct stream *s, int size)
{
	MPI_Request *next = s->requests;

	if (s->receives)
		for (int i = 0; i < options.window; i++)
			MPI_Irecv(s->in, size, MPI_CHAR, s->peer, tag_data, MPI_COMM_WORLD, next++);
	if (s->sends)
		for (int i = 0; i < options.window; i++)
			MPI_Isend(s->out, size, MPI_CHAR, s->peer, tag_data, MPI_COMM_WORLD, next++);
	MPI_Waitall(next - s->requests, s->requests, MPI_STATUSES_IGNORE);
	if (rank < s->peer)
		MPI_Recv(s->answer, sizeof s->answer, MPI_CHAR, s->peer, tag_answer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(s->answer, sizeof s->answer, MPI_CHAR, s->peer, tag_answer, MPI_COMM_WORLD);
}

/* measure returns the time of the iterations in seconds. */
static double measure(struct stream *s, int size, int iterations)
{
	double *times = malloc((iterations + 1) * sizeof *times), start = MPI_Wtime(), time;

	for (int i = 0; i < iterations; i++) {
		double now;

		window(s, size);
		now = MPI_Wtime();
		times[i] = now - start;
		start = now;
	}
	time = mean_or_median(times, iterations) * iterations;
	free(times);
	return time;
}

static void check(struct stream *s, int size)
{
	for (int round = 0; round < CHECKED_ROUNDS; round++) {
		if (s->sends)
			fill(s->out, size, rank, round);
		if (s->receives)
			memset(s->in, 0, size);
		window(s, size);
		if (s->receives)
			expect(s->in, size, s->peer, round, "window");
	}
}

static void run(const struct benchmark *b)
{
	bool both = !strcmp(b->name, "bibw"), rates = !strcmp(b->name, "mbw_mr");
	int pairs = ranks / 2;
	bool first = rank < pairs;
	struct stream s = {.peer = (rank + pairs) % ranks, .sends = first || both, .receives = !first || both};

	s.out = buffer(last_size(b));
	s.in = buffer(last_size(b));
	s.requests = malloc(2 * options.window * sizeof *s.requests);
	print_title(b, NULL, "Size", rates ? 2 : 1, (const char *[]){rates ? "MB/s" : "Bandwidth (MB/s)", "Messages/s"});
	for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
		struct counts n = counts_for(size, (struct counts){100, 10}, (struct counts){20, 2});
		double mine, sum, value[2];

		if (options.check)
			check(&s, size);
		MPI_Barrier(MPI_COMM_WORLD);
		n = limited(n, measure(&s, size, 1));
		MPI_Barrier(MPI_COMM_WORLD);
		measure(&s, size, n.warmup);
		if (rates)
			MPI_Barrier(MPI_COMM_WORLD);
		mine = measure(&s, size, n.iterations);
		if (!first)
			mine = 0;
		MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		value[1] = (double)pairs * n.iterations * options.window * (both ? 2 : 1) / (sum / pairs);
		value[0] = value[1] * size / 1e6;
		print_row(size, rates ? 2 : 1, value);
	}
}

const struct benchmark stream_benchmarks[] = {
	{"bw", "windows of messages, one way", 2, 2, true, 1, 1 << 22, run, true},
	{"bibw", "windows of messages, both ways", 2, 2, true, 1, 1 << 22, run, true},
	{"mbw_mr", "bandwidth and message rate of pairs", 2, 0, true, 1, 1 << 22, run, true},
	{0},
};
