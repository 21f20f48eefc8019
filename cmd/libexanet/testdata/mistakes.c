/* Programs with one mistake each, which the checking mode finds (EXANET_CHECK). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* Its code lies before that of the others, and its lines behind theirs. */
static void __attribute__((section(".text.startup"))) types(void)
{
	if (rank == 0) {
		float x[2] = {1, 2};
		MPI_Send(x, 2, MPI_FLOAT, 1, 4, MPI_COMM_WORLD);
	} else if (rank == 1) {
		double y;
		MPI_Recv(&y, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* A derived type of ints and doubles, received as doubles and ints. */
static void structs(void)
{
	MPI_Datatype both[2] = {MPI_INT, MPI_DOUBLE}, t;
	int ones[2] = {2, 1};
	MPI_Aint at[2] = {0, 8};
	double b[4];
	if (rank == 0) {
		MPI_Type_create_struct(2, ones, at, both, &t);
	} else {
		MPI_Datatype other[2] = {MPI_DOUBLE, MPI_INT};
		int counts[2] = {1, 2};
		MPI_Type_create_struct(2, counts, at, other, &t);
	}
	MPI_Type_commit(&t);
	if (rank == 0)
		MPI_Send(b, 1, t, 1, 0, MPI_COMM_WORLD);
	else if (rank == 1)
		MPI_Recv(b, 1, t, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Type_free(&t);
}

static void calls(void)
{
	int x = 0;
	if (rank == 0)
		MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
	else
		MPI_Barrier(MPI_COMM_WORLD);
}

static void roots(void)
{
	int x = 1, y = 0;
	MPI_Reduce(&x, &y, 1, MPI_INT, MPI_SUM, rank, MPI_COMM_WORLD);
}

static void operators(void)
{
	int x = 1, y = 0;
	MPI_Allreduce(&x, &y, 1, MPI_INT, rank ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

static void counts(void)
{
	int x[8] = {0};
	MPI_Bcast(x, 1 + rank, MPI_INT, 0, MPI_COMM_WORLD);
}

static void reductions(void)
{
	int x[2] = {0}, y[2];
	MPI_Allreduce(x, y, 1, rank ? MPI_FLOAT : MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void overlap(void)
{
	int b[10];
	MPI_Request r[2];
	if (rank == 0) {
		MPI_Irecv(b, 6, MPI_INT, 1, 0, MPI_COMM_WORLD, &r[0]);
		MPI_Irecv(b + 5, 5, MPI_INT, 1, 1, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	} else if (rank == 1) {
		MPI_Send(b, 6, MPI_INT, 0, 0, MPI_COMM_WORLD);
		MPI_Send(b, 5, MPI_INT, 0, 1, MPI_COMM_WORLD);
	}
}

static void changed(void)
{
	int x = 1;
	MPI_Request r;
	if (rank == 0) {
		MPI_Isend(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r);
		x = 2;
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static void request(void)
{
	static int x;
	MPI_Request r;
	if (rank == 0)
		MPI_Irecv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &r);
}

static void message(void)
{
	short x[3] = {0};
	if (rank == 0)
		MPI_Send(x, 3, MPI_SHORT, 1, 7, MPI_COMM_WORLD);
}

static void deadlock(void)
{
	int x;
	MPI_Recv(&x, 1, MPI_INT, (rank + 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sends(void)
{
	int n = 1 << 20;
	char *b = calloc(n, 1);
	MPI_Send(b, n, MPI_CHAR, (rank + 1) % size, 0, MPI_COMM_WORLD);
	MPI_Recv(b, n, MPI_CHAR, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	free(b);
}

static void barrier(void)
{
	int x;
	if (rank == 0)
		MPI_Recv(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Barrier(MPI_COMM_WORLD);
}

static const struct {
	const char *name;
	void (*run)(void);
} all[] = {
	{"types", types}, {"structs", structs}, {"calls", calls}, {"roots", roots}, {"operators", operators},
	{"counts", counts}, {"reductions", reductions}, {"overlap", overlap}, {"changed", changed},
	{"request", request}, {"message", message}, {"deadlock", deadlock}, {"sends", sends}, {"barrier", barrier},
};

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (argc > 1 && !strcmp(argv[1], all[i].name))
			all[i].run();
	MPI_Finalize();
	return 0;
}
