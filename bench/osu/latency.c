#include "osu.h"

#include <stdlib.h>

/* latency and multi_lat: blocking ping-pong between pairs, half the round trip. */

enum { tag = 100 };

static void pingpong(char *out, char *in, int size, int peer, bool first)
{
	if (first) {
		MPI_Send(out, size, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
		MPI_Recv(in, size, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(in, size, MPI_CHAR, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(out, size, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
	}
}

static void check(char *out, char *in, int size, int peer, bool first)
{
	for (int round = 0; round < CHECKED_ROUNDS; round++) {
		fill(out, size, rank, round);
		pingpong(out, in, size, peer, first);
		expect(in, size, peer, round, "ping-pong");
	}
}

/* measure returns the time of one way in microseconds. */
static double measure(char *out, char *in, int size, int peer, bool first, int iterations)
{
	/* With -M in blocks, since reading the clock takes time, too. */
	int block = !options.middle ? iterations : iterations < 10 ? 1 : 10, blocks = block ? iterations / block : 0;
	double *times = malloc((blocks + 1) * sizeof *times), time;

	for (int k = 0; k < blocks; k++) {
		double start = MPI_Wtime();

		for (int i = 0; i < block; i++)
			pingpong(out, in, size, peer, first);
		times[k] = (MPI_Wtime() - start) * 1e6 / (2.0 * block);
	}
	time = mean_or_median(times, blocks);
	free(times);
	return time;
}

/* The lower half of the ranks begins, each with one of the upper half. */
static void run(const struct benchmark *b)
{
	int pairs = ranks / 2, peer = (rank + pairs) % ranks;
	bool first = rank < pairs;
	char *out = buffer(last_size(b)), *in = buffer(last_size(b));

	print_title(b, NULL, "Size", 1, (const char *[]){"Latency (us)"});
	for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
		struct counts n = counts_for(size, (struct counts){10000, 100}, (struct counts){1000, 10});
		double mine, sum;

		if (options.check)
			check(out, in, size, peer, first);
		MPI_Barrier(MPI_COMM_WORLD);
		n = limited(n, measure(out, in, size, peer, first, 2) * 2e-6);
		MPI_Barrier(MPI_COMM_WORLD);
		measure(out, in, size, peer, first, n.warmup);
		mine = measure(out, in, size, peer, first, n.iterations);
		if (!first)
			mine = 0;
		MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		sum /= pairs;
		print_row(size, 1, &sum);
	}
}

const struct benchmark latency_benchmarks[] = {
	{"latency", "ping-pong of two ranks", 2, 2, true, 1, 1 << 22, run, true},
	{"multi_lat", "ping-pong of pairs at the same time", 2, 0, true, 1, 1 << 22, run, true},
	{0},
};
