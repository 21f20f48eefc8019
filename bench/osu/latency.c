#include "osu.h"

#include <stdlib.h>

/* latency: blocking ping-pong, half the round trip. */

enum { tag = 100 };

static void pingpong(char *out, char *in, int size)
{
	if (rank == 0) {
		MPI_Send(out, size, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
		MPI_Recv(in, size, MPI_CHAR, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(in, size, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(out, size, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
	}
}

static void check(char *out, char *in, int size)
{
	for (int round = 0; round < CHECKED_ROUNDS; round++) {
		fill(out, size, rank, round);
		pingpong(out, in, size);
		expect(in, size, 1 - rank, round, "ping-pong");
	}
}

/* measure returns the time of one way in microseconds. */
static double measure(char *out, char *in, int size, int iterations)
{
	/* With -M in blocks, since reading the clock takes time, too. */
	int block = !options.middle ? iterations : iterations < 10 ? 1 : 10, blocks = block ? iterations / block : 0;
	double *times = malloc((blocks + 1) * sizeof *times), time;

	for (int k = 0; k < blocks; k++) {
		double start = MPI_Wtime();

		for (int i = 0; i < block; i++)
			pingpong(out, in, size);
		times[k] = (MPI_Wtime() - start) * 1e6 / (2.0 * block);
	}
	time = mean_or_median(times, blocks);
	free(times);
	return time;
}

void run_latency(const struct benchmark *b)
{
	char *out = buffer(last_size(b)), *in = buffer(last_size(b));

	print_title(b, NULL, "Size", 1, (const char *[]){"Latency (us)"});
	for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
		struct counts n = counts_for(size, (struct counts){10000, 100}, (struct counts){1000, 10});
		double time;

		if (options.check)
			check(out, in, size);
		MPI_Barrier(MPI_COMM_WORLD);
		n = limited(n, measure(out, in, size, 2) * 2e-6);
		MPI_Barrier(MPI_COMM_WORLD);
		measure(out, in, size, n.warmup);
		time = measure(out, in, size, n.iterations);
		print_row(size, 1, &time);
	}
}
