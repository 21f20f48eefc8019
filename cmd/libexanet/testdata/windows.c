/* Windows in every way of synchronisation, with messages and collectives of ours in
   between: a target makes progress in whatever call of ours it waits. */
#include "check.h"
#include <unistd.h>

static int left, right;

/* Rank 0 waits for each of the others in a way of its own, which each have first put
   something into its window, and looked at it. */
static void receive(int way, int from, int *x)
{
	MPI_Request r;
	MPI_Status s;
	MPI_Message m;
	int flag = 0, index, n = 0;
	if (way >= 2)
		MPI_Irecv(x, 1, MPI_INT, from, way, MPI_COMM_WORLD, &r);
	switch (way) {
	case 0:
		MPI_Probe(MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &s);
		MPI_Recv(x, 1, MPI_INT, s.MPI_SOURCE, way, MPI_COMM_WORLD, &s);
		break;
	case 1:
		MPI_Mprobe(from, way, MPI_COMM_WORLD, &m, &s);
		MPI_Mrecv(x, 1, MPI_INT, &m, &s);
		break;
	case 2:
		MPI_Wait(&r, &s);
		break;
	case 3:
		MPI_Waitany(1, &r, &index, &s);
		break;
	case 4:
		while (!n)
			MPI_Testsome(1, &r, &n, &index, &s);
		break;
	case 5:
		while (!flag)
			MPI_Request_get_status(r, &flag, &s);
		MPI_Wait(&r, &s);
		break;
	}
}

