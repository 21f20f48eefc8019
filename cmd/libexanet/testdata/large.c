/* The forms of MPI-4 with large counts meet those without, and types made by them. */
#include "check.h"

int main(int argc, char **argv)
{
	int out[100], in[100];
	MPI_Status st;
	MPI_Request r;
	MPI_Datatype t;
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	for (int i = 0; i < 100; i++)
		out[i] = rank * 100 + i, in[i] = 0;
	MPI_Irecv(in, 100, MPI_INT, left, 1, MPI_COMM_WORLD, &r);
	MPI_Send_c(out, 100, MPI_INT, right, 1, MPI_COMM_WORLD);
	MPI_Wait(&r, &st);
	say_status("send_c", &st, MPI_INT);
	MPI_Irecv_c(in, 100, MPI_INT, left, 2, MPI_COMM_WORLD, &r);
	MPI_Send(out, 50, MPI_INT, right, 2, MPI_COMM_WORLD);
	MPI_Wait(&r, &st);
	say_status("irecv_c", &st, MPI_INT);
	MPI_Count counts[8];
	MPI_Aint displs[8];
	for (int i = 0; i < size; i++)
		counts[i] = 3, displs[i] = 5 * i;
	MPI_Allgatherv_c(out, 3, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD);
	say("%lx\n", sum(in, sizeof in));
	MPI_Type_vector_c(5, 2, 4, MPI_INT, &t);
	MPI_Type_commit(&t);
	MPI_Sendrecv_c(out, 1, t, right, 3, in, 10, MPI_INT, left, 3, MPI_COMM_WORLD, &st);
	say("%lx\n", sum(in, sizeof in));
	MPI_Type_free(&t);
	MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_SHORT}, &t);
	MPI_Type_commit(&t);
	MPI_Sendrecv(out, 2, t, right, 3, in, 16, MPI_BYTE, left, 3, MPI_COMM_WORLD, &st);
	say("%lx\n", sum(in, sizeof in));
	MPI_Type_free(&t);
	MPI_Type_create_subarray_c(2, (MPI_Count[]){8, 9}, (MPI_Count[]){3, 4}, (MPI_Count[]){2, 1}, MPI_ORDER_C, MPI_INT,
		&t);
	MPI_Type_commit(&t);
	MPI_Sendrecv(out, 1, t, right, 3, in, 12, MPI_INT, left, 3, MPI_COMM_WORLD, &st);
	say("%lx\n", sum(in, sizeof in));
	MPI_Type_free(&t);
	end();
}
