/* The wait and test families, persistent requests, cancel, get_status, free; with
   requests of the host MPI among them. */
#include "check.h"

enum { N = 6 };

int main(int argc, char **argv)
{
	int in[N], out[N], index, flag, count, indices[N];
	MPI_Request rs[2 * N];
	MPI_Status st, sts[2 * N];
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;

	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < N; i++) {
			out[i] = rank * 100 + round * 10 + i;
			in[i] = -1;
			MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &rs[i]);
		}
		for (int i = 0; i < N; i++)
			MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &rs[N + i]);
		int seen = 0, order = 0;
		switch (round) {
		case 0:
			MPI_Waitall(2 * N, rs, MPI_STATUSES_IGNORE);
			break;
		case 1:
			do
				MPI_Testall(2 * N, rs, &flag, sts);
			while (!flag);
			for (int i = 0; i < N; i++)
				say_status("testall", &sts[i], MPI_INT);
			break;
		case 2:
			for (;;) {
				MPI_Waitany(2 * N, rs, &index, &st);
				if (index == MPI_UNDEFINED)
					break;
				seen |= 1 << index;
				order++;
			}
			say("waitany %x %d\n", seen, order);
			break;
		case 3:
			for (;;) {
				MPI_Testany(2 * N, rs, &index, &flag, &st);
				if (flag && index == MPI_UNDEFINED)
					break;
				if (flag)
					seen |= 1 << index, order++;
			}
			say("testany %x %d\n", seen, order);
			break;
		default:
			for (;;) {
				if (round == 4)
					MPI_Waitsome(N, rs, &count, indices, sts);
				else
					MPI_Testsome(N, rs, &count, indices, sts);
				if (count == MPI_UNDEFINED)
					break;
				for (int i = 0; i < count; i++) {
					if (seen & 1 << indices[i])
						say("%d twice\n", indices[i]);
					seen |= 1 << indices[i], order++;
					if (sts[i].MPI_TAG != indices[i])
						say("wrong status\n");
				}
			}
			say("some %x %d\n", seen, order);
			MPI_Waitall(N, rs + N, MPI_STATUSES_IGNORE);
		}
		for (int i = 0; i < 2 * N; i++)
			if (rs[i] != MPI_REQUEST_NULL)
				say("request %d is left\n", i);
		for (int i = 0; i < N; i++)
			say("%d ", in[i]);
		say("\n");
	}

	/* Persistent requests, more than once. */
	int first;
	MPI_Recv_init(in, N, MPI_INT, left, 9, MPI_COMM_WORLD, &rs[0]);
	MPI_Send_init(out, N, MPI_INT, right, 9, MPI_COMM_WORLD, &rs[1]);
	MPI_Ssend_init(out, 1, MPI_INT, right, 8, MPI_COMM_WORLD, &rs[2]);
	MPI_Recv_init(&first, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &rs[3]);
	MPI_Wait(&rs[0], &st);
	say_status("inactive", &st, MPI_INT);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N; i++)
			out[i] = rank * 1000 + round * 100 + i;
		MPI_Start(&rs[0]);
		MPI_Startall(3, rs + 1);
		MPI_Waitall(4, rs, sts);
		say_status("persistent", &sts[0], MPI_INT);
		for (int i = 0; i < N; i++)
			say("%d ", in[i]);
		say("\n");
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&rs[i]);
	say("freed %d\n", rs[0] == MPI_REQUEST_NULL);

	/* A receive that nobody sends to, taken back. */
	MPI_Irecv(in, 1, MPI_INT, left, 1000, MPI_COMM_WORLD, &rs[0]);
	MPI_Request_get_status(rs[0], &flag, &st);
	say("get_status %d\n", flag);
	MPI_Cancel(&rs[0]);
	MPI_Wait(&rs[0], &st);
	MPI_Test_cancelled(&st, &flag);
	say("cancelled %d\n", flag);

	/* Requests of the host among ours: a duplicate that the host makes. */
	MPI_Comm dup;
	MPI_Irecv(in, 1, MPI_INT, left, 11, MPI_COMM_WORLD, &rs[0]);
	MPI_Comm_idup(MPI_COMM_WORLD, &dup, &rs[1]);
	MPI_Isend(out, 1, MPI_INT, right, 11, MPI_COMM_WORLD, &rs[2]);
	rs[3] = MPI_REQUEST_NULL;
	MPI_Waitall(4, rs, sts);
	say_status("mixed", &sts[0], MPI_INT);
	say("%d\n", in[0]);
	for (int round = 0; round < 4; round++) {
		MPI_Irecv(&in[0], 1, MPI_INT, left, 12, dup, &rs[0]);
		MPI_Irecv(&in[1], 1, MPI_INT, left, 12, MPI_COMM_WORLD, &rs[1]);
		out[0] = rank + 50 * round;
		out[1] = rank + 500 * round;
		MPI_Isend(&out[0], 1, MPI_INT, right, 12, dup, &rs[2]);
		MPI_Isend(&out[1], 1, MPI_INT, right, 12, MPI_COMM_WORLD, &rs[3]);
		int left = 4, seen = 0;
		while (left > 0) {
			if (round == 0) {
				MPI_Waitany(4, rs, &index, &st);
				seen |= 1 << index, left--;
			} else if (round == 1) {
				MPI_Testany(4, rs, &index, &flag, &st);
				if (flag)
					seen |= 1 << index, left--;
			} else if (round == 2) {
				MPI_Waitsome(4, rs, &count, indices, sts);
				for (int i = 0; i < count; i++)
					seen |= 1 << indices[i], left--;
			} else {
				MPI_Testall(4, rs, &flag, sts);
				if (flag)
					seen = 15, left = 0;
			}
		}
		say("mixed %d: %x %d %d\n", round, seen, in[0], in[1]);
	}
	MPI_Waitany(4, rs, &index, &st);
	say("none active %d\n", index == MPI_UNDEFINED);
	MPI_Comm_free(&dup);
	end();
}
