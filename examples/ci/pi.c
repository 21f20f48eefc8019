/* An MPI program like any other: pi by midpoints, on each rank every size-th one. It fails if the sum is wrong. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
	int rank, size, wrong;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const int n = 100000;
	double part = 0, pi = 0;
	for (int i = rank; i < n; i += size) {
		double x = (i + 0.5) / n;
		part += 4 / (1 + x * x) / n;
	}
	MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	wrong = fabs(pi - 3.14159265358979) > 1e-9;
	if (rank == 0)
		printf("pi is about %.9f, by %d ranks\n", pi, size);
	MPI_Finalize();
	return wrong;
}
