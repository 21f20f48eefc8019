/* A million messages, in every form of a call: argument 1 is how many rounds of about 500. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { W = 64, N = 4 };
static int rank, size, peer;
static long sum, sent;
static int out[W][N], in[W][N];
static MPI_Request q[2 * W];
static MPI_Status st[2 * W];
static MPI_Datatype gaps;

static void fill(int tag)
{
	for (int i = 0; i < W; i++)
		for (int j = 0; j < N; j++)
			out[i][j] = tag + i + j + rank;
}

static void take(int k)
{
	for (int j = 0; j < N; j++)
		sum += in[k][j];
	sent++;
}

/* late: the sends first, so that messages may arrive before their receives. */
static void window(int tag, int late)
{
	fill(tag);
	for (int k = 0; k < 2 * W; k++) {
		int i = k % W;
		if ((k < W) == late)
			MPI_Isend(out[i], N, MPI_INT, peer, tag, MPI_COMM_WORLD, &q[k]);
		else
			MPI_Irecv(in[i], N, MPI_INT, peer, tag, MPI_COMM_WORLD, &q[k]);
	}
	sent += W;
}

static void windows(int late)
{
	int i, m, flag, list[2 * W];
	window(1, late), MPI_Waitall(2 * W, q, st);
	window(2, late), MPI_Waitall(2 * W, q, MPI_STATUSES_IGNORE);
	for (window(3, late);;) {
		MPI_Waitany(2 * W, q, &i, st);
		if (i == MPI_UNDEFINED)
			break;
	}
	for (window(4, late);;) {
		MPI_Waitsome(2 * W, q, &m, list, st);
		if (m == MPI_UNDEFINED)
			break;
	}
	for (window(5, late), flag = 0; !flag;)
		MPI_Testall(2 * W, q, &flag, st);
	for (window(6, late);;) {
		MPI_Testany(2 * W, q, &i, &flag, st);
		if (flag && i == MPI_UNDEFINED)
			break;
	}
	for (window(7, late);;) {
		MPI_Testsome(2 * W, q, &m, list, st);
		if (m == MPI_UNDEFINED)
			break;
	}
	window(8, late);
	for (i = 0; i < 2 * W; i++) {
		if (i % 2)
			MPI_Wait(&q[i], st);
		else
			for (flag = 0; !flag;)
				MPI_Test(&q[i], &flag, st);
	}
	take(W - 1);
}

static void singly(int round, MPI_Request fixed[2])
{
	int flag;
	MPI_Message m;
	fill(round);
	MPI_Sendrecv(out[0], N, MPI_INT, peer, 1, in[0], N, MPI_INT, peer, 1, MPI_COMM_WORLD, st);
	take(0);
	MPI_Sendrecv_replace(in[0], N, MPI_INT, peer, 1, peer, 1, MPI_COMM_WORLD, st);
	take(0);
	MPI_Sendrecv(out[0], 1, gaps, peer, 2, in[1], 1, gaps, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	sum += in[1][0] + in[1][2], sent++;

	MPI_Issend(out[1], N, MPI_INT, peer, 3, MPI_COMM_WORLD, q);
	MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, st);
	MPI_Recv(in[0], N, MPI_INT, st->MPI_SOURCE, st->MPI_TAG, MPI_COMM_WORLD, st);
	MPI_Wait(q, MPI_STATUS_IGNORE);
	take(0);

	MPI_Ibsend(out[2], N, MPI_INT, peer, 4, MPI_COMM_WORLD, q);
	MPI_Mprobe(peer, 4, MPI_COMM_WORLD, &m, st);
	MPI_Mrecv(in[0], N, MPI_INT, &m, st);
	MPI_Wait(q, MPI_STATUS_IGNORE);
	take(0);

	MPI_Isend(out[3], N, MPI_INT, peer, 5, MPI_COMM_WORLD, q);
	MPI_Request_free(q);
	for (flag = 0; !flag;)
		MPI_Improbe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &flag, &m, st);
	MPI_Imrecv(in[0], N, MPI_INT, &m, q);
	for (flag = 0; !flag;)
		MPI_Request_get_status(*q, &flag, st);
	MPI_Wait(q, st);
	take(0);

	MPI_Irecv(in[0], N, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, q);
	MPI_Send(out[4], N, MPI_INT, peer, 6, MPI_COMM_WORLD);
	MPI_Wait(q, st);
	take(0);

	MPI_Startall(2, fixed);
	MPI_Waitall(2, fixed, st);
	take(2);
	MPI_Request made[2];
	MPI_Recv_init(in[3], N, MPI_INT, peer, 8, MPI_COMM_WORLD, &made[0]);
	MPI_Ssend_init(out[3], N, MPI_INT, peer, 8, MPI_COMM_WORLD, &made[1]);
	MPI_Startall(2, made);
	MPI_Wait(&made[1], st);
	MPI_Wait(&made[0], st);
	MPI_Request_free(&made[0]);
	MPI_Request_free(&made[1]);
	take(3);

	MPI_Irecv(in[0], N, MPI_INT, peer, 9, MPI_COMM_WORLD, q);
	MPI_Cancel(q);
	MPI_Wait(q, st);
