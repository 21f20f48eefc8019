/* Probe, Iprobe, and the matched ones. */
#include "check.h"

int main(int argc, char **argv)
{
	MPI_Status st;
	MPI_Message m;
	int flag, n;
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	for (int len = 1; len <= 100000; len *= 10) {
		int *out = malloc(len * sizeof *out), *in;
		for (int i = 0; i < len; i++)
			out[i] = rank * len + i;
		MPI_Request rs[5];
		for (int i = 0; i < 5; i++)
			MPI_Isend(out, len, MPI_INT, right, 20 + i, MPI_COMM_WORLD, &rs[i]);
		for (int i = 0; i < 5; i++) {
			MPI_Request r;
			in = calloc(len, sizeof *in);
			switch (i) {
			case 0:
				MPI_Probe(left, 20, MPI_COMM_WORLD, &st);
				break;
			case 1:
				do
					MPI_Iprobe(left, 21, MPI_COMM_WORLD, &flag, &st);
				while (!flag);
				break;
			case 2:
				MPI_Mprobe(left, 22, MPI_COMM_WORLD, &m, &st);
				break;
			case 3:
				do
					MPI_Improbe(left, 23, MPI_COMM_WORLD, &flag, &m, &st);
				while (!flag);
				break;
			default:
				MPI_Mprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &st);
			}
			/* MPICH leaves the flag of cancelled requests as it was. */
			MPI_Get_count(&st, MPI_INT, &n);
			say("probed: source %d tag %d count %d\n", st.MPI_SOURCE, st.MPI_TAG, n);
			if (i < 2)
				MPI_Recv(in, n, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st);
			else if (i == 3) {
				MPI_Imrecv(in, n, MPI_INT, &m, &r);
				MPI_Wait(&r, &st);
			} else
				MPI_Mrecv(in, n, MPI_INT, &m, &st);
			say_status("received", &st, MPI_INT);
			say("%lx %d\n", sum(in, len * sizeof *in), i < 2 || m == MPI_MESSAGE_NULL);
			free(in);
		}
		MPI_Waitall(5, rs, MPI_STATUSES_IGNORE);
		free(out);
	}
	MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st);
	say_status("null", &st, MPI_INT);
	MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &m, &st);
	say("no proc %d\n", m == MPI_MESSAGE_NO_PROC);
	MPI_Mrecv(&n, 1, MPI_INT, &m, &st);
	say_status("null", &st, MPI_INT);
	MPI_Iprobe(MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &flag, &st);
	say("nothing is left %d\n", flag);
	end();
}
