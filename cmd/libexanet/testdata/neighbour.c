/* Collectives among neighbours in a grid, a graph and a distributed graph. The
   argument is the form, as in coll.c. */
#include "check.h"

static int form, out[1000], in[1000], counts[16], displs[16];
static MPI_Aint bytes[16];
static MPI_Datatype types[16];

#define CALL(name, ...)                                                  \
	do {                                                                    \
		MPI_Request r;                                                  \
		if (form == 0)                                                  \
			MPI_N##name(__VA_ARGS__);                               \
		else {                                                          \
			if (form == 1)                                          \
				MPI_In##name(__VA_ARGS__, &r);                  \
			else {                                                  \
				PERSISTENT(N##name)(__VA_ARGS__, MPI_INFO_NULL, &r); \
				MPI_Start(&r);                                  \
			}                                                       \
			MPI_Wait(&r, MPI_STATUS_IGNORE);                        \
			if (form == 2)                                          \
				MPI_Request_free(&r);                           \
		}                                                               \
		say("%s %s: %lx\n", what, #name, sum(in, sizeof in));           \
		memset(in, 0, sizeof in);                                       \
	} while (0)

static void use(const char *what, MPI_Comm c)
{
	for (int n = 1; n <= 50; n += 49) {
		int me;
		MPI_Comm_rank(c, &me);
		for (int i = 0; i < 1000; i++)
			out[i] = me * 1000 + i;
		for (int i = 0; i < 16; i++)
			counts[i] = n, displs[i] = (15 - i) * n, bytes[i] = displs[i] * 4, types[i] = MPI_INT;
		CALL(eighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, c);
		CALL(eighbor_allgatherv, out, n, MPI_INT, in, counts, displs, MPI_INT, c);
		CALL(eighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, c);
		CALL(eighbor_alltoallv, out, counts, displs, MPI_INT, in, counts, displs, MPI_INT, c);
		CALL(eighbor_alltoallw, out, counts, bytes, types, in, counts, bytes, types, c);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm c, d;
	begin(&argc, &argv);
	form = argc > 1 ? atoi(argv[1]) : 0;
	for (int wrap = 0; wrap < 2; wrap++) {
		/* MPICH 4.0.2 exchanges the blocks of v and w in rings of 2. */
		MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){size, 1}, (int[]){wrap && size > 2, 0}, 0, &c);
		use("grid", c);
		MPI_Comm_dup(c, &d);
		use("duplicate", d);
		MPI_Comm_free(&d);
		MPI_Cart_sub(c, (int[]){1, 0}, &d);
		use("line", d);
		MPI_Comm_free(&d);
		MPI_Comm_free(&c);
	}
	/* Everybody's neighbours are rank 0 and the next. */
	int index[16], edges[32], n = 0;
	for (int i = 0; i < size; i++) {
		for (int j = 0; j < size; j++)
			if (i != j && (i == 0 || j == 0))
				edges[n++] = j;
		index[i] = n;
	}
	MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &c);
	use("star", c);
	MPI_Comm_free(&c);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, (int[]){left, rank}, MPI_UNWEIGHTED, 2, (int[]){rank, right},
		MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
	use("ring", c);
	MPI_Comm_free(&c);
	MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &right, (int[]){3}, MPI_INFO_NULL, 0, &c);
	use("weighted", c);
	MPI_Comm_free(&c);
	end();
}
