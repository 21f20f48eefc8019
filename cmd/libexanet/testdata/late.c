/* Calls that wait for messages which come late: while the rank spins, when it sleeps, and
   when it has slept for long; what they wait for, behind something else, or in another form. */
#include "check.h"
#include <time.h>

enum { ROOM = 8000, LONG = 100000 };

static const int delays[] = {0, 20, 100, 500, 3000, 14000}; /* us */

static void pause_for(int us)
{
	struct timespec t = {0, us * 1000L};
	nanosleep(&t, 0);
}

/* One message round the ring; rank 0 comes late, and so does each for the next one. */
static void around(int how, int late)
{
	int right = (rank + 1) % size, left = (rank + size - 1) % size, n;
	static char out[ROOM], in[3][ROOM], big[LONG], bigin[LONG];
	MPI_Request r[3];
	MPI_Status s[3];
	memset(in, 0, sizeof in);
	for (int i = 0; i < ROOM; i++)
		out[i] = (char)(i * 7 + how + late + rank);
	int length = how % 2 ? 8 : ROOM, parts = how == 3 ? 3 : 1;
	if (how >= 1 && how <= 3)
		for (int i = 0; i < parts; i++)
			MPI_Irecv(in[i], length, MPI_CHAR, left, i, MPI_COMM_WORLD, &r[i]);
	for (int turn = 0; turn < 2; turn++) {
		if (!turn == !rank) { /* rank 0 first, then those behind it */
			pause_for(late);
			if (how == 4) /* nobody waits for this one yet */
				MPI_Send(out, 16, MPI_CHAR, right, 9, MPI_COMM_WORLD);
			if (how == 5)
				MPI_Send(memset(big, rank + how, LONG), LONG, MPI_CHAR, right, 8, MPI_COMM_WORLD);
			for (int i = 0; i < parts; i++)
				MPI_Send(out, length - i, MPI_CHAR, right, i, MPI_COMM_WORLD);
			continue;
		}
		if (how == 5)
			MPI_Recv(bigin, LONG, MPI_CHAR, left, 8, MPI_COMM_WORLD, &s[1]);
		if (how == 1)
			MPI_Wait(&r[0], &s[0]);
		else if (how == 2 || how == 3)
			MPI_Waitall(parts, r, s);
		else
			MPI_Recv(in[0], length, MPI_CHAR, left, 0, MPI_COMM_WORLD, &s[0]);
		if (how == 4)
			MPI_Recv(in[1], 16, MPI_CHAR, left, 9, MPI_COMM_WORLD, &s[1]);
	}
	MPI_Get_count(&s[0], MPI_CHAR, &n);
	say("%d, %d us: %d from %d, tag %d, %lx %lx\n", how, late, n, s[0].MPI_SOURCE, s[0].MPI_TAG, sum(in, sizeof in),
		sum(bigin, sizeof bigin));
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	for (int round = 0; round < 4; round++)
		for (unsigned i = 0; i < sizeof delays / sizeof *delays; i++)
			for (int how = 0; how < 6; how++)
				around(how, delays[i]);
	end();
}
