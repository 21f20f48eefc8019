#include "osu.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * memory: what a rank takes, pages that are shared counted in parts (PSS), after a barrier
 * and an allreduce, and when each rank has sent a message to each.
 */

enum { tag = 100 };

/* kib is that of this process in units of 1024 bytes. */
static double kib(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	double n = -1;

	while (f && n < 0 && fgets(line, sizeof line, f))
		sscanf(line, "Pss: %lf", &n);
	if (f)
		fclose(f);
	if (n < 0)
		die("the kernel does not tell what memory a process takes (smaps_rollup)");
	return n;
}

static void all_to_all(void)
{
	MPI_Request *requests = malloc(2 * ranks * sizeof *requests), *next = requests;
	char *in = malloc(ranks), out = 1;

	for (int i = 0; i < ranks; i++)
		MPI_Irecv(&in[i], 1, MPI_CHAR, i, tag, MPI_COMM_WORLD, next++);
	for (int i = 0; i < ranks; i++)
		MPI_Isend(&out, 1, MPI_CHAR, i, tag, MPI_COMM_WORLD, next++);
	MPI_Waitall(next - requests, requests, MPI_STATUSES_IGNORE);
	free(requests);
	free(in);
}

void run_memory(const struct benchmark *b)
{
	double mine[2], sum[2];
	int one = 1, all;

	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	mine[0] = kib();
	MPI_Barrier(MPI_COMM_WORLD);
	all_to_all();
	mine[1] = kib();
	MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	sum[0] /= ranks;
	sum[1] /= ranks;
	print_title(b, NULL, "Ranks", 2, (const char *[]){"Barrier (KiB)", "All pairs (KiB)"});
	print_row(ranks, 2, sum);
}
