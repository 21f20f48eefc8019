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