#if MPI_VERSION >= 4
	MPI_Isendrecv(out[5], N, MPI_INT, peer, 10, in[0], N, MPI_INT, peer, 10, MPI_COMM_WORLD, q);
	MPI_Wait(q, st);
	take(0);
#endif
}

/* Messages that are long: longer than any that is sent with its envelope. */
static void longer(int *a, int *b, int count)
{
	MPI_Irecv(b, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &q[0]);
	MPI_Isend(a, count, MPI_INT, peer, 1, MPI_COMM_WORLD, &q[1]);
	MPI_Waitall(2, q, st);
	MPI_Isend(a, count, MPI_INT, peer, 2, MPI_COMM_WORLD, &q[1]);
	MPI_Recv(b, count, MPI_INT, peer, 2, MPI_COMM_WORLD, st);
	MPI_Wait(&q[1], st);
	sum += b[count - 1], sent += 2;
}

static void plus(void *x, void *y, int *len, MPI_Datatype *t)
{
	for (int i = 0; i < *len; i++)
		((int *)y)[i] += ((int *)x)[i];
}

static void collectives(MPI_Op op, int *a, int *b, int *counts, int *displs, MPI_Datatype *types)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Bcast(a, N, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Allreduce(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(a, b, N, MPI_INT, op, MPI_COMM_WORLD);
	MPI_Reduce(a, b, N, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Allgather(a, N, MPI_INT, b, N, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoall(a, N, MPI_INT, b, N, MPI_INT, MPI_COMM_WORLD);
	MPI_Gather(a, N, MPI_INT, b, N, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(a, N, MPI_INT, b, N, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Gatherv(a, N, MPI_INT, b, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatterv(a, counts, displs, MPI_INT, b, N, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Allgatherv(a, N, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallw(a, counts, displs, types, b, counts, displs, types, MPI_COMM_WORLD);
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter_block(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Scan(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Bcast(a, 1, gaps, 0, MPI_COMM_WORLD);
	MPI_Ibarrier(MPI_COMM_WORLD, &q[0]);
	MPI_Iallreduce(a, b, N, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &q[1]);
	MPI_Ialltoallv(a, counts, displs, MPI_INT, b + 100, counts, displs, MPI_INT, MPI_COMM_WORLD, &q[2]);
	MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
	sum += b[0] + b[100];
}

int main(int argc, char **argv)
{
	static int a[20000], b[20000], counts[64], displs[64];
	static MPI_Datatype types[64];
	static char room[1 << 16];
	MPI_Request fixed[2];
	MPI_Op op;
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	peer = rank ^ 1;
	if (peer >= size)
		peer = MPI_PROC_NULL;
	for (int i = 0; i < size; i++)
		counts[i] = N, displs[i] = i * N, types[i] = MPI_INT;
	for (int i = 0; i < 20000; i++)
		a[i] = i + rank;
	MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	MPI_Op_create(plus, 1, &op);
	MPI_Buffer_attach(room, sizeof room);
	MPI_Recv_init(in[2], N, MPI_INT, peer, 7, MPI_COMM_WORLD, &fixed[0]);
	MPI_Send_init(out[7], N, MPI_INT, peer, 7, MPI_COMM_WORLD, &fixed[1]);
	for (int round = 0; round < rounds && peer != MPI_PROC_NULL; round++) {
		windows(round % 2);
		singly(round, fixed);
		longer(a, b, 1500);
		if (round % 64 == 0)
			longer(a, b, 20000);
	}
	for (int round = 0; round < rounds / 8; round++)
		collectives(op, a, b, counts, displs, types);
	MPI_Request_free(&fixed[0]);
	MPI_Request_free(&fixed[1]);
	MPI_Op_free(&op);
	MPI_Type_free(&gaps);
	int left;
	void *where;
	MPI_Buffer_detach(&where, &left);
	long mine[2] = {sent, sum}, all[2];
	MPI_Reduce(mine, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%ld messages, sum %ld\n", all[0], all[1]);
	MPI_Finalize();
	return 0;
}
