/* Persistent sends and receives: started one by one, all at once, and more of them than are started without
   the protocol; waited for and tested in every way, looked at, taken back and freed while they are active;
   those of a communicator that takes the place of another one; and those of a merged one, which are the host's. */
#include "check.h"

enum { WAYS = 11, PAIRS = 4, MOST = 600000, MANY = 300 };

static char out[PAIRS][MOST], in[PAIRS][MOST];
static const int sizes[PAIRS] = {8, 3000, 70000, MOST};
static int left, right;

static void around(void) { left = (rank + size - 1) % size, right = (rank + 1) % size; }

/* Requests 0, 2, 4 receive, 1, 3, 5 send. */
static void make(MPI_Request *q, MPI_Comm comm)
{
	for (int k = 0; k < PAIRS; k++) {
		MPI_Recv_init(in[k], sizes[k], MPI_CHAR, left, k, comm, &q[2 * k]);
		MPI_Send_init(out[k], sizes[k], MPI_CHAR, right, k, comm, &q[2 * k + 1]);
	}
}

static void taken(const char *what, MPI_Status *s, int at)
{
	int n;
	MPI_Get_count(s, MPI_CHAR, &n);
	if (at % 2 == 0 && (s->MPI_SOURCE != left || s->MPI_TAG != at / 2 || n != sizes[at / 2]))
		say("%s: request %d: %d bytes from %d, tag %d\n", what, at, n, s->MPI_SOURCE, s->MPI_TAG);
}

/* Ends all of them. */
static void finish(MPI_Request *q, int way)
{
	enum { N = 2 * PAIRS };
	MPI_Status sts[N];
	int flag, at, n, which[N];
	switch (way) {
	case 0:
		MPI_Waitall(N, q, sts);
		for (int i = 0; i < N; i++)
			taken("waitall", &sts[i], i);
		break;
	case 1:
		for (int i = N - 1; i >= 0; i--) {
			MPI_Wait(&q[i], &sts[i]);
			taken("wait", &sts[i], i);
		}
		break;
	case 2:
		for (int i = 0; i < N; i++)
			for (flag = 0; !flag;)
				MPI_Test(&q[i], &flag, &sts[i]);
		break;
	case 3:
		for (flag = 0; !flag;)
			MPI_Testall(N, q, &flag, MPI_STATUSES_IGNORE);
		break;
	case 4:
		for (int i = 0; i < N; i++) {
			MPI_Waitany(N, q, &at, &sts[0]);
			taken("waitany", &sts[0], at);
		}
		MPI_Waitany(N, q, &at, &sts[0]);
		say(at == MPI_UNDEFINED ? "no more\n" : "more\n");
		break;
	case 5:
		for (int i = 0; i < N; i += n) {
			MPI_Waitsome(N, q, &n, which, sts);
			for (int k = 0; k < n; k++)
				taken("waitsome", &sts[k], which[k]);
		}
		break;
	case 6:
		for (int i = 0; i < N; i += flag)
			MPI_Testany(N, q, &at, &flag, MPI_STATUS_IGNORE);
		break;
	case 7:
		for (int i = 0; i < N; i += n)
			MPI_Testsome(N, q, &n, which, MPI_STATUSES_IGNORE);
		MPI_Testsome(N, q, &n, which, MPI_STATUSES_IGNORE);
		say(n == MPI_UNDEFINED ? "none\n" : "some\n");
		break;
	case 8: /* beside a request of another kind */
		for (int i = 0; i < N; i += 2) {
			MPI_Request both[2] = {q[i], MPI_REQUEST_NULL};
			MPI_Ibarrier(MPI_COMM_WORLD, &both[1]);
			MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
			say(both[0] == q[i] && both[1] == MPI_REQUEST_NULL ? "kept\n" : "not kept\n");
		}
		for (int i = 1; i < N; i += 2)
			MPI_Wait(&q[i], MPI_STATUS_IGNORE);
		break;
	case 9:
		for (int i = 0; i < N; i++) {
			for (flag = 0; !flag;)
				MPI_Request_get_status(q[i], &flag, &sts[i]);
			taken("looked at", &sts[i], i);
			MPI_Request_get_status(q[i], &flag, &sts[i]);
			MPI_Wait(&q[i], &sts[i]);
#ifndef MPICH_VERSION /* whose 5.0.2 gives an empty status */
			taken("looked at and waited for", &sts[i], i);
#endif
		}
		break;
	default: /* receives alone, then sends */
		for (int i = 0; i < PAIRS; i++)
			MPI_Wait(&q[2 * i], MPI_STATUS_IGNORE);
		for (int i = 0; i < PAIRS; i++)
			MPI_Wait(&q[2 * i + 1], MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < N; i++) {
		flag = 0;
		MPI_Test(&q[i], &flag, &sts[i]);
		if (!flag || q[i] == MPI_REQUEST_NULL)
			say("request %d is active, or gone\n", i);
	}
}

static void rounds(MPI_Comm comm, int n)
{
	MPI_Request q[2 * PAIRS];
	make(q, comm);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < PAIRS; k++)
			memset(out[k], rank + i + k, sizes[k]);
		if (i % 3 == 0)
			for (int k = 0; k < 2 * PAIRS; k += 2)
				MPI_Start(&q[k]);
		MPI_Barrier(comm);
		if (i % 3 == 0)
			for (int k = 1; k < 2 * PAIRS; k += 2)
				MPI_Start(&q[k]);
		else if (i % 3 == 1)
			MPI_Startall(2 * PAIRS, q);
		else {
			MPI_Startall(PAIRS, q);
			MPI_Startall(PAIRS, q + PAIRS);
		}
		finish(q, i % WAYS);
		for (int k = 0; k < PAIRS; k++)
			if (in[k][0] != (char)(left + i + k) || in[k][sizes[k] - 1] != (char)(left + i + k))
				say("round %d: message %d is not that\n", i, k);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		MPI_Request_free(&q[i]);
}

