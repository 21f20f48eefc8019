/* Some ranks have a request of the host's under way, for which they let it make
   progress while they wait; others have none. They meet in every collective. */
#include "check.h"

static int query(void *state, MPI_Status *s)
{
	MPI_Status_set_elements(s, MPI_BYTE, 0);
	MPI_Status_set_cancelled(s, 0);
	return MPI_SUCCESS;
}

static int release(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int done) { return MPI_SUCCESS; }

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	for (int busy = 0; busy < size; busy++) {
		MPI_Request r = MPI_REQUEST_NULL;
		int v = rank + 1, all[8] = {0}, sum = 0, counts[8], displs[8];
		if (rank == busy)
			MPI_Grequest_start(query, release, cancel, 0, &r);
		for (int i = 0; i < size; i++)
			counts[i] = 1, displs[i] = i;
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Bcast(&v, 1, MPI_INT, busy, MPI_COMM_WORLD);
		say("bcast %d\n", v);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
		MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
		say("sum %d, last %d\n", sum, all[size - 1]);
		MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		say("scan %d\n", sum);
		MPI_Request one;
		MPI_Ibarrier(MPI_COMM_WORLD, &one);
		MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
		MPI_Wait(&one, MPI_STATUS_IGNORE);
		MPI_Alltoall(all, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
		say("alltoall %d\n", counts[size - 1]);
		if (rank == busy) {
			MPI_Grequest_complete(r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
		}
	}
	end();
}
