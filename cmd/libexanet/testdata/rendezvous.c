/* Long messages between blocking calls of two ranks, one of which may be late, and what
   comes between them. With a number it does all of it so many times. */
#include "check.h"

enum { MOST = (1 << 20) + 4096 };

static char *out, *in;
static int peer;

static void fill(int n, unsigned with)
{
	for (int i = 0; i < n; i++)
		out[i] = (char)((i >> 3) * 2654435761u + with + i * 7);
}

static void late(double us)
{
	for (double until = MPI_Wtime() + us * 1e-6; MPI_Wtime() < until;)
		;
}

static void got(const char *what, int n, MPI_Status *s)
{
	int k;
	MPI_Get_count(s, MPI_CHAR, &k);
	say("%s of %d: %d, tag %d, %lx\n", what, n, k, s->MPI_TAG, sum(in, k));
}

static void receive(const char *what, int room, int n, int tag)
{
	MPI_Status s;
	memset(in, 0, n);
	MPI_Recv(in, room, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &s);
	got(what, n, &s);
}

/* One message there and one back, for each way that there is. */
static void ways(int n, unsigned with)
{
	MPI_Request r, q;
	MPI_Status s;
	char small[8] = "", other[8];
	int class;
	for (int turn = 0; turn < 2; turn++) {
		int sends = (rank + turn) % 2;
		fill(n, with * 16 + turn);
		for (int i = 0; i < 4; i++) /* so that nothing but this lane is used */
			if (sends)
				MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			else
				receive("again", n, n, 0);
		if (sends) {
			late(100);
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			MPI_Send(small, 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD); /* into a long buffer */
			MPI_Send(small, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD); /* before, for after */
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			MPI_Isend(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &r);
			late(30);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD); /* to one that looks for it */
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD); /* to one of any tag */
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD); /* too long */
			MPI_Ssend(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			MPI_Send(out, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD); /* beside a receive that waits */
			MPI_Send(small, 8, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
		} else {
			receive("late send", n, n, 0);
			late(100);
			receive("late receive", n + 1, n, 0);
			receive("short", n, n, 0);
			receive("behind another", n, n, 0);
			MPI_Recv(other, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			receive("of an Isend", n, n, 0);
			MPI_Probe(peer, 0, MPI_COMM_WORLD, &s);
			receive("probed", n, n, 0);
			receive("any tag", n, n, MPI_ANY_TAG);
			MPI_Error_class(MPI_Recv(in, n - 1, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &s), &class);
			say("truncated %d\n", class == MPI_ERR_TRUNCATE);
			receive("synchronous", n, n, 0);
			MPI_Irecv(other, 8, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &q);
			receive("beside another", n, n, 0);
			MPI_Wait(&q, MPI_STATUS_IGNORE);
		}
		MPI_Sendrecv(out, n, MPI_CHAR, peer, 0, in, n, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &s);
		got("both ways", n, &s);
	}
}

/* Collectives of the two, one of which may be late. */
static void together(MPI_Comm two, int n, unsigned with)
{
	int me, m = n / 2 / 8;
	MPI_Comm_rank(two, &me);
	long *send = (long *)(out + -(long)(size_t)out % 8 + 8), *recv = (long *)(in + -(long)(size_t)in % 8 + 8);
	for (int root = 0; root < 2; root++)
		for (int who = 0; who < 6; who++) {
			fill(n, with + root * 8 + who + rank);
			memset(in, 0, n);
			if (who == 4 + me)
				late(60);
			MPI_Bcast(me == root ? out : in, n, MPI_CHAR, root, two);
			say("bcast of %d: %lx\n", n, sum(in, n));
			MPI_Gather(send, m - 1, MPI_LONG, recv, m - 1, MPI_LONG, root, two);
			say("gather: %lx\n", sum(recv, 2 * (m - 1) * 8));
			MPI_Scatter(send, m - 1, MPI_LONG, recv, m - 1, MPI_LONG, root, two);
			say("scatter: %lx\n", sum(recv, (m - 1) * 8));
			if (who == 5 - me)
				late(60);
			MPI_Reduce(send, recv, 2 * (m - 1), MPI_LONG, who % 2 ? MPI_SUM : MPI_MAX, root, two);
			say("reduce: %lx\n", me == root ? sum(recv, 2 * (m - 1) * 8) : 0);
			MPI_Exscan(send, recv, 2 * (m - 1), MPI_LONG, MPI_SUM, two);
			say("exscan: %lx\n", me ? sum(recv, 2 * (m - 1) * 8) : 0);
			MPI_Reduce(send, recv, 2 * (m - 1), MPI_DOUBLE, MPI_MAX, root, two); /* which no function in C combines */
		}
}

int main(int argc, char **argv)
{
	static const int all[] = {4096, 8191, 8192, 8193, 16384, 16385, 40001, 65536, 1 << 20, (1 << 20) + 1};
	begin(&argc, &argv);
	char *a = malloc(MOST + 8), *b = malloc(MOST + 8);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	peer = rank ^ 1;
	MPI_Comm two;
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &two);
	unsigned long seen = 0;
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int round = 0; round < rounds && peer < size; round++)
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
			out = a + (i + round) % 5, in = b + (i + round) % 3;
			ways(all[i], round * 64 + i);
			together(two, all[i], round * 64 + i);
			if (rounds > 1)
				seen = seen * 31 + sum(said, saidlen), saidlen = 0;
		}
	say("in all %lx\n", seen);
	free(a), free(b);
	end();
}