/* A receive that nobody sends for, taken back; and one that is freed, and filled all the same. */
static void taken_back(MPI_Comm comm)
{
	MPI_Request q;
	MPI_Status s;
	int x = -1, y = 7 + rank, z, cancelled;
	MPI_Recv_init(&x, 1, MPI_INT, left, 20, comm, &q);
	for (int i = 0; i < 3; i++) {
		MPI_Start(&q);
		MPI_Barrier(comm);
		MPI_Send(&y, 1, MPI_INT, right, 20, comm);
		MPI_Wait(&q, &s);
		say("took %d\n", x);
		MPI_Start(&q);
		MPI_Cancel(&q);
		MPI_Wait(&q, &s);
		MPI_Test_cancelled(&s, &cancelled);
		say("cancelled %d\n", cancelled);
	}
	x = -1;
	MPI_Start(&q);
	MPI_Request_free(&q);
	say(q == MPI_REQUEST_NULL ? "freed\n" : "not freed\n");
	MPI_Barrier(comm);
	MPI_Send(&y, 1, MPI_INT, right, 20, comm);
	MPI_Sendrecv(&y, 1, MPI_INT, right, 21, &z, 1, MPI_INT, left, 21, comm, &s);
	MPI_Barrier(comm);
	say("%d, %d\n", x, z);
}

/* More of them than have a place. */
static void many(MPI_Comm comm)
{
	static MPI_Request q[2 * MANY];
	static int got[MANY], sent[MANY];
	for (int i = 0; i < MANY; i++) {
		MPI_Recv_init(&got[i], 1, MPI_INT, left, i % 5, comm, &q[2 * i]);
		MPI_Send_init(&sent[i], 1, MPI_INT, right, i % 5, comm, &q[2 * i + 1]);
	}
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < MANY; i++)
			sent[i] = round * MANY + i;
		MPI_Startall(2 * MANY, q);
		MPI_Waitall(2 * MANY, q, MPI_STATUSES_IGNORE);
		for (int i = 0; i < MANY; i++)
			if (got[i] != round * MANY + i)
				say("number %d is %d\n", i, got[i]);
	}
	for (int i = 0; i < 2 * MANY; i++)
		MPI_Request_free(&q[i]);
}

