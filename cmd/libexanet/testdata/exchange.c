/* Exchanges messages of all kinds and sizes until it is killed. */
#include "check.h"

int main(int argc, char **argv)
{
	static char in[1 << 20], out[1 << 20];
	begin(&argc, &argv);
	for (unsigned i = 0;; i++) {
		int n = i % 7 == 0 ? 1 << 20 : i % 3 == 0 ? 20000 : 8, total;
		MPI_Request r[2];
		MPI_Irecv(in, n, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out, n, MPI_CHAR, (rank + 1) % size, 1, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		MPI_Allreduce(&n, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
}
