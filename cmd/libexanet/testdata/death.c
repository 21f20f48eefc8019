/* A rank dies as the argument says, while the others wait for it. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static void leave(void) { fputs("left by exit\n", stderr); }

int main(int argc, char **argv)
{
	int x;
	begin(&argc, &argv);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &x, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm comm = MPI_COMM_WORLD;
	int at = rank;
	if (!strcmp(argv[1], "apart")) { /* on a communicator of some ranks */
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
		MPI_Comm_rank(comm, &at);
	}
	if (rank == size - 1) {
		if (!strcmp(argv[1], "kill"))
			kill(getpid(), SIGKILL);
		if (!strcmp(argv[1], "abort"))
			MPI_Abort(MPI_COMM_WORLD, 9);
		if (!strcmp(argv[1], "truncated") || !strcmp(argv[1], "apart")) {
			int out[4] = {0};
			MPI_Request r;
			atexit(leave);
			MPI_Isend(out, 4, MPI_INT, at, 2, comm, &r);
			MPI_Recv(&x, 1, MPI_INT, at, 2, comm, MPI_STATUS_IGNORE);
		}
		if (!strcmp(argv[1], "fatal"))
			MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
	}
	MPI_Recv(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}
