#include "osu.h"

#include <stdlib.h>
#include <string.h>

/*
 * overlap: one rank starts a long transfer, computes for four times as long as it takes, and
 * waits for it, while the peer waits for the other end: for a receive it has begun it already,
 * for a send it begins at the same time. The excess is what that takes beyond the computation: a
 * library that overlaps leaves next to nothing.
 *
 * With -t there are fewer iterations, if they take long. All times are medians over the iterations. The computation is
 * a number of steps, not a time, so one that is interrupted takes longer; it touches no memory.
 */

enum { tag_go = 99, tag_data = 100 };

static void transfer(bool send, char *data, long size, MPI_Request *request)
{
	if (send)
		MPI_Isend(data, size, MPI_CHAR, 1 - rank, tag_data, MPI_COMM_WORLD, request);
	else
		MPI_Irecv(data, size, MPI_CHAR, 1 - rank, tag_data, MPI_COMM_WORLD, request);
}

/* meet lets both ranks go on at about the same time, rank 0 a little earlier. */
static void meet(void)
{
	if (rank == 0) {
		MPI_Recv(NULL, 0, MPI_CHAR, 1, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(NULL, 0, MPI_CHAR, 1, tag_go, MPI_COMM_WORLD);
	} else {
		MPI_Send(NULL, 0, MPI_CHAR, 0, tag_go, MPI_COMM_WORLD);
		MPI_Recv(NULL, 0, MPI_CHAR, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* one returns the time of a transfer, seconds, with so many steps under it on rank 0. */
static double one(bool send, char *data, long size, long steps)
{
	MPI_Request request;
	bool before = !send && rank != 0 && steps;
	double start;

	if (before)
		transfer(send, data, size, &request);
	meet();
	start = MPI_Wtime();
	if (!before)
		transfer(send, data, size, &request);
	if (rank == 0 && steps)
		compute(steps);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	return MPI_Wtime() - start;
}

struct excess {
	double transfer, computation, excess; /* microseconds */
};

/* measure has rank 0 send or receive. Rank 0 gets the medians. */
static struct excess measure(bool send, char *data, long size, int iterations)
{
	double *bare = malloc(iterations * sizeof *bare), *alone = malloc(iterations * sizeof *alone);
	double *under = malloc(iterations * sizeof *under);
	bool sends = send == (rank == 0);
	struct excess e;
	long steps;

	for (int i = 0; i < iterations; i++) {
		if (options.check && sends)
			fill(data, size, rank, i);
		bare[i] = one(sends, data, size, 0);
		if (options.check && !sends)
			expect(data, size, 1 - rank, i, "transfer");
	}
	e.transfer = median(bare, iterations);
	MPI_Bcast(&e.transfer, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	steps = steps_for(4 * e.transfer);
	iterations = limited((struct counts){iterations, 0}, 10 * e.transfer).iterations;
	for (int i = 0; i < iterations; i++) {
		/* While rank 1 is blocked in MPI as it is below: what a busy or an idle
		 * neighbour does to the speed of this core is no excess. */
		if (rank == 0)
			alone[i] = compute(steps);
		if (options.check && sends)
			fill(data, size, rank, i);
		under[i] = one(sends, data, size, steps);
		if (options.check && !sends)
			expect(data, size, 1 - rank, i, "transfer");
	}
	if (rank == 0) {
		e.computation = median(alone, iterations) * 1e6;
		e.excess = median(under, iterations) * 1e6 - e.computation;
		e.transfer *= 1e6;
	}
	free(bare);
	free(alone);
	free(under);
	return e;
}

void run_overlap(const struct benchmark *b)
{
	char *data = buffer(last_size(b));

	for (int send = 0; send < 2; send++) {
		print_title(b, send ? "Isend" : "Irecv", "Size", 3,
			    (const char *[]){"Transfer (us)", "Computation (us)", "Excess (us)"});
		for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
			struct counts n = counts_for(size, (struct counts){200, 0}, (struct counts){200, 0});
			struct excess e = measure(send, data, size, n.iterations);

			print_row(size, 3, (double[]){e.transfer, e.computation, e.excess});
		}
	}
}