/* What has come when a number has been passed around several times, by requests of a communicator. */
static int passed(MPI_Comm comm, int y)
{
	MPI_Request q[2];
	int x = -1;
	MPI_Recv_init(&x, 1, MPI_INT, left, 1, comm, &q[0]);
	MPI_Send_init(&y, 1, MPI_INT, right, 1, comm, &q[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, q);
		MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	}
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
	return x;
}

/* One communicator after the other, which may have the same handle. */
static void freed(void)
{
	for (int i = 0; i < 3; i++) {
		MPI_Comm comm;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		say("%d\n", passed(comm, 30 + 10 * i + rank));
		MPI_Comm_free(&comm);
	}
}

/* A receive of a communicator, and one of the world beside it, which comes first or last: ended by every call that
   takes several requests. Each gives the status of both. */
static void beside(MPI_Comm comm, int world)
{
	enum { CALLS = 6 };
	static const char *const names[] = {"waitall", "testall", "waitany", "testany", "waitsome", "testsome"};
	int from = (world + size - 1) % size, to = (world + 1) % size;
	MPI_Request q[2];
	MPI_Recv_init(in[0], 100, MPI_CHAR, left, 40, comm, &q[0]);
	for (int i = 0; i < 4 * CALLS; i++) {
		MPI_Status sts[2], some[2];
		int way = i % CALLS, first = i / CALLS % 2, done = 0, flag = 0, at, n, which[2];
		MPI_Start(&q[0]);
		MPI_Irecv(in[1], 200, MPI_CHAR, from, 41, MPI_COMM_WORLD, &q[1]);
		memset(sts, 0, sizeof sts);
		for (int k = 0; k < 2; k++)
			if (k == first)
				MPI_Send(out[0], 10 + i, MPI_CHAR, right, 40, comm);
			else
				MPI_Send(out[1], 90 + i, MPI_CHAR, to, 41, MPI_COMM_WORLD);
		while (done < 2) {
			n = 0;
			switch (way) {
			case 0: MPI_Waitall(2, q, sts), done = 2; break;
			case 1: MPI_Testall(2, q, &flag, sts), done = flag ? 2 : 0; break;
			case 2: MPI_Waitany(2, q, &at, some), which[n++] = at; break;
			case 3:
				MPI_Testany(2, q, &at, &flag, some);
				if (flag)
					which[n++] = at;
				break;
			case 4: MPI_Waitsome(2, q, &n, which, some); break;
			default: MPI_Testsome(2, q, &n, which, some);
			}
			for (int k = 0; k < n; k++)
				sts[which[k]] = some[k], done++;
		}
		say_status(names[way], &sts[0], MPI_CHAR);
		say_status("beside", &sts[1], MPI_CHAR);
	}
	MPI_Request_free(&q[0]);
}

/* What is merged from the even ranks and the odd ones, its ranks in that order; and a duplicate of it. */
static void merged(void)
{
	MPI_Comm half, inter, all, dup;
	int world = rank;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 30, &inter);
	MPI_Intercomm_merge(inter, rank % 2, &all);
	MPI_Comm_free(&half);
	MPI_Comm_free(&inter);
	MPI_Comm_rank(all, &rank);
	say("%d merged\n", rank);
	around();
	rounds(all, WAYS);
	taken_back(all);
	many(all);
	beside(all, world);
	say("%d\n", passed(all, 60 + rank));
	MPI_Comm_dup(all, &dup);
	MPI_Comm_free(&all);
	rounds(dup, 3);
	say("%d\n", passed(dup, 70 + rank));
	MPI_Comm_free(&dup);
	rank = world;
	around();
}

int main(int argc, char **argv)
{
	MPI_Comm dup;
	begin(&argc, &argv);
	around();
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	rounds(MPI_COMM_WORLD, 6 * WAYS);
	rounds(dup, WAYS);
	MPI_Comm_free(&dup);
	taken_back(MPI_COMM_WORLD);
	many(MPI_COMM_WORLD);
	freed();
	merged();
	end();
}
