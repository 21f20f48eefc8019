/* An error handler in C++ that throws, through the entry points. */
#include "check.h"

#include <stdexcept>
#include <vector>

static void handler(MPI_Comm *, int *, ...) { throw std::runtime_error("no such rank"); }

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	MPI_Errhandler h;
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	int caught = 0;
	for (int i = 0; i < 100; i++)
		try {
			MPI_Send(&rank, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
		} catch (std::runtime_error &) {
			caught++;
		}
	std::vector<double> x(1000, rank), y(1000);
	MPI_Allreduce(x.data(), y.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	say("caught %d, sum %g\n", caught, y[999]);
	end();
}
