/* Ranks but the first go on without a message, for longer than that waits in silence, and end the job. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank > 0) {
		sleep(14);
		MPI_Abort(MPI_COMM_WORLD, 12);
	}
	MPI_Finalize();
}
