/* What errors in arguments are called, and what a job that ends before its time ends
   with. */
#include "check.h"

static int in[4], out[4];

static void words(int code)
{
	char text[MPI_MAX_ERROR_STRING + 1];
	int n, class;
	MPI_Error_class(code, &class);
	MPI_Error_string(code, text, &n);
	say("class %d: %s\n", class, text);
}

int main(int argc, char **argv)
{
	MPI_Request r;
	MPI_Status s;
	MPI_Comm self;
	begin(&argc, &argv);
	if (!strcmp(argv[1], "rank"))
		MPI_Send(out, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
	if (!strcmp(argv[1], "root"))
		MPI_Bcast(out, 1, MPI_INT, size, MPI_COMM_WORLD);
	if (!strcmp(argv[1], "abort"))
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (!strcmp(argv[1], "exit"))
		exit(3);
	MPI_Comm_dup(MPI_COMM_SELF, &self);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
	words(MPI_Send(out, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	words(MPI_Ssend(out, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
	words(MPI_Isend(out, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &r));
	words(MPI_Send_init(out, 1, MPI_INT, -99, 0, MPI_COMM_WORLD, &r));
	words(MPI_Rsend(out, 1, MPI_INT, 1, 0, self));
	words(MPI_Bsend(out, 1, MPI_INT, 0, -9, MPI_COMM_WORLD));
	words(MPI_Recv(in, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &s));
	words(MPI_Recv(in, 1, MPI_INT, size, 0, MPI_COMM_WORLD, &s));
	words(MPI_Irecv(in, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, &r));
	words(MPI_Recv_init(in, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &r));
	words(MPI_Sendrecv(out, 1, MPI_INT, size, 0, in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &s));
	words(MPI_Sendrecv(out, 1, MPI_INT, 0, 0, in, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &s));
	words(MPI_Sendrecv_replace(out, 1, MPI_INT, 0, -9, 0, 0, MPI_COMM_WORLD, &s));
	words(MPI_Probe(size, 0, MPI_COMM_WORLD, &s));
	words(MPI_Bcast(out, 1, MPI_INT, size, MPI_COMM_WORLD));
	words(MPI_Bcast(out, -1, MPI_INT, 0, MPI_COMM_WORLD));
	words(MPI_Ibcast(out, 1, MPI_INT, -9, MPI_COMM_WORLD, &r));
	words(MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD));
	words(MPI_Allreduce(out, in, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
	words(MPI_Allreduce(out, in, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
	words(MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
	words(MPI_Reduce_scatter_block(out, in, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
	words(MPI_Gather(out, 1, MPI_INT, in, 1, MPI_INT, size, MPI_COMM_WORLD));
	words(MPI_Scatter(out, 1, MPI_INT, in, -1, MPI_INT, 0, MPI_COMM_WORLD));
	MPI_Comm_free(&self);
	end();
	return size == 1 ? 5 : 0;
}
