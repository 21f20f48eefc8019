#include "osu.h"

#include <stdlib.h>

/*
 * progress: the benchmark of Small and Yuan (ICS 2009, section 5.2). Both ranks meet in a barrier; then
 * rank 0 sends and rank 1 receives one message, and each computes before it posts, between that and the
 * wait, and after the wait, for so many units (-u). What is printed is the time of such a round on rank 0.
 * A computation is a number of steps, so what takes the processor from it is seen.
 */

enum { tag_data = 100 };

/* The orders are those of bench.Orders in Go. */
static const struct order {
	const char *name;
	double sender[3], receiver[3];
} orders[] = {
	{"9a-10", {0, 0, 60}, {10, 0, 0}},
	{"9a-20", {0, 0, 60}, {20, 0, 0}},
	{"9a-30", {0, 0, 60}, {30, 0, 0}},
	{"9a-40", {0, 0, 60}, {40, 0, 0}},
	{"9a-50", {0, 0, 60}, {50, 0, 0}},
	{"9b", {0, 20, 0}, {5, 5, 20}},
	{"10a", {20, 20, 20}, {0, 0, 0}},
	{"10b", {27, 0, 0}, {20, 20, 20}},
};

/* one makes a round, from the barrier on. */
static void one(const struct order *o, char *data, long size, double steps)
{
	const double *units = rank == 0 ? o->sender : o->receiver;
	MPI_Request request;

	compute((long)(units[0] * steps));
	if (rank == 0)
		MPI_Isend(data, size, MPI_CHAR, 1, tag_data, MPI_COMM_WORLD, &request);
	else
		MPI_Irecv(data, size, MPI_CHAR, 0, tag_data, MPI_COMM_WORLD, &request);
	compute((long)(units[1] * steps));
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	compute((long)(units[2] * steps));
}

/* measure returns the time of a round in microseconds. */
static double measure(const struct order *o, char *data, long size, double steps)
{
	struct counts n = counts_for(size, (struct counts){1000, 10}, (struct counts){200, 5});
	double *times, start, now, result;

	for (int i = 0; options.check && i < CHECKED_ROUNDS; i++) {
		if (rank == 0)
			fill(data, size, rank, i);
		one(o, data, size, steps);
		if (rank == 1)
			expect(data, size, 0, i, "progress");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	one(o, data, size, steps);
	MPI_Barrier(MPI_COMM_WORLD);
	n = limited(n, MPI_Wtime() - start);
	times = malloc(n.iterations * sizeof *times);
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (int i = -n.warmup; i < n.iterations; i++) {
		one(o, data, size, steps);
		MPI_Barrier(MPI_COMM_WORLD);
		now = MPI_Wtime();
		if (i >= 0)
			times[i] = (now - start) * 1e6;
		start = now;
	}
	result = mean_or_median(times, n.iterations);
	free(times);
	return result;
}

void run_progress(const struct benchmark *b)
{
	char *data = buffer(last_size(b));
	double steps = steps_for(1e-3) * options.unit * 1e-3;

	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		print_title(b, orders[i].name, "Size", 1, (const char *[]){"Round (us)"});
		for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
			double us = measure(&orders[i], data, size, steps);

			print_row(size, 1, &us);
		}
	}
	free(data);
}
