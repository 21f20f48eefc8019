/* Error codes and handlers; the communicator goes on working. */
#include "check.h"
#include <setjmp.h>

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
#ifndef NO_NULL_TYPE_TO_REDUCE
	class("no type to reduce", MPI_Allreduce(out, in, 1, MPI_DATATYPE_NULL, MPI_SUM, c));
#endif
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

/* Handles that nobody has ever given out. */
static void nothing(void)
{
	int out = 1, in = 5;
	MPI_Comm c = 0;
	class("barrier on nothing", MPI_Barrier(c));
	class("bcast on nothing", MPI_Bcast(&out, 1, MPI_INT, 0, c));
	class("allreduce on nothing", MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, c));
	class("send on nothing", MPI_Send(&out, 1, MPI_INT, 0, 0, c));
	class("recv on nothing", MPI_Recv(&in, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE));
#ifndef OPEN_MPI /* which crashes */
	class("allreduce with nothing", MPI_Allreduce(&out, &in, 1, MPI_INT, (MPI_Op)0, MPI_COMM_WORLD));
	class("bcast of nothing", MPI_Bcast(&out, 1, (MPI_Datatype)0, 0, MPI_COMM_WORLD));
#endif
	say("in is %d\n", in);
}

static MPI_Request request;

#define BEGUN(name)                                                                                          \
	static int name##_begun(const void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c)         \
	{                                                                                                    \
		int code = MPI_##name((void *)b, n, t, peer, tag, c, &request);                              \
		if (code == MPI_SUCCESS)                                                                     \
			MPI_Request_free(&request);                                                          \
		return code;                                                                                 \
	}
BEGUN(Isend) BEGUN(Issend) BEGUN(Irsend) BEGUN(Ibsend) BEGUN(Irecv)
BEGUN(Send_init) BEGUN(Ssend_init) BEGUN(Rsend_init) BEGUN(Bsend_init) BEGUN(Recv_init)

static MPI_Status untouched = {.MPI_SOURCE = 5};

static int receive(const void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c)
{
	return MPI_Recv((void *)b, n, t, peer, tag, c, &untouched);
}

static int replace(const void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c)
{
	return MPI_Sendrecv_replace((void *)b, n, t, peer, tag, MPI_PROC_NULL, 0, c, &untouched);
}

