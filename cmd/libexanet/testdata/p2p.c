/* Blocking and non-blocking point to point, every mode, at sizes on both sides of
   the protocols' limits; sendrecv, wildcards, MPI_PROC_NULL. */
#include "check.h"

static void fill(char *b, int n, int seed)
{
	for (int i = 0; i < n; i++)
		b[i] = (char)(i * 7 + seed);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {0, 1, 40, 41, 4096, 4097, 8193, 100000, 3000000};
	static char out[3000000], in[3000000];
	MPI_Status st;
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		int n = sizes[k];
		for (int mode = 0; mode < 4; mode++) {
			fill(out, n, rank + mode);
			memset(in, 0, n);
			MPI_Request r;
			MPI_Irecv(in, n, MPI_CHAR, left, mode, MPI_COMM_WORLD, &r);
			if (mode == 0)
				MPI_Send(out, n, MPI_CHAR, right, mode, MPI_COMM_WORLD);
			else if (mode == 1)
				MPI_Ssend(out, n, MPI_CHAR, right, mode, MPI_COMM_WORLD);
			else if (mode == 2) {
				MPI_Barrier(MPI_COMM_WORLD); /* the receive is posted */
				MPI_Rsend(out, n, MPI_CHAR, right, mode, MPI_COMM_WORLD);
			} else {
				int need = n + MPI_BSEND_OVERHEAD;
				void *b = malloc(need);
				MPI_Buffer_attach(b, need);
				MPI_Bsend(out, n, MPI_CHAR, right, mode, MPI_COMM_WORLD);
				void *back;
				MPI_Buffer_detach(&back, &need);
				say("detached %d %d\n", back == b, need);
				free(b);
			}
			MPI_Wait(&r, &st);
			say_status("irecv", &st, MPI_CHAR);
			say("%d %d %lx null %d\n", n, mode, sum(in, n), r == MPI_REQUEST_NULL);
		}
		/* Several non-blocking sends, received in order from any source and tag. */
		MPI_Request rs[8];
		for (int i = 0; i < 4; i++) {
			MPI_Irecv(in + i * (n / 4), n / 4, MPI_CHAR, size == 2 ? MPI_ANY_SOURCE : left, MPI_ANY_TAG, MPI_COMM_WORLD,
				&rs[i]);
			if (i % 2)
				MPI_Issend(out + i * (n / 4), n / 4, MPI_CHAR, right, 10 + i, MPI_COMM_WORLD, &rs[4 + i]);
			else
				MPI_Isend(out + i * (n / 4), n / 4, MPI_CHAR, right, 10 + i, MPI_COMM_WORLD, &rs[4 + i]);
		}
		MPI_Status sts[8];
		MPI_Waitall(8, rs, sts);
		for (int i = 0; i < 4; i++)
			say_status("waitall", &sts[i], MPI_CHAR);
		say("%lx\n", sum(in, n / 4 * 4));
		MPI_Sendrecv(out, n, MPI_CHAR, left, 5, in, n, MPI_CHAR, right, 5, MPI_COMM_WORLD, &st);
		say_status("sendrecv", &st, MPI_CHAR);
		say("%lx\n", sum(in, n));
		MPI_Sendrecv_replace(out, n, MPI_CHAR, left, 6, right, 6, MPI_COMM_WORLD, &st);
		say_status("replace", &st, MPI_CHAR);
		say("%lx\n", sum(out, n));
	}
	MPI_Recv(in, 1, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &st);
	say_status("null", &st, MPI_CHAR);
	MPI_Send(in, 1, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
	MPI_Send(&rank, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
	int me = -1;
	MPI_Recv(&me, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	say("from myself %d\n", me);
	MPI_Request self;
	MPI_Isend(&me, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &self);
	MPI_Recv(&rank, 1, MPI_INT, 0, 4, MPI_COMM_SELF, &st);
	MPI_Wait(&self, MPI_STATUS_IGNORE);
	say_status("self", &st, MPI_INT);
	end();
}
