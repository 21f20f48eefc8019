/* Error codes and handlers; the communicator goes on working. */
#include "check.h"

/* MPICH does not call the handler of the communicator for what a wait finds. */
static int called, quiet;
static MPI_Comm where;

static void handler(MPI_Comm *c, int *code, ...)
{
	int class;
	MPI_Error_class(*code, &class);
	if (!quiet)
		say("handler: class %d\n", class);
	called++;
	where = *c;
}

static void class(const char *what, int code)
{
	int c;
	MPI_Error_class(code, &c);
	say("%s: class %d\n", what, c);
}

/* Arguments of collectives that the hosts refuse. */
static void collectives(MPI_Comm c)
{
	int out[64] = {0}, in[64] = {0}, ones[8], displs[8];
	double x[4] = {0}, y[4];
	MPI_Datatype types[8], pair;
	MPI_Request r;
	for (int i = 0; i < 8; i++)
		ones[i] = 1, displs[i] = i, types[i] = MPI_INT;
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	class("root -1", MPI_Bcast(out, 1, MPI_INT, -1, c));
	class("root of Igather", MPI_Igather(out, 1, MPI_INT, in, 1, MPI_INT, size, c, &r));
	class("root of Reduce", MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, size, c));
	class("count of Alltoall", MPI_Alltoall(out, -1, MPI_INT, in, -1, MPI_INT, c));
	class("no type", MPI_Allgather(out, 1, MPI_DATATYPE_NULL, in, 1, MPI_DATATYPE_NULL, c));
	class("no type to reduce", MPI_Allreduce(out, in, 1, MPI_DATATYPE_NULL, MPI_SUM, c));
	class("no operator", MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, c));
	class("BAND of double", MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, c));
	class("REPLACE", MPI_Allreduce(out, in, 1, MPI_INT, MPI_REPLACE, c));
	class("MINLOC of int", MPI_Scan(out, in, 1, MPI_INT, MPI_MINLOC, c));
	class("SUM of a derived type", MPI_Iallreduce(out, in, 1, pair, MPI_SUM, c, &r));
	class("SUM of a derived type", MPI_Reduce_scatter(out, in, ones, pair, MPI_SUM, c));
	class("SUM of pairs", MPI_Allreduce(out, in, 1, MPI_2REAL, MPI_SUM, c));
	class("MAX of logical", MPI_Exscan(out, in, 1, MPI_LOGICAL, MPI_MAX, c));
	class("BOR of long double", MPI_Allreduce(out, in, 1, MPI_LONG_DOUBLE, MPI_BOR, c));
	class("SUM of wide characters", MPI_Allreduce(out, in, 1, MPI_WCHAR, MPI_SUM, c));
	class("place of Allgather", MPI_Allgather(out, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, c));
	class("place of Allgatherv", MPI_Allgatherv(out, 1, MPI_INT, MPI_IN_PLACE, ones, displs, MPI_INT, c));
	class("place of Alltoallv", MPI_Alltoallv(out, ones, displs, MPI_INT, MPI_IN_PLACE, ones, displs, MPI_INT, c));
	class("place of Allreduce", MPI_Allreduce(out, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c));
	class("place of Reduce_scatter", MPI_Reduce_scatter(out, MPI_IN_PLACE, ones, MPI_INT, MPI_SUM, c));
	class("place of Scan", MPI_Scan(out, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, c));
	class("no topology", MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, c));
#ifdef MPICH_VERSION /* Open MPI does not look at these */
	class("no memory", MPI_Allreduce(0, in, 1, MPI_INT, MPI_SUM, c));
	class("same memory for Allreduce", MPI_Allreduce(out, out, 1, MPI_INT, MPI_SUM, c));
	class("same memory for Alltoall", MPI_Alltoall(out, 1, MPI_INT, out, 1, MPI_INT, c));
	class("same memory for Alltoallw", MPI_Alltoallw(out, ones, displs, types, out, ones, displs, types, c));
	class("same memory for Allgather", MPI_Allgather(in + rank, 1, MPI_INT, in, 1, MPI_INT, c));
	class("same memory for Ireduce_scatter", MPI_Ireduce_scatter(out, out, ones, MPI_INT, MPI_SUM, c, &r));
#endif
	MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
	int in[4], out[4] = {1, 2, 3, 4};
	MPI_Errhandler h;
	MPI_Comm dup;
	MPI_Status sts[2];
	MPI_Request rs[2];
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	class("rank", MPI_Send(out, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD));
	class("tag", MPI_Send(out, 1, MPI_INT, right, -7, MPI_COMM_WORLD));
	class("count", MPI_Send(out, -1, MPI_INT, right, 0, MPI_COMM_WORLD));
	class("type", MPI_Send(out, 1, MPI_DATATYPE_NULL, right, 0, MPI_COMM_WORLD));
	class("root", MPI_Bcast(out, 1, MPI_INT, size, MPI_COMM_WORLD));
	class("comm", MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_NULL));
	collectives(MPI_COMM_WORLD);
	MPI_Irecv(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &rs[0]);
	MPI_Irecv(in, 4, MPI_INT, left, 1, MPI_COMM_WORLD, &rs[1]);
	MPI_Send(out, 4, MPI_INT, right, 0, MPI_COMM_WORLD);
	MPI_Send(out, 4, MPI_INT, right, 1, MPI_COMM_WORLD);
	class("truncated", MPI_Waitall(2, rs, sts));
	class("first", sts[0].MPI_ERROR);
	MPI_Group all;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Comm_create(MPI_COMM_WORLD, all, &dup);
	class("rank, inherited handler", MPI_Send(out, 1, MPI_INT, size + 3, 0, dup));
	MPI_Comm_free(&dup);
	MPI_Comm_create_group(MPI_COMM_WORLD, all, 3, &dup);
	class("tag, inherited handler", MPI_Send(out, 1, MPI_INT, 0, -3, dup));
	MPI_Comm_free(&dup);
	MPI_Group_free(&all);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_create_errhandler(handler, &h);
	MPI_Comm_set_errhandler(dup, h);
	class("rank of dup", MPI_Send(out, 1, MPI_INT, size + 3, 0, dup));
	say("called %d for dup %d\n", called, where == dup);
	quiet = 1;
	MPI_Irecv(in, 1, MPI_INT, left, 2, dup, &rs[0]);
	MPI_Send(out, 4, MPI_INT, right, 2, dup);
	class("truncated", MPI_Wait(&rs[0], &sts[0]));
	MPI_Sendrecv(out, 4, MPI_INT, right, 3, in, 4, MPI_INT, left, 3, dup, &sts[0]);
	say_status("goes on", &sts[0], MPI_INT);
	MPI_Errhandler_free(&h);
	MPI_Comm_free(&dup);
#ifndef OPEN_MPI
	/* The communicator of a request that fails may have been freed. Open MPI ends the
	   job then. */
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Irecv(in, 1, MPI_INT, left, 2, dup, &rs[0]);
	MPI_Isend(out, 4, MPI_INT, right, 2, dup, &rs[1]);
	MPI_Comm_free(&dup);
	class("truncated, freed communicator", MPI_Wait(&rs[0], MPI_STATUS_IGNORE));
	MPI_Wait(&rs[1], MPI_STATUS_IGNORE);
#endif
	end();
}