/* Every argument of every call, one wrong. */
static void arguments(MPI_Datatype raw, int tag_ub)
{
	static int (*const calls[])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {
		MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend, receive, replace, Isend_begun, Issend_begun, Irsend_begun,
			Ibsend_begun,
		Irecv_begun, Send_init_begun, Ssend_init_begun, Rsend_init_begun, Bsend_init_begun, Recv_init_begun};
	const int nobody = MPI_PROC_NULL;
	int b[2] = {0};
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		say("call %u ", i);
		class("rank", calls[i](b, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
		class("negative rank", calls[i](b, 1, MPI_INT, -77, 0, MPI_COMM_WORLD));
		class("tag", calls[i](b, 1, MPI_INT, nobody, -5, MPI_COMM_WORLD));
		if (tag_ub < 0x7fffffff)
			class("large tag", calls[i](b, 1, MPI_INT, nobody, tag_ub + 1, MPI_COMM_WORLD));
		class("largest tag", calls[i](b, 1, MPI_INT, nobody, tag_ub, MPI_COMM_WORLD));
		class("count", calls[i](b, -1, MPI_INT, nobody, 0, MPI_COMM_WORLD));
		class("no type", calls[i](b, 1, MPI_DATATYPE_NULL, rank, 0, MPI_COMM_WORLD));
		class("not committed", calls[i](b, 1, raw, nobody, 0, MPI_COMM_WORLD));
		class("no buffer", calls[i](0, 1, MPI_INT, nobody, 0, MPI_COMM_WORLD));
		class("nothing", calls[i](0, 0, MPI_INT, nobody, 0, MPI_COMM_WORLD));
		class("two", calls[i](b, -1, MPI_INT, size, -1, MPI_COMM_WORLD));
	}
}

/* Buffered sends with too little of a buffer, and without places for results. */
static void buffers(int right, int left)
{
	static char data[200000], buffer[100000 + MPI_BSEND_OVERHEAD];
	void *back = 0;
	int n = -1, index;
	MPI_Request rs[2];
	MPI_Status st;
	class("to nobody", MPI_Bsend(data, 100000, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
#ifndef OPEN_MPI /* whose next message is stuck, and what is short needs no buffer */
	class("no buffer attached", MPI_Bsend(data, 100000, MPI_CHAR, right, 1, MPI_COMM_WORLD));
	class("none for 1", MPI_Bsend(data, 1, MPI_CHAR, right, 1, MPI_COMM_WORLD));
	class("none for 0", MPI_Ibsend(data, 0, MPI_CHAR, right, 1, MPI_COMM_WORLD, rs));
#endif
	MPI_Buffer_attach(buffer, sizeof buffer);
	class("fits", MPI_Bsend(data, 100000, MPI_CHAR, right, 1, MPI_COMM_WORLD));
#ifndef OPEN_MPI
	class("full", MPI_Bsend(data, 100000, MPI_CHAR, right, 1, MPI_COMM_WORLD));
	class("too long", MPI_Bsend(data, 200000, MPI_CHAR, right, 1, MPI_COMM_WORLD));
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Recv(data, 200000, MPI_CHAR, left, 1, MPI_COMM_WORLD, &st);
	say_status("what fitted", &st, MPI_CHAR);
	class("detach", MPI_Buffer_detach(&back, &n));
	say("%d %d\n", back == buffer, n == sizeof buffer);
	MPI_Isend(data, 1, MPI_CHAR, right, 1, MPI_COMM_WORLD, &rs[0]);
	MPI_Irecv(data + 1, 1, MPI_CHAR, left, 1, MPI_COMM_WORLD, &rs[1]);
	class("no place for a request", MPI_Irecv(data, 1, MPI_CHAR, left, 1, MPI_COMM_WORLD, 0));
#ifndef STANDARD_ABI /* where it crashes */
	class("no requests", MPI_Waitall(1, 0, MPI_STATUSES_IGNORE));
#endif
	class("no flag", MPI_Testall(2, rs, 0, MPI_STATUSES_IGNORE));
#if !defined MPICH_VERSION || !defined STANDARD_ABI /* so do these */
	class("no index", MPI_Waitany(2, rs, 0, &st));
	class("no count", MPI_Waitsome(2, rs, 0, &index, MPI_STATUSES_IGNORE));
#endif
	class("no harm done", MPI_Waitall(2, rs, MPI_STATUSES_IGNORE));
#ifndef OPEN_MPI /* it ends the job */
	MPI_Message m;
	MPI_Isend(data, 1, MPI_CHAR, right, 2, MPI_COMM_WORLD, &rs[0]);
	MPI_Mprobe(left, 2, MPI_COMM_WORLD, &m, &st);
	class("count", MPI_Mrecv(data, -1, MPI_CHAR, &m, &st));
	class("type", MPI_Imrecv(data, 1, MPI_DATATYPE_NULL, &m, &rs[1]));
	class("the message is still there", MPI_Mrecv(data + 1, 1, MPI_CHAR, &m, &st));
	MPI_Wait(&rs[0], MPI_STATUS_IGNORE);
#endif
}

static int mine;
static jmp_buf away;

static void changes(MPI_Comm *c, int *code, ...) { *code = mine; }
static void jumps(MPI_Comm *c, int *code, ...) { longjmp(away, 1); }

/* A receive that is truncated. */
static int truncated(MPI_Comm c, int right, int left)
{
	int in, out[4] = {0};
	MPI_Request r;
	MPI_Irecv(&in, 1, MPI_INT, left, 4, c, &r);
	MPI_Send(out, 4, MPI_INT, right, 4, c);
	return MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Handlers that change the code which the call returns, or do not return. MPICH calls
   that of MPI_COMM_WORLD. */
static void handlers(int right, int left)
{
	MPI_Errhandler h;
	MPI_Comm dup;
	int class;
	MPI_Add_error_class(&class);
	MPI_Add_error_code(class, &mine);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_create_errhandler(changes, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	MPI_Comm_set_errhandler(dup, h);
	MPI_Errhandler_free(&h);
	int code = truncated(dup, right, left);
#if !defined NO_CODE_AFTER_HANDLER && (!defined OPEN_MPI || !defined STANDARD_ABI) /* it is not returned */
	say("its code is changed: %d\n", code == mine);
#endif
	MPI_Comm_create_errhandler(jumps, &h);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, h);
	MPI_Comm_set_errhandler(dup, h);
	MPI_Errhandler_free(&h);
	if (setjmp(away) == 0) {
		truncated(dup, right, left);
		say("came back\n");
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_free(&dup);
}

static int query(void *state, MPI_Status *s)
{
	MPI_Status_set_elements(s, MPI_BYTE, 0);
	MPI_Status_set_cancelled(s, 0);
	return mine;
}

static int release(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int done) { return MPI_SUCCESS; }

/* A request of the host's that fails among ours. */
static void mixture(int right, int left)
{
	MPI_Request rs[2];
	MPI_Status sts[2];
	int in = -1;
	MPI_Grequest_start(query, release, cancel, 0, &rs[0]);
	MPI_Irecv(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &rs[1]);
	MPI_Send(&rank, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
	MPI_Grequest_complete(rs[0]);
	class("mixture", MPI_Waitall(2, rs, sts));
	MPI_Wait(&rs[1], MPI_STATUS_IGNORE); /* MPICH may leave it */
	say("%d, failed %d\n", in == left, sts[0].MPI_ERROR != MPI_SUCCESS);
}

int main(int argc, char **argv)
{
	int in[4], more[4], out[4] = {1, 2, 3, 4};
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
#ifndef OPEN_MPI /* whose Waitall may not return then */
	MPI_Irecv(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &rs[0]);
	MPI_Irecv(more, 4, MPI_INT, left, 1, MPI_COMM_WORLD, &rs[1]);
	MPI_Send(out, 4, MPI_INT, right, 0, MPI_COMM_WORLD);
	MPI_Send(out, 4, MPI_INT, right, 1, MPI_COMM_WORLD);
	class("truncated", MPI_Waitall(2, rs, sts));
	class("first", sts[0].MPI_ERROR);
#endif
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
	int code = MPI_Wait(&rs[0], &sts[0]);
#ifndef NO_CODE_AFTER_HANDLER
	class("truncated", code);
#endif
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
	MPI_Datatype raw;
	int *tag_ub, found;
	MPI_Type_contiguous(2, MPI_INT, &raw);
	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
	arguments(raw, *tag_ub);
	MPI_Type_free(&raw);
	say("untouched %d\n", untouched.MPI_SOURCE);
	buffers(right, left);
	nothing();
	handlers(right, left);
	mixture(right, left);
	end();
}
