/* Windows of long messages that MPI_Isend sends and MPI_Irecv receives: both ways and one way,
   with either side late, and with what may come in between; and the same by MPI_Sendrecv and MPI_Sendrecv_replace. With
   a number it does all of it so many times. */
#include "check.h"

enum { WINDOW = 80, ROOM = 300000 };

static char *out, *in; /* WINDOW buffers each */
static int peer;
static MPI_Request req[2 * WINDOW];

static char *from(int i) { return out + (size_t)i * ROOM; }
static char *to(int i) { return in + (size_t)i * ROOM; }

static void fill(int w, int n, unsigned with)
{
	for (int i = 0; i < w; i++) {
		for (int k = 0; k + 4 <= n; k += 4)
			*(unsigned *)(from(i) + k) = with * 2654435761u + i * 40503u + k;
		memset(to(i), 0, ROOM);
	}
}

static void late(double us)
{
	for (double until = MPI_Wtime() + us * 1e-6; MPI_Wtime() < until;)
		;
}

static void got(const char *what, int w, int n)
{
	unsigned long all = 0;
	for (int i = 0; i < w; i++)
		all = all * 31 + sum(to(i), n + 64);
	say("%s: %d of %d: %lx\n", what, w, n, all);
}

static void receive(int w, int room, int tag)
{
	for (int i = 0; i < w; i++)
		MPI_Irecv(to(i), room, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &req[i]);
}

static void send(int w, int n, int tag)
{
	for (int i = 0; i < w; i++)
		MPI_Isend(from(i), n, MPI_CHAR, peer, tag, MPI_COMM_WORLD, &req[WINDOW + i]);
}

static void wait(int at, int w) { MPI_Waitall(w, req + at, MPI_STATUSES_IGNORE); }

/* Both send and receive; who is late computes before it does the one or the other. */
static void both(int w, int n, int lates)
{
	fill(w, n, n + lates);
	if (lates == 1 + rank % 2)
		late(40);
	receive(w, n + (w % 3), 0);
	if (lates == 3 + rank % 2)
		late(40);
	send(w, n, 0);
	if (lates == 5 + rank % 2)
		late(400);
	wait(WINDOW, w), wait(0, w);
	got("both ways", w, n);
}

