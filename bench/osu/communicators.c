#include "osu.h"

/* communicators: how long it takes to make one of all ranks and to free it. */

static MPI_Comm made;
static MPI_Group group;

static void dup(void)
{
	MPI_Comm_dup(MPI_COMM_WORLD, &made);
}

static void idup(void)
{
	MPI_Request request;

	MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void split(void)
{
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
}

static void create(void)
{
	MPI_Comm_create(MPI_COMM_WORLD, group, &made);
}

void run_communicators(const struct benchmark *b)
{
	static void (*const calls[])(void) = {dup, idup, split, create};
	const struct counts few = {10, 2}, many = {1000, 100};
	double us[4];

	MPI_Comm_group(MPI_COMM_WORLD, &group);
	for (int c = 0; c < 4; c++) {
		struct counts n = counts_for(0, few, few);
		double start = 0;

		for (int round = 0; round < 2; round++) { /* the first one tells how many there is time for */
			for (int i = -n.warmup; i < n.iterations; i++) {
				if (i == 0)
					start = MPI_Wtime();
				calls[c]();
				MPI_Comm_free(&made);
			}
			us[c] = (MPI_Wtime() - start) / n.iterations * 1e6;
			n = limited(counts_for(0, many, many), us[c] * 1e-6);
		}
	}
	MPI_Group_free(&group);
	print_title(b, NULL, "Ranks", 4, (const char *[]){"Dup (us)", "Idup (us)", "Split (us)", "Create (us)"});
	print_row(ranks, 4, us);
}
