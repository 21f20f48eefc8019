/* Constructors of communicators, and messages that must not leak between them. */
#include "check.h"

static void use(const char *what, MPI_Comm c)
{
	int me, n, in = -1, out, total;
	if (c == MPI_COMM_NULL) {
		say("%s: none\n", what);
		return;
	}
	MPI_Comm_rank(c, &me);
	MPI_Comm_size(c, &n);
	out = rank * 10 + me;
	MPI_Sendrecv(&out, 1, MPI_INT, (me + 1) % n, 3, &in, 1, MPI_INT, (me + n - 1) % n, 3, c, MPI_STATUS_IGNORE);
	MPI_Allreduce(&out, &total, 1, MPI_INT, MPI_SUM, c);
	say("%s: %d of %d, got %d, total %d\n", what, me, n, in, total);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	MPI_Comm c, d, inter, peers; /* nobody waits for any tag in peers */
	MPI_Group all, some;
	MPI_Request r;
	int leak = -1, flag, stray = 5;
	MPI_Irecv(&leak, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r);
	MPI_Comm_dup(MPI_COMM_WORLD, &peers);
	for (int round = 0; round < 3; round++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &c);
		use("dup", c);
		MPI_Comm_dup(c, &d);
		use("dup of dup", d);
		MPI_Comm_free(&c);
		use("dup of freed", d);
		MPI_Comm_free(&d);
		MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &c);
		use("dup with info", c);
		MPI_Comm_disconnect(&c);
	}
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);
	use("split", c);
	MPI_Comm_split(c, 0, rank, &d);
	use("split of split", d);
	MPI_Comm_free(&d);
	MPI_Comm_free(&c);
	MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, 0, &c);
	use("split undefined", c);
	if (c != MPI_COMM_NULL)
		MPI_Comm_free(&c);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, size - rank, MPI_INFO_NULL, &c);
	use("split type", c);
	MPI_Comm_free(&c);
	MPI_Comm_group(peers, &all);
	MPI_Group_excl(all, 1, (int[]){0}, &some);
	MPI_Comm_create(MPI_COMM_WORLD, some, &c);
	use("create", c);
	if (rank) {
		MPI_Comm_create_group(peers, some, 17, &d);
		use("create group", d);
		MPI_Comm_free(&d);
		MPI_Comm_free(&c);
	}
	MPI_Group_free(&all);
	MPI_Group_free(&some);
	MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){size / 2, 2}, (int[]){1, 0}, 1, &c);
	use("cart", c);
	if (c != MPI_COMM_NULL) {
		int from, to, in = -1;
		MPI_Cart_shift(c, 1, 1, &from, &to);
		MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, c, MPI_STATUS_IGNORE);
		say("shift %d\n", in);
		MPI_Cart_sub(c, (int[]){0, 1}, &d);
		use("cart sub", d);
		MPI_Comm_free(&d);
		MPI_Comm_free(&c);
	}
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL,
		0, &c);
	use("graph", c);
	int in = -1;
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, &in, 1, MPI_INT, c);
	say("neighbour %d\n", in);
	MPI_Request near;
	MPI_Ineighbor_allgather(&rank, 1, MPI_INT, &in, 1, MPI_INT, c, &near);
	MPI_Wait(&near, MPI_STATUS_IGNORE);
	say("neighbour %d\n", in);
	MPI_Comm_free(&c);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &c);
	MPI_Dist_graph_create_adjacent(c, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &d);
	use("graph of a cart", d); /* whose neighbours Open MPI 5.0.7 does not find */
	MPI_Comm_free(&d);
	MPI_Comm_free(&c);
	/* What the host keeps: an intercommunicator, and what is merged from it. */
	if (size > 1) {
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &c);
		MPI_Intercomm_create(c, 0, peers, rank % 2 ? 0 : 1, 9, &inter);
		MPI_Intercomm_merge(inter, rank % 2, &d);
		use("merged", d);
		MPI_Comm_free(&c);
		MPI_Comm_dup(d, &c);
		use("dup of merged", c);
		MPI_Comm_free(&c);
		MPI_Comm_free(&d);
		MPI_Comm_free(&inter);
	}
	MPI_Comm_free(&peers);
	MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
	say("leaked %d %d\n", flag, leak);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(&stray, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	say("%d\n", leak);
	MPI_Barrier(MPI_COMM_WORLD); /* the receive has taken nobody's report */
	end();
}