/* One sends and the other receives, in one of some ways. */
static void one(int sender, int how, int n)
{
	enum { W = 12 };
	int flag, at, some[W];
	char small[8] = "abc", other[8];
	MPI_Status s;
	MPI_Request q;
	MPI_Datatype gaps;
	fill(W, n, n * 16 + how);
	MPI_Type_vector(n / 8, 4, 8, MPI_CHAR, &gaps);
	MPI_Type_commit(&gaps);
	for (int k = 0; k < 3; k++) { /* so that the way is there */
		if (rank == sender)
			send(W, n, 0), wait(WINDOW, W);
		else
			receive(W, n, 0), wait(0, W);
	}
	if (rank == sender) {
		late(how % 3 * 30);
		switch (how) {
		case 0:
			for (int i = 0; i < W; i++)
				MPI_Ssend(from(i), n, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			break;
		case 1: /* with gaps, and shorter */
			for (int i = 0; i < W; i++)
				MPI_Send(from(i), i % 2 ? 1 : n, i % 2 ? gaps : MPI_CHAR, peer, 0, MPI_COMM_WORLD);
			break;
		case 2: /* short ones, and others between */
			for (int i = 0; i < W; i++) {
				MPI_Send(from(i), i % 3 ? n : 8, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
				MPI_Send(small, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
			}
			break;
		case 3: /* not in the order of tags */
			for (int i = W - 1; i >= 0; i--)
				MPI_Isend(from(i), n, MPI_CHAR, peer, i, MPI_COMM_WORLD, &req[WINDOW + i]);
			wait(WINDOW, W);
			break;
		case 4: /* to one that is taken back, and to others */
			MPI_Recv(other, 8, MPI_CHAR, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			send(W - 1, n, 0), wait(WINDOW, W - 1);
			break;
		case 5: /* too long */
			send(W, n, 0), wait(WINDOW, W);
			break;
		default:
			send(W, n, 0), wait(WINDOW, W);
		}
	} else {
		if (how == 3)
			for (int i = 0; i < W; i++)
				MPI_Irecv(to(i), n, MPI_CHAR, peer, i, MPI_COMM_WORLD, &req[i]);
		else
			receive(W, how == 5 ? n - 1 : n, 0);
		late(how % 2 * 50);
		switch (how) {
		case 2:
			for (int i = 0; i < W; i++) {
				MPI_Recv(other, 8, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				MPI_Wait(&req[i], &s);
				say_status("one of many", &s, MPI_CHAR);
			}
			break;
		case 4:
			MPI_Cancel(&req[W - 1]);
			MPI_Wait(&req[W - 1], &s);
			MPI_Test_cancelled(&s, &flag);
			say("cancelled %d\n", flag);
			MPI_Send(small, 8, MPI_CHAR, peer, 3, MPI_COMM_WORLD);
			wait(0, W - 1);
			break;
		case 5:
			for (int i = 0; i < W; i++) {
				int class;
				MPI_Error_class(MPI_Wait(&req[i], &s), &class);
				say("truncated %d\n", class == MPI_ERR_TRUNCATE);
			}
			break;
		case 6:
			for (int i = W - 1; i >= 0; i--)
				MPI_Wait(&req[i], MPI_STATUS_IGNORE);
			break;
		case 7:
			for (int i = 0; i < W; i++)
				do
					MPI_Test(&req[(i + 3) % W], &flag, &s);
				while (!flag);
			break;
		case 8:
			for (int i = 0; i < W; i++)
				MPI_Waitany(W, req, &at, &s);
			break;
		case 9:
			for (int i = 0, k; i < W; i += k)
				MPI_Waitsome(W, req, &k, some, MPI_STATUSES_IGNORE);
			break;
		case 10: /* while it waits for something else */
			MPI_Irecv(other, 8, MPI_CHAR, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &q);
			wait(0, W);
			MPI_Cancel(&q);
			MPI_Wait(&q, MPI_STATUS_IGNORE);
			break;
		case 11:
			for (int i = 0; i < W; i++)
				MPI_Request_free(&req[i]);
			break;
		default:
			wait(0, W);
		}
		if (how == 11) /* the next message comes behind them */
			receive(1, n, 7), wait(0, 1);
		got("one way", W, how == 5 ? 0 : n);
	}
	if (how == 11 && rank == sender)
		send(1, n, 7), wait(WINDOW, 1);
	if (how % 4 == 0)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Type_free(&gaps);
}

/* Both send and receive in one call, of which some begin late, or are others at one of them. */
static void swaps(int n)
{
	MPI_Status s;
	int class;
	fill(12, n, n * 3);
	for (int i = 0; i < 12; i++) {
		if (i == 3 + rank % 2)
			late(60);
		if (i == 5)
			MPI_Barrier(MPI_COMM_WORLD);
		if (i == 7 && rank % 2) {
			MPI_Irecv(to(i), n, MPI_CHAR, peer, 9, MPI_COMM_WORLD, &req[0]);
			MPI_Send(from(i), n, MPI_CHAR, peer, 9, MPI_COMM_WORLD);
			MPI_Wait(&req[0], &s);
		} else if (i == 8) { /* long there, short back */
			MPI_Sendrecv(from(i), rank % 2 ? n : 8, MPI_CHAR, peer, 9, to(i), n, MPI_CHAR, peer, 9, MPI_COMM_WORLD, &s);
		} else if (i == 9) {
			MPI_Sendrecv(from(i), n, MPI_CHAR, rank, 9, to(i), n, MPI_CHAR, rank, 9, MPI_COMM_WORLD, &s);
		} else if (i == 10) {
			MPI_Error_class(MPI_Sendrecv(from(i), n, MPI_CHAR, peer, 9, to(i), n - rank % 2, MPI_CHAR, peer, 9,
				MPI_COMM_WORLD, &s), &class);
			say("truncated %d\n", class == MPI_ERR_TRUNCATE);
			memset(to(i), 0, n);
			continue;
		} else {
			MPI_Sendrecv(from(i), n, MPI_CHAR, peer, 9, to(i), n + i, MPI_CHAR, peer, 9, MPI_COMM_WORLD, &s);
		}
		say_status("swapped", &s, MPI_CHAR);
	}
	MPI_Sendrecv(from(0), n, MPI_CHAR, rank % 2 ? MPI_PROC_NULL : peer, 9, to(0), n, MPI_CHAR, rank % 2 ? peer
		: MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	got("swapped", 12, n);
}

/* The same with one buffer, of which what comes may fill a part. */
static void replaces(int n)
{
	MPI_Status s;
	fill(8, n, n * 5);
	for (int i = 0; i < 8; i++) {
		memcpy(to(i), from(i), n);
		if (i == 2 + rank % 2)
			late(60);
		if (i == 5 && rank % 2) {
			MPI_Send(from(i), 8, MPI_CHAR, peer, 9, MPI_COMM_WORLD);
			MPI_Recv(to(i), n, MPI_CHAR, peer, 9, MPI_COMM_WORLD, &s);
		} else {
			int with = i == 6 ? rank : peer;
			MPI_Sendrecv_replace(to(i), n, MPI_CHAR, with, 9, with, 9, MPI_COMM_WORLD, &s);
		}
		say_status("replaced", &s, MPI_CHAR);
	}
	got("replaced", 8, n);
}

int main(int argc, char **argv)
{
	static const int all[] = {16384, 16388, 40004, 100000, 262144};
	begin(&argc, &argv);
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned long seen = 0;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	peer = rank ^ 1;
	out = malloc((size_t)WINDOW * ROOM), in = malloc((size_t)WINDOW * ROOM);
	for (int round = 0; round < rounds && size % 2 == 0; round++)
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
			for (int lates = 0; lates < 7; lates++)
				both(lates % 2 ? 5 : lates == 4 ? WINDOW : 20, all[i], lates);
			swaps(all[i]), swaps(all[i] / 64);
			replaces(all[i]), replaces(all[i] / 64);
			for (int sender = 0; sender < 2; sender++)
				for (int how = 0; how < 13; how++)
					one((rank & ~1) + sender, how, all[i]);
			if (rounds > 1)
				seen = seen * 31 + sum(said, saidlen), saidlen = 0;
		}
	say("in all %lx\n", seen);
	free(out), free(in);
	end();
}
