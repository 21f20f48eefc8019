/* Rounds of persistent requests, and of Irecv with one buffer: a halo exchange in a ring. Other messages go
   between, and receives of any tag. Then another buffer, a cancelled receive, and a communicator that is freed.
   With an argument the rounds do not end. */
#include "check.h"

enum { N = 100000, ROUNDS = 60 };

static char out[2][N], in[2][N], other[N];

static void fill(int round)
{
	for (int side = 0; side < 2; side++)
		for (int i = 0; i < N; i++)
			out[side][i] = (char)(i * 5 + round + 3 * rank + side);
}

/* The neighbour on one side has sent what it has for the other. */
static void check(const char *in, int from, int side, int round)
{
	for (int i = 0; i < N; i++)
		if (in[i] != (char)(i * 5 + round + 3 * from + side)) {
			say("round %d: byte %d is wrong\n", round, i);
			return;
		}
}

static void rounds(MPI_Comm comm, int persistent)
{
	int near[2] = {(rank + size - 1) % size, (rank + 1) % size};
	MPI_Request r[4];
	for (int side = 0; side < 2 && persistent; side++) {
		MPI_Recv_init(in[side], N, MPI_CHAR, near[side], 1 - side, comm, &r[side]);
		MPI_Send_init(out[side], N, MPI_CHAR, near[side], side, comm, &r[2 + side]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		fill(round);
		if (persistent) {
			MPI_Startall(4, r);
		} else {
			for (int side = 0; side < 2; side++)
				MPI_Irecv(in[side], N, MPI_CHAR, near[side], 1 - side, comm, &r[side]);
			for (int side = 0; side < 2; side++)
				MPI_Isend(out[side], N, MPI_CHAR, near[side], side, comm, &r[2 + side]);
		}
		if (round % 10 == 9) { /* behind the long ones, and taken by any tag */
			MPI_Status s;
			int got = -1;
			MPI_Send(&round, 1, MPI_INT, near[1], 5, comm);
			MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
			MPI_Recv(&got, 1, MPI_INT, near[0], MPI_ANY_TAG, comm, &s);
			say_status("any tag", &s, MPI_INT);
			if (got != round)
				say("round %d: %d\n", round, got);
			MPI_Waitall(2, r + 2, MPI_STATUSES_IGNORE);
		} else {
			MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
		}
		for (int side = 0; side < 2; side++)
			check(in[side], near[side], 1 - side, round);
	}
	for (int i = 0; i < 4 && persistent; i++)
		MPI_Request_free(&r[i]);
}

int main(int argc, char **argv)
{
	MPI_Comm comm;
	MPI_Status s;
	MPI_Request r;
	begin(&argc, &argv);
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	do
		rounds(MPI_COMM_WORLD, 1);
	while (argc > 1);
	rounds(MPI_COMM_WORLD, 0);
	fill(-1);
	MPI_Sendrecv(out[1], N, MPI_CHAR, right, 1, other, N, MPI_CHAR, left, 1, MPI_COMM_WORLD, &s);
	say_status("another buffer", &s, MPI_CHAR);
	check(other, left, 1, -1);
	MPI_Irecv(in[0], N, MPI_CHAR, left, 1, MPI_COMM_WORLD, &r);
	MPI_Cancel(&r);
	MPI_Wait(&r, &s);
	int cancelled;
	MPI_Test_cancelled(&s, &cancelled);
	say("cancelled: %d\n", cancelled);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 3; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		rounds(comm, i % 2);
		MPI_Comm_free(&comm);
	}
	say("done\n");
	end();
	return 0;
}
