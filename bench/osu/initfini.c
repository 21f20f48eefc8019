#include "osu.h"

#include <stdio.h>
#include <time.h>

/* initfini: MPI_Init and MPI_Finalize of a program that does nothing else, as rank 0 sees them. */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

void run_initfini(const struct benchmark *b)
{
	double begun = now(), after, before, end;

	MPI_Init(NULL, NULL);
	after = now();
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	before = now();
	MPI_Finalize();
	end = now();
	print_title(b, NULL, "Ranks", 3, (const char *[]){"Both (ms)", "Init (ms)", "Finalize (ms)"});
	print_row(ranks, 3, (double[]){after - begun + end - before, after - begun, end - before});
}
