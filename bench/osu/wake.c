#include "osu.h"

#include <stdlib.h>

/*
 * wake: rank 1 waits in MPI_Recv for a millisecond, long enough to have gone to sleep if it ever does, while
 * rank 0 keeps its core busy; then a message and its answer. The time is the median from the
 * call of MPI_Send until the answer has come.
 */

enum { tag = 100 };

static const double asleep = 1e-3;

void run_wake(const struct benchmark *b)
{
	struct counts n = counts_for(8, (struct counts){300, 20}, (struct counts){0});
	double *times = malloc(n.iterations * sizeof *times), word = 0, value;

	for (int i = -n.warmup; i < n.iterations; i++) {
		double start = MPI_Wtime();

		if (rank == 1) {
			MPI_Recv(&word, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(&word, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD);
			continue;
		}
		while (MPI_Wtime() - start < asleep)
			;
		start = MPI_Wtime();
		MPI_Send(&word, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
		MPI_Recv(&word, 1, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (i >= 0)
			times[i] = (MPI_Wtime() - start) * 1e6;
	}
	value = median(times, n.iterations);
	print_title(b, NULL, "Size", 1, (const char *[]){"Wake-up (us)"});
	print_row(8, 1, &value);
	free(times);
}
