/* Collectives of two ranks that pass sizes so different that one goes through shared memory and the
   other is messages: each as often as there is a communicator for it. Before each are calls that
   match, of both kinds. An error each, of a class that says so, and no rank waits for ever. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { SHORT = 2 << 10, LONG = 2 << 20, CALLS = 9 };

static char out[2 * LONG], in[2 * LONG];

static int call(int what, int n, MPI_Comm c)
{
	switch (what) {
	case 0: return MPI_Bcast(out, n, MPI_BYTE, 0, c);
	case 1: return MPI_Scatter(out, n, MPI_BYTE, in, n, MPI_BYTE, 0, c);
	case 2: return MPI_Gather(out, n, MPI_BYTE, in, n, MPI_BYTE, 1, c);
	case 3: return MPI_Reduce(out, in, n, MPI_UINT8_T, MPI_SUM, 0, c);
	case 4: return MPI_Exscan(out, in, n, MPI_UINT8_T, MPI_SUM, c);
	case 5: return MPI_Allreduce(out, in, n, MPI_UINT8_T, MPI_SUM, c);
	case 6: return MPI_Allgather(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
	case 7: return MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, c);
	default: return n == LONG ? MPI_Bcast(out, n, MPI_BYTE, 0, c) : MPI_Barrier(c);
	}
}

int main(int argc, char **argv)
{
	int rank, wrong = 0, told = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 2 * CALLS; i++) {
		MPI_Comm c;
		MPI_Comm_dup(MPI_COMM_WORLD, &c);
		for (int k = 0; k < 200; k++)
			for (int w = 0; w < 5; w++)
				if (call(w, k % 20 == w ? LONG / 4 : SHORT, c) != MPI_SUCCESS)
					wrong++;
		MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
		int class = MPI_SUCCESS, err = call(i / 2, (rank ^ i) & 1 ? SHORT : LONG, c);
		if (err == MPI_SUCCESS)
			err = MPI_Barrier(c);
		MPI_Error_class(err, &class);
		if (class == MPI_ERR_COUNT || class == MPI_ERR_TRUNCATE)
			told++;
		else
			fprintf(stderr, "rank %d, call %d: class %d\n", rank, i, class);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Comm_free(&c);
	}
	printf("rank %d: %d wrong, %d told\n", rank, wrong, told);
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
