/* MPI_Test on requests that do not complete for a while, and on those that do without a message from
   another rank. */
#include "check.h"

enum { PATIENCE = 100000, LONG = 4 << 20 };

/* The tests until a request has completed, at least 1; 0 if it does not. */
static int tested(MPI_Request *r, MPI_Status *s)
{
	int flag, n = 0;
	do
		MPI_Test(r, &flag, s);
	while (++n < PATIENCE && !flag);
	return flag ? n : 0;
}

/* Some tests, and then a wait: how many there are in all depends on nobody's time. */
static void finish(MPI_Request *r, MPI_Status *s)
{
	int flag = 0;
	for (int i = 0; i < 100 && !flag; i++)
		MPI_Test(r, &flag, s);
	if (!flag)
		MPI_Wait(r, s);
}

static void wildcard(int size_of_it, int tag)
{
	static char buf[LONG];
	int peer = rank ^ 1, go = 0, early = 0, flag, at;
	MPI_Request rs[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, r;
	MPI_Status s;
	if (rank % 2) {
		memset(buf, 'a' + tag, size_of_it);
		MPI_Recv(&go, 1, MPI_INT, peer, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(buf, size_of_it, MPI_CHAR, peer, tag, MPI_COMM_WORLD);
		return;
	}
	memset(buf, 0, sizeof buf);
	MPI_Irecv(buf, sizeof buf, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
	for (int i = 0; i < 10000; i++) {
		MPI_Test(&r, &flag, &s);
		early += flag;
	}
	rs[1] = r;
	for (int i = 0; i < 10000; i++) {
		MPI_Testany(2, rs, &at, &flag, &s);
		early += flag || at != MPI_UNDEFINED;
	}
	MPI_Send(&go, 1, MPI_INT, peer, 50, MPI_COMM_WORLD);
	for (int i = 0; i < 100; i++) { /* some of each, while the message comes */
		MPI_Testany(2, rs, &at, &flag, &s);
		if (flag)
			break;
		r = rs[1];
	}
	if (flag)
		r = rs[1] = MPI_REQUEST_NULL;
	else
		finish(&r, &s);
	say("early %d, ", early);
	say_status("wildcard", &s, MPI_CHAR);
	say("data %lx\n", sum(buf, size_of_it));
}

static void by_itself(void)
{
	int x = 0, y = 7, flag, bad = 0;
	MPI_Request r, q;
	MPI_Status s;
	for (int i = 0; i < 100; i++) {
		MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &r);
		MPI_Test(&r, &flag, &s);
		bad += flag;
		MPI_Cancel(&r);
		bad += !tested(&r, &s);
		MPI_Test_cancelled(&s, &flag);
		bad += !flag;
		/* The next request may have the same handle, and its message is there. */
		MPI_Isend(&y, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &q);
		MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &r);
		bad += !tested(&r, &s) || x != 7;
		bad += !tested(&q, &s);
		x = 0;
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	finish(&r, MPI_STATUS_IGNORE);
	say("bad %d\n", bad);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	if ((rank ^ 1) < size) {
		wildcard(1, 1);
		wildcard(2000, 2);
		wildcard(LONG, 3);
	}
	by_itself();
	end();
	return 0;
}
