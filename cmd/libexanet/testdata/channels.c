/* Short messages on channels that have been used before, where nothing else goes on; and
   everything that disturbs them. */
#include "check.h"

enum { MANY = 3000, LONG = 40000 };

static int right, left;
static MPI_Comm c;

/* Fills b with what no other message has. */
static void fill(char *b, int n)
{
	static unsigned counter;
	counter++;
	for (int i = 0; i < n; i++)
		b[i] = (char)(counter * 31 + i * 7 + rank);
}

static void send(int n, int tag)
{
	static char b[LONG];
	fill(b, n);
	MPI_Send(b, n, MPI_CHAR, right, tag, c);
}

static void got(const char *what, const char *b, MPI_Status *s)
{
	int n;
	MPI_Get_count(s, MPI_CHAR, &n);
	say("%s: %d from %d, tag %d, %lx\n", what, n, s->MPI_SOURCE, s->MPI_TAG, sum(b, n));
}

/* Uses the channels of some tags, both ways of waiting. */
static void warm(void)
{
	char b[8];
	MPI_Request r;
	for (int i = 0; i < 12; i++) {
		MPI_Irecv(b, 8, MPI_CHAR, left, i % 3, c, &r);
		send(8, i % 3);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	}
}

static void sizes(void)
{
	static const int all[] = {0, 1, 7, 8, 231, 232, 233, 4096, 16383, 16384, 16385, LONG};
	static char b[LONG];
	MPI_Status s;
	MPI_Request r;
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		MPI_Irecv(b, LONG, MPI_CHAR, left, 0, c, &r);
		send(all[i], 0);
		MPI_Wait(&r, &s);
		got("size", b, &s);
		MPI_Irecv(b, all[i], MPI_CHAR, left, 0, c, &r);
		send(all[i], 0);
		MPI_Wait(&r, &s);
		got("exact", b, &s);
	}
}

/* What comes between a receive and its message. */
static void between(int how)
{
	char a[64], b[64], d[64];
	MPI_Status s, s2;
	MPI_Request r, r2;
	MPI_Message m;
	int flag, index, indices[2], count;
	warm();
	MPI_Irecv(a, 64, MPI_CHAR, left, 0, c, &r);
	switch (how) {
	case 0: /* another receive of the same channel, that waits */
		send(10, 0), send(20, 0);
		MPI_Recv(b, 64, MPI_CHAR, left, 0, c, &s2);
		got("second", b, &s2);
		break;
	case 1: /* of another */
		send(20, 1), send(10, 0);
		MPI_Recv(b, 64, MPI_CHAR, left, 1, c, &s2);
		got("other tag", b, &s2);
		break;
	case 2: /* wildcards, behind it */
		MPI_Irecv(b, 64, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &r2);
		send(10, 0), send(20, 0);
		MPI_Wait(&r2, &s2);
		got("any", b, &s2);
		break;
	case 3:
		send(10, 0), send(20, 0);
		MPI_Probe(left, 0, c, &s2);
		MPI_Recv(b, 64, MPI_CHAR, left, 0, c, &s2);
		got("probed", b, &s2);
		break;
	case 4:
		send(10, 0), send(20, 0);
		MPI_Mprobe(left, 0, c, &m, &s2);
		MPI_Mrecv(b, 64, MPI_CHAR, &m, &s2);
		got("matched", b, &s2);
		break;
	case 5: /* it is taken back */
		MPI_Cancel(&r);
		MPI_Wait(&r, &s);
		MPI_Test_cancelled(&s, &flag);
		say("cancelled %d\n", flag);
		MPI_Barrier(c);
		send(10, 0);
		MPI_Recv(a, 64, MPI_CHAR, left, 0, c, &s);
		r = MPI_REQUEST_NULL;
		break;
	case 6: /* it is given up, and its message comes all the same */
		MPI_Request_free(&r);
		send(10, 0), send(20, 0);
		MPI_Recv(b, 64, MPI_CHAR, left, 0, c, &s2);
		got("after the freed one", b, &s2);
		break;
	case 7:
		send(10, 0);
		do
			MPI_Request_get_status(r, &flag, &s);
		while (!flag);
		got("looked at", a, &s);
		break;
	case 8:
		MPI_Irecv(b, 64, MPI_CHAR, left, 1, c, &r2);
		MPI_Request both[] = {r, r2};
		send(20, 1);
		MPI_Waitany(2, both, &index, &s2);
		say("index %d\n", index);
		got("any of two", b, &s2);
		MPI_Barrier(c);
		send(10, 0);
		do
			MPI_Testsome(2, both, &count, indices, &s);
		while (!count);
		say("%d of them, %d, gone %d\n", count, indices[0], both[0] == MPI_REQUEST_NULL);
		r = MPI_REQUEST_NULL;
		break;
	case 9: /* too long */
		send(65, 0);
		count = MPI_Wait(&r, &s);
		MPI_Error_class(count, &index);
		say("truncated %d\n", index == MPI_ERR_TRUNCATE);
		send(10, 0);
		MPI_Recv(a, 64, MPI_CHAR, left, 0, c, &s);
		got("after it", a, &s);
		r = MPI_REQUEST_NULL;
		break;
	case 10: { /* the communicator is freed */
		MPI_Comm was = c;
		send(10, 0);
		MPI_Comm_dup(was, &c);
		MPI_Comm_free(&was);
		break;
	}
	case 11: /* synchronous sends, while this rank is elsewhere */
		MPI_Isend(b, 10, MPI_CHAR, right, 1, c, &r2);
		fill(d, 10);
		MPI_Ssend(d, 10, MPI_CHAR, right, 0, c);
		MPI_Wait(&r2, MPI_STATUS_IGNORE);
		MPI_Recv(b, 64, MPI_CHAR, left, 1, c, MPI_STATUS_IGNORE);
		break;
	}
	if (r != MPI_REQUEST_NULL)
		MPI_Wait(&r, &s);
	if (how != 6 && how != 8)
		got("first", a, &s);
}

