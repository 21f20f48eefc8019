/* Ranks but the first, which have no library preloaded, go on for longer than one waits for them that has. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank > 0)
		sleep(100);
	MPI_Finalize();
}
