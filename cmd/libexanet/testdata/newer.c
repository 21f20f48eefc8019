/* What versions of MPI since 4.0 have added, where the host has it: with requests, buffers and
   communicators of ours. */
#include "check.h"

static int left, right, in;

/* A receive and a send are under way. */
static void under_way(MPI_Request r[2])
{
	in = -1;
	MPI_Irecv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &r[1]);
}

static void arrived(const char *what, MPI_Request r[2])
{
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	say("%s %d\n", what, in);
}

/* Open MPI 5 has what follows, though it says that it is MPI 3.1. */
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
static void since_4_0(void)
{
	MPI_Request r;
	MPI_Comm twin;
	MPI_Status s;
	int all = 0;
	in = -1;
	if (rank % 2) { /* each meets ordinary calls, but for the last of an odd number */
		MPI_Request q;
		MPI_Irecv(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &q);
		MPI_Send(&rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
		MPI_Wait(&q, &s);
	} else {
		MPI_Isendrecv(&rank, 1, MPI_INT, right, 2, &in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
	say("isendrecv %d\n", in);
	MPI_Isendrecv_replace(&in, 1, MPI_INT, left, 2, right, 2, MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	say("back %d\n", in);
	MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &twin, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &in, 1, MPI_INT, left, 3, twin, &s);
	MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, twin);
	say_status("twin", &s, MPI_INT);
	say("%d %d\n", in, all);
	MPI_Comm_free(&twin);
}
#endif

#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
static void look(void)
{
	MPI_Request r[2], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status s[2];
	int done = 0, n = 0, at[2];
	under_way(r);
	while (!done)
		MPI_Request_get_status_all(2, r, &done, s);
	say_status("all", &s[0], MPI_INT);
	arrived("all", r);
	under_way(r);
	for (done = 0; !done;)
		MPI_Request_get_status_any(1, r, &n, &done, s);
	say_status("any", s, MPI_INT);
	arrived("any", r);
	under_way(r);
	for (n = 0; n == 0;)
		MPI_Request_get_status_some(1, r, &n, at, s);
	say_status("some", &s[0], MPI_INT);
	say("%d %d\n", n, at[0]);
	arrived("some", r);
	MPI_Request_get_status_any(2, none, &n, &done, s);
	say("none %d %d", n == MPI_UNDEFINED, done);
	MPI_Request_get_status_some(2, none, &n, at, s);
	say(" %d\n", n == MPI_UNDEFINED);
}

/* Messages that do not leave at once. */
static void buffered(MPI_Comm comm)
{
	static char out[100000], back[100000];
	memset(out, rank + 1, sizeof out);
	MPI_Bsend(out, sizeof out, MPI_CHAR, right, 4, comm);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Recv(back, sizeof back, MPI_CHAR, left, 4, comm, MPI_STATUS_IGNORE);
	say("buffered %lx\n", sum(back, sizeof back));
}

static void buffers(void)
{
	int size, bytes = 100000 + 2 * MPI_BSEND_OVERHEAD;
	char *room = malloc(bytes);
	void *back;
	MPI_Comm twin;
	MPI_Request r;
	MPI_Comm_dup(MPI_COMM_WORLD, &twin);
	MPI_Comm_attach_buffer(twin, room, bytes);
	buffered(twin);
	MPI_Comm_flush_buffer(twin);
	MPI_Comm_iflush_buffer(twin, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_detach_buffer(twin, &back, &size);
	say("of the communicator %d %d\n", back == room, size == bytes);
	MPI_Comm_free(&twin);
	MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
	buffered(MPI_COMM_WORLD);
	MPI_Buffer_flush();
	MPI_Buffer_iflush(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Buffer_detach(&back, &size);
	say("automatic %d\n", back == MPI_BUFFER_AUTOMATIC);
	free(room);
}
#endif

/* Operators with a state, which ends when the program has freed them and no call uses them any more. */
#if MPICH_NUMVERSION >= 50000000
static int ends;

static void add_modulo(void *a, void *b, MPI_Count n, MPI_Datatype t, void *modulus)
{
	(void)t;
	for (MPI_Count i = 0; i < n; i++)
		((long *)b)[i] = (((long *)a)[i] + ((long *)b)[i]) % *(long *)modulus; /* which is not 0 yet */
}

static void end_state(void *modulus)
{
	*(long *)modulus = 0;
	ends++;
}

/* MPICH 5.0.2 alone ends that of an operator which was freed while a request used it some time later. */
static void must_have_ended(int n)
{
	if (getenv("LD_PRELOAD") && ends != n)
		say("%d states have ended, not %d\n", ends, n);
}

static void states(void)
{
	static long out[3000], in[2][3000];
	long moduli[] = {97, 5, 13};
	MPI_Op op;
	MPI_Request r;
	for (int i = 0; i < 3000; i++)
		out[i] = rank * 31 + i;
	MPIX_Op_create_x(add_modulo, end_state, 1, &moduli[0], &op);
	MPI_Allreduce(out, in[0], 3000, MPI_LONG, op, MPI_COMM_WORLD);
	MPI_Iallreduce(out, in[1], 3000, MPI_LONG, op, MPI_COMM_WORLD, &r);
	MPI_Op_free(&op);
	say("freed %d\n", op == MPI_OP_NULL);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	say("%lx\n", sum(in, sizeof in));
	must_have_ended(1);
	MPIX_Op_create_x(add_modulo, end_state, 0, &moduli[1], &op);
	MPI_Scan(out, in[0], 3000, MPI_LONG, op, MPI_COMM_WORLD);
	MPI_Op_free(&op);
	say("scan %lx\n", sum(in[0], sizeof in[0]));
	must_have_ended(2);
	MPIX_Op_create_x(add_modulo, end_state, 1, &moduli[2], &op);
	MPI_Allreduce_init(out, in[0], 3000, MPI_LONG, op, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	MPI_Op_free(&op);
	for (int i = 0; i < 2; i++) {
		MPI_Start(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		say("persistent %lx\n", sum(in[0], sizeof in[0]));
	}
	MPI_Request_free(&r);
	must_have_ended(3);
}
#endif

#if MPI_VERSION >= 5
static void numbers(void)
{
	MPI_Request r[2];
	under_way(r);
	r[0] = MPI_Request_fromint(MPI_Request_toint(r[0]));
	arrived("number", r);
	say("world %d\n", MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
}
#endif

int main(int argc, char **argv)
{
	MPI_Request r[2];
	begin(&argc, &argv);
	left = (rank + size - 1) % size, right = (rank + 1) % size;
	under_way(r);
	r[0] = MPI_Request_f2c(MPI_Request_c2f(r[0]));
	arrived("in Fortran", r);
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
	since_4_0();
#endif
#if MPI_VERSION * 10 + MPI_SUBVERSION >= 41
	look();
	buffers();
#endif
#if MPICH_NUMVERSION >= 50000000
	states();
#endif
#if MPI_VERSION >= 5
	numbers();
#endif
	end();
}