/* More receives than are noted at a time, ended backwards and all at once. */
static void many(void)
{
	static char b[MANY][8], d[MANY][8];
	static MPI_Request rs[2 * MANY];
	static MPI_Status ss[2 * MANY];
	for (int turn = 0; turn < 2; turn++) {
		warm();
		for (int i = 0; i < MANY; i++)
			MPI_Irecv(b[i], 8, MPI_CHAR, left, i % 3, c, &rs[i]);
		for (int i = 0; i < MANY; i++) {
			fill(d[i], 8);
			MPI_Isend(d[i], 8, MPI_CHAR, right, i % 3, c, &rs[MANY + i]);
		}
		if (turn)
			for (int i = 2 * MANY; i-- > 0;)
				MPI_Wait(&rs[i], &ss[i]);
		else
			MPI_Waitall(2 * MANY, rs, ss);
		unsigned long h = 0;
		for (int i = 0; i < MANY; i++)
			h = h * 31 + sum(b[i], 8) + ss[i].MPI_TAG + ss[i].MPI_SOURCE;
		say("many %lx, all null %d\n", h, rs[0] == MPI_REQUEST_NULL && rs[2 * MANY - 1] == MPI_REQUEST_NULL);
	}
}

/* Messages without data, for which there is no buffer; one of them is too long for that. */
static void none(void)
{
	MPI_Status s;
	MPI_Request r[2];
	for (int i = 0; i < 30; i++) {
		int tag = i % 3;
		if (i % 2) {
			MPI_Irecv(NULL, 0, MPI_CHAR, left, tag, c, &r[0]);
			MPI_Isend(NULL, 0, MPI_CHAR, right, tag, c, &r[1]);
			MPI_Wait(&r[1], MPI_STATUS_IGNORE);
			MPI_Wait(&r[0], &s);
		} else if (i % 4) {
			MPI_Sendrecv(NULL, 0, MPI_CHAR, right, tag, NULL, 0, MPI_CHAR, left, tag, c, &s);
		} else {
			MPI_Send(NULL, 0, MPI_CHAR, right, tag, c);
			MPI_Recv(NULL, 0, MPI_CHAR, left, tag, c, &s);
		}
		got("none", NULL, &s);
	}
	send(8, 1);
	int code = MPI_Recv(NULL, 0, MPI_CHAR, left, 1, c, MPI_STATUS_IGNORE), class;
	MPI_Error_class(code, &class);
	say("too long for none: %d\n", class == MPI_ERR_TRUNCATE);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &c);
	MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPICH asks that one when a request fails */
	right = (rank + 1) % size, left = (rank + size - 1) % size;
	warm();
	sizes();
	none();
	for (int how = 0; how <= 11; how++) {
		say("%d\n", how);
		between(how);
		MPI_Barrier(c);
	}
	many();
	end();
}
