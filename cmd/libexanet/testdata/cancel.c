/* Cancelling in all states. A send may be cancelled or not, but both ends must agree;
   hosts may never end a send that is cancelled, or that nobody receives. */
#include "check.h"
#include <unistd.h>

enum { WAYS = 6 };
static int left, right, big[300000];
static MPI_Comm comm;

/* Ends a request and returns whether it was cancelled. */
static int ended(MPI_Request *r, int way)
{
	MPI_Status s;
	int flag = 0, index, n = 0, cancelled;
	switch (way) {
	case 0:
		MPI_Wait(r, &s);
		break;
	case 1:
		while (!flag)
			MPI_Test(r, &flag, &s);
		break;
	case 2:
		MPI_Waitall(1, r, &s);
		break;
	case 3:
		MPI_Waitany(1, r, &index, &s);
		break;
	case 4:
		while (!n)
			MPI_Testsome(1, r, &n, &index, &s);
		break;
	case 5:
		while (!flag)
			MPI_Request_get_status(*r, &flag, &s);
		MPI_Wait(r, MPI_STATUS_IGNORE);
		break;
	}
	MPI_Test_cancelled(&s, &cancelled);
	return cancelled;
}

static void must(int holds, const char *what, int way)
{
	if (!holds)
		say("way %d: %s\n", way, what);
}

static void receives(int way)
{
	static const int sizes[] = {1, 1, 300000, 1};
	const int sources[] = {left, MPI_ANY_SOURCE, left, MPI_PROC_NULL};
	MPI_Request r, next;
	MPI_Status s;
	int x = -1, y = -1;
	for (int i = 0; i < 4; i++) {
		MPI_Irecv(big, sizes[i], MPI_INT, sources[i], i % 2 ? MPI_ANY_TAG : 1, comm, &r);
		MPI_Cancel(&r);
		must(ended(&r, way) == (i < 3), "a receive without a message", way);
	}
	MPI_Barrier(comm);
	/* The message has come before. */
	MPI_Send(&rank, 1, MPI_INT, right, 2, comm);
	MPI_Probe(left, 2, comm, &s);
	MPI_Irecv(&x, 1, MPI_INT, left, 2, comm, &r);
	MPI_Cancel(&r);
	must(!ended(&r, way) && x == left, "a receive that has its message", way);
	/* The message is for the next one. */
	MPI_Irecv(&x, 1, MPI_INT, left, 3, comm, &r);
	MPI_Irecv(&y, 1, MPI_INT, left, 3, comm, &next);
	MPI_Cancel(&r);
	must(ended(&r, way), "the first of two receives", way);
	MPI_Barrier(comm);
	MPI_Send(&rank, 1, MPI_INT, right, 3, comm);
	must(!ended(&next, way) && y == left, "the second of two receives", way);
	MPI_Recv_init(&y, 1, MPI_INT, left, 4, comm, &r);
	for (int i = 0; i < 3; i++) {
		MPI_Start(&r);
		MPI_Cancel(&r);
		must(ended(&r, way), "a persistent receive", way);
	}
	MPI_Barrier(comm);
	MPI_Start(&r);
	MPI_Send(&way, 1, MPI_INT, right, 4, comm);
	must(!ended(&r, way) && y == way, "a persistent receive that is not cancelled", way);
	MPI_Request_free(&r);
}

/* Rank 0 cancels what it sends; rank 1 receives what it has not cancelled. */
static void sends(int way)
{
	static const struct {
		int n, synchronous, posted;
	} kinds[] = {{1, 0, 0}, {1, 1, 0}, {3000, 0, 0}, {300000, 0, 0}, {300000, 1, 0}, {0, 1, 0}, {1, 1, 1},
		{300000, 1, 1}};
	for (int i = 0; i < 8; i++) {
		MPI_Request r;
		MPI_Status s;
		int cancelled, here, n = kinds[i].n;
		if (rank == 1 && kinds[i].posted)
			MPI_Irecv(big, n, MPI_INT, 0, 5, comm, &r);
		MPI_Barrier(comm);
		if (rank == 0) {
			if (kinds[i].synchronous)
				MPI_Issend(big, n, MPI_INT, 1, 5, comm, &r);
			else
				MPI_Isend(big, n, MPI_INT, 1, 5, comm, &r);
			MPI_Cancel(&r);
			cancelled = ended(&r, way);
			MPI_Send(&cancelled, 1, MPI_INT, 1, 6, comm);
		} else if (rank == 1) {
			if (way % 2)
				usleep(200);
			MPI_Recv(&cancelled, 1, MPI_INT, 0, 6, comm, &s);
			if (kinds[i].posted) {
				if (cancelled)
					MPI_Cancel(&r);
				must(ended(&r, way) == cancelled, "a send for which there is a receive", way);
			} else if (cancelled) {
				MPI_Iprobe(0, 5, comm, &here, &s);
				must(!here, "a send that was cancelled", way);
			} else {
				MPI_Recv(big, 300000, MPI_INT, 0, 5, comm, &s);
				MPI_Get_count(&s, MPI_INT, &here);
				must(here == n, "a send that was not cancelled", way);
			}
		}
	}
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int way = 0; way < WAYS; way++) {
		receives(way);
		MPI_Barrier(comm);
		sends(way);
		MPI_Barrier(comm);
	}
	MPI_Comm_free(&comm);
	say("done\n");
	end();
}
