/* What passes through: windows. One rank waits in a receive while another locks,
   puts and unlocks, and only then sends. */
#include "check.h"

int main(int argc, char **argv)
{
	MPI_Win win;
	int *base, got = -1;
	begin(&argc, &argv);
	MPI_Win_allocate(1000 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	memset(base, 0, 1000 * sizeof(int));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		for (int i = 1; i < size; i++)
			MPI_Recv(&got, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		int v[100];
		for (int i = 0; i < 100; i++)
			v[i] = rank * 1000 + i;
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(v, 100, MPI_INT, 0, rank * 100, 100, MPI_INT, win);
		MPI_Win_unlock(0, win);
		MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
	say("%d %lx\n", got, sum(base, 1000 * sizeof(int)));
	MPI_Win_unlock(rank, win);
	MPI_Win_fence(0, win);
	MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(0, win);
	say("%d\n", rank ? 0 : base[0]);
	MPI_Win_free(&win);
	end();
}
