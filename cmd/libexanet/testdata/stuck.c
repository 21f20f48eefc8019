/* The ranks wait for what does not come; with an argument the program ends with that code. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rank, x = 0;
	MPI_Comm other;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 1) {
		MPI_Finalize();
		return atoi(argv[1]);
	}
	if (rank == 0)
		MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 3)
		MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Recv(&x, 1, MPI_INT, rank == 1 ? 0 : MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}
