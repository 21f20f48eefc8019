/* Every collective in one of its three forms, in place and not, with several roots
   and lengths. The argument is the form: 0 blocking, 1 non-blocking, 2 persistent,
   in which MPICH 4.0.2 fails from 3 ranks on. The output does not tell which. */
#include "check.h"

enum { MOST = 5000 };

static int out[MOST * 8], in[MOST * 8];
static int counts[8], displs[8], outcounts[8], outdispls[8], bytes[8], outbytes[8];
static MPI_Datatype types[8];
static int n, root, form;

static void fill(void)
{
	for (int i = 0; i < MOST * 8; i++)
		out[i] = (i * 31 + rank * 7 + n + root) % 1000, in[i] = -i;
}

static void result(const char *what)
{
	say("%s %d %d: %lx %lx\n", what, n, root, sum(in, sizeof in), sum(out, sizeof out));
	fill();
}

/* A call in one of its forms. */
#define CALL(name, ...)                                                                          \
	do {                                                                                     \
		MPI_Request r;                                                                   \
		if (form == 0)                                                                   \
			MPI_##name(__VA_ARGS__);                                                 \
		else if (form == 1) {                                                            \
			MPI_I(name)(__VA_ARGS__, &r);                                            \
			MPI_Wait(&r, MPI_STATUS_IGNORE);                                         \
		} else {                                                                         \
			PERSISTENT(name)(__VA_ARGS__, MPI_INFO_NULL, &r);                       \
			for (int again = 0; again < (strstr(#__VA_ARGS__, "MPI_IN_PLACE") ? 1 : 2); again++) { \
				MPI_Start(&r);                                                   \
				MPI_Wait(&r, MPI_STATUS_IGNORE);                                 \
			}                                                                        \
			MPI_Request_free(&r);                                                    \
		}                                                                                \
		result(#name);                                                                   \
	} while (0)
#define MPI_I(name) I_##name
#define I_Barrier MPI_Ibarrier
#define I_Bcast MPI_Ibcast
#define I_Gather MPI_Igather
#define I_Gatherv MPI_Igatherv
#define I_Scatter MPI_Iscatter
#define I_Scatterv MPI_Iscatterv
#define I_Allgather MPI_Iallgather
#define I_Allgatherv MPI_Iallgatherv
#define I_Alltoall MPI_Ialltoall
#define I_Alltoallv MPI_Ialltoallv
#define I_Alltoallw MPI_Ialltoallw
#define I_Reduce MPI_Ireduce
#define I_Allreduce MPI_Iallreduce
#define I_Reduce_scatter MPI_Ireduce_scatter
#define I_Reduce_scatter_block MPI_Ireduce_scatter_block
#define I_Scan MPI_Iscan
#define I_Exscan MPI_Iexscan

int main(int argc, char **argv)
{
	static const int lengths[] = {0, 1, 17, 1100, MOST};
	MPI_Comm w = MPI_COMM_WORLD;
	begin(&argc, &argv);
	fill();
	form = argc > 1 ? atoi(argv[1]) : 0;
	for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
		n = lengths[k];
		root = k % size;
		int atroot = rank == root;
		for (int i = 0; i < size; i++) {
			counts[i] = n ? n - i % 2 : 0;
			displs[i] = (size - 1 - i) * n;
			types[i] = MPI_INT;
			bytes[i] = displs[i] * 4;
			outcounts[i] = n ? n - rank % 2 : 0;
			outdispls[i] = i * n;
			outbytes[i] = i * n * 4;
		}
		CALL(Barrier, w);
		CALL(Bcast, atroot ? out : in, n, MPI_INT, root, w);
		CALL(Gather, out, n, MPI_INT, in, n, MPI_INT, root, w);
		CALL(Gather, atroot ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, root, w);
		CALL(Gatherv, out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, root, w);
		CALL(Scatter, out, n, MPI_INT, in, n, MPI_INT, root, w);
		CALL(Scatter, out, n, MPI_INT, atroot ? MPI_IN_PLACE : in, n, MPI_INT, root, w);
		CALL(Scatterv, out, counts, displs, MPI_INT, in, counts[rank], MPI_INT, root, w);
		CALL(Allgather, out, n, MPI_INT, in, n, MPI_INT, w);
		CALL(Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INT, w);
		CALL(Allgatherv, out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, w);
		CALL(Alltoall, out, n, MPI_INT, in, n, MPI_INT, w);
		CALL(Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INT, w);
		CALL(Alltoallv, out, counts, outdispls, MPI_INT, in, outcounts, displs, MPI_INT, w);
		CALL(Alltoallw, out, counts, outbytes, types, in, outcounts, bytes, types, w);
		CALL(Reduce, out, in, n, MPI_INT, MPI_SUM, root, w);
		if (root == 0) /* MPICH 4.0.2 crashes in place at another root, with long vectors */
			CALL(Reduce, atroot ? MPI_IN_PLACE : out, atroot ? out : in, n, MPI_INT, MPI_MAX, root, w);
		CALL(Allreduce, out, in, n, MPI_INT, MPI_SUM, w);
		CALL(Allreduce, MPI_IN_PLACE, out, n, MPI_INT, MPI_MIN, w);
		CALL(Reduce_scatter, out, in, counts, MPI_INT, MPI_SUM, w);
		CALL(Reduce_scatter_block, out, in, n, MPI_INT, MPI_SUM, w);
		CALL(Scan, out, in, n, MPI_INT, MPI_SUM, w);
		if (rank == 0) /* MPI leaves it open what becomes of it */
			memset(in, 0, sizeof in);
		CALL(Exscan, out, in, n, MPI_INT, MPI_SUM, w);
	}
	end();
}
