/* A short synchronous send to a receive that is posted, of a rank that waits in a call
   of the host's until the sender comes there too. */
#include "check.h"

int main(int argc, char **argv)
{
	static double b[512];
	int rank, size;
	MPI_Comm dup;
	MPI_Request r = MPI_REQUEST_NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (rank == 1)
		MPI_Irecv(b, 512, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &r);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		for (int i = 0; i < 413; i++)
			b[i] = i;
		MPI_Ssend(b, 413, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
	}
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	if (rank == 1)
		printf("%g\n", b[412]);
	MPI_Comm_free(&dup);
	MPI_Finalize();
	return 0;
}