static void targets(MPI_Win w)
{
	for (int way = 0; way < 6; way++) {
		int x = 0, sum = 0, v = rank * 100 + way;
		if (rank == 0) {
			for (int i = 1; i < size; i++, sum += x)
				receive(way, i, &x);
		} else {
			usleep(200 * rank);
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
			MPI_Put(&v, 1, MPI_INT, 0, rank, 1, MPI_INT, w);
			MPI_Win_unlock(0, w);
			MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w);
			MPI_Get(&x, 1, MPI_INT, 0, rank, 1, MPI_INT, w);
			MPI_Win_unlock(0, w);
			MPI_Send(&x, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
		}
		say("way %d: %d %d\n", way, sum, rank ? x : 0);
	}
	for (int way = 0; way < 4; way++) {
		int x = rank, sum = -1;
		MPI_Request r;
		if (rank) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
			MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w);
			MPI_Win_flush(0, w);
			MPI_Win_unlock(0, w);
		}
		switch (way) {
		case 0:
			MPI_Barrier(MPI_COMM_WORLD);
			break;
		case 1:
			MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			break;
		case 2:
			MPI_Ibcast(&x, 1, MPI_INT, size - 1, MPI_COMM_WORLD, &r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
			break;
		case 3:
			MPI_Scan(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			break;
		}
		say("collective %d: %d %d\n", way, x, sum);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void fences(MPI_Win w, int *base)
{
	int x = rank * 10, y, sum;
	MPI_Request rs[2];
	MPI_Irecv(&y, 1, MPI_INT, left, 10, MPI_COMM_WORLD, &rs[0]);
	MPI_Win_fence(MPI_MODE_NOPRECEDE, w);
	MPI_Put(&x, 1, MPI_INT, right, 20, 1, MPI_INT, w);
	MPI_Isend(&x, 1, MPI_INT, right, 10, MPI_COMM_WORLD, &rs[1]);
	MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w);
	MPI_Waitall(2, rs, MPI_STATUSES_IGNORE);
	say("fence: %d %d %d\n", y, base[20], sum);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void epochs(MPI_Win w, int *base)
{
	MPI_Group all, before, after;
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &left, &before);
	MPI_Group_incl(all, 1, &right, &after);
	for (int i = 0; i < 2; i++) {
		int x = rank * 10 + i, y = -1, over = 0;
		MPI_Win_post(before, 0, w);
		MPI_Win_start(after, 0, w);
		MPI_Put(&x, 1, MPI_INT, right, 21, 1, MPI_INT, w);
		MPI_Sendrecv(&x, 1, MPI_INT, right, 11, &y, 1, MPI_INT, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Win_complete(w);
		if (i)
			MPI_Win_wait(w);
		while (!i && !over)
			MPI_Win_test(w, &over);
		say("epoch: %d %d\n", y, base[21]);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Group_free(&all);
	MPI_Group_free(&before);
	MPI_Group_free(&after);
}

/* Requests of windows among ours; rank 0 is in a receive. */
static void atomics(MPI_Win w, int *base)
{
	int one = 1, old, none = 0, free, got, x, index;
	MPI_Request rs[5];
	MPI_Win_lock_all(0, w);
	for (int i = 1; rank == 0 && i < size; i++)
		MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank) {
		MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 30, MPI_SUM, w);
		do {
			MPI_Compare_and_swap(&rank, &none, &free, MPI_INT, 0, 31, w);
			MPI_Win_flush(0, w);
		} while (free);
		MPI_Accumulate(&none, 1, MPI_INT, 0, 31, 1, MPI_INT, MPI_REPLACE, w);
		MPI_Win_flush_local(0, w);
		MPI_Rput(&rank, 1, MPI_INT, 0, 32 + rank, 1, MPI_INT, w, &rs[0]);
		MPI_Irecv(&x, 1, MPI_INT, rank, 13, MPI_COMM_WORLD, &rs[1]);
		MPI_Rget(&got, 1, MPI_INT, 0, 30, 1, MPI_INT, w, &rs[2]);
		MPI_Raccumulate(&one, 1, MPI_INT, 0, 40, 1, MPI_INT, MPI_SUM, w, &rs[3]);
		MPI_Isend(&rank, 1, MPI_INT, rank, 13, MPI_COMM_WORLD, &rs[4]);
		for (int i = 0; i < 5; i++)
			MPI_Waitany(5, rs, &index, MPI_STATUS_IGNORE);
		MPI_Win_flush_all(w);
		MPI_Send(&rank, 1, MPI_INT, 0, 12, MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(w);
	if (rank == 0)
		say("atomics: %d %d %d %lx\n", base[30], base[31], base[40], sum(base + 33, 4 * sizeof(int)));
	MPI_Win_unlock_all(w);
}

/* What is attached later, and memory of all. */
static void others(void)
{
	static int piece[8];
	MPI_Win w;
	MPI_Aint at, theirs, length;
	int *mine, *next, unit, x = rank + 5;
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Win_attach(w, piece, sizeof piece);
	MPI_Get_address(piece + 3, &at);
	MPI_Sendrecv(&at, 1, MPI_AINT, left, 14, &theirs, 1, MPI_AINT, right, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, w);
	MPI_Put(&x, 1, MPI_INT, right, theirs, 1, MPI_INT, w);
	MPI_Win_unlock(right, w);
	MPI_Barrier(MPI_COMM_WORLD);
	say("attached: %d\n", piece[3]);
	MPI_Win_detach(w, piece);
	MPI_Win_free(&w);
#ifndef NO_SHARED_WINDOWS
	MPI_Win_allocate_shared(20 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &w);
	MPI_Win_shared_query(w, right, &length, &unit, &next);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, w);
	for (int i = 0; i < 10; i++)
		next[i] = rank * 10 + i;
	MPI_Win_sync(w);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_sync(w);
	MPI_Sendrecv(mine, 10, MPI_INT, right, 15, mine + 10, 10, MPI_INT, left, 15, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	say("shared: %d %d\n", mine[9], mine[19]);
	MPI_Win_unlock_all(w);
	MPI_Win_free(&w);
#endif
}

int main(int argc, char **argv)
{
	MPI_Win w;
	int *base;
	begin(&argc, &argv);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
	memset(base, 0, 100 * sizeof(int));
	MPI_Barrier(MPI_COMM_WORLD);
	targets(w);
	fences(w, base);
	epochs(w, base);
	atomics(w, base);
	others();
	MPI_Win_free(&w);
	end();
}
