#include "osu.h"

#include <stdlib.h>
#include <string.h>

/*
 * bw: windows of non-blocking messages from rank 0 to rank 1, each answered by a short one.
 * All messages of a window are sent from one buffer and received into one.
 */

enum { tag_data = 100, tag_answer = 101, window_size = 64 };

static void window(char *data, int size)
{
	MPI_Request requests[window_size];
	char answer[4] = {0};

	for (int i = 0; i < window_size; i++)
		if (rank == 0)
			MPI_Isend(data, size, MPI_CHAR, 1, tag_data, MPI_COMM_WORLD, &requests[i]);
		else
			MPI_Irecv(data, size, MPI_CHAR, 0, tag_data, MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(window_size, requests, MPI_STATUSES_IGNORE);
	if (rank == 0)
		MPI_Recv(answer, sizeof answer, MPI_CHAR, 1, tag_answer, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(answer, sizeof answer, MPI_CHAR, 0, tag_answer, MPI_COMM_WORLD);
}

/* measure returns the time of the iterations in seconds. */
static double measure(char *data, int size, int iterations)
{
	double *times = malloc((iterations + 1) * sizeof *times), start = MPI_Wtime(), time;

	for (int i = 0; i < iterations; i++) {
		double now;

		window(data, size);
		now = MPI_Wtime();
		times[i] = now - start;
		start = now;
	}
	time = mean_or_median(times, iterations) * iterations;
	free(times);
	return time;
}

static void check(char *data, int size)
{
	for (int round = 0; round < CHECKED_ROUNDS; round++) {
		if (rank == 0)
			fill(data, size, rank, round);
		else
			memset(data, 0, size);
		window(data, size);
		if (rank == 1)
			expect(data, size, 0, round, "window");
	}
}

void run_stream(const struct benchmark *b)
{
	char *data = buffer(last_size(b));

	print_title(b, NULL, "Size", 1, (const char *[]){"Bandwidth (MB/s)"});
	for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
		struct counts n = counts_for(size, (struct counts){1000, 10}, (struct counts){100, 2});
		double rate;

		if (options.check)
			check(data, size);
		MPI_Barrier(MPI_COMM_WORLD);
		n = limited(n, measure(data, size, 1));
		MPI_Barrier(MPI_COMM_WORLD);
		measure(data, size, n.warmup);
		rate = (double)n.iterations * window_size * size / measure(data, size, n.iterations) / 1e6;
		print_row(size, 1, &rate);
	}
}
