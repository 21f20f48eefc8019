/* Derived datatypes of every constructor, sent as one thing and received as
   another, below and above the protocols' limits; MPI_BOTTOM. */
#include "check.h"

enum { BYTES = 400000 };

static char out[BYTES], in[BYTES];

static void trade(const char *what, int n, MPI_Datatype sent, int m, MPI_Datatype received)
{
	MPI_Status st;
	MPI_Request r;
	int elements;
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	for (int i = 0; i < BYTES; i++)
		out[i] = (char)(i * 13 + rank);
	memset(in, 0, BYTES);
	MPI_Irecv(in + 4096, m, received, left, 1, MPI_COMM_WORLD, &r);
	MPI_Send(out + 4096, n, sent, right, 1, MPI_COMM_WORLD);
	MPI_Wait(&r, &st);
	MPI_Get_elements(&st, received, &elements);
	say("%s: %lx, %d elements\n", what, sum(in, BYTES), elements);
	say_status(what, &st, received);
}

static void both(const char *what, int n, MPI_Datatype t)
{
	int bytes;
	MPI_Type_commit(&t);
	MPI_Type_size(t, &bytes);
	for (int many = 1; many <= 50; many *= 50) {
		trade(what, n * many, t, n * many, t);
		trade(what, n * many, t, n * many * bytes, MPI_BYTE);
		trade(what, n * many * bytes, MPI_BYTE, n * many, t);
	}
	MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	MPI_Datatype t, u, v;
	for (int round = 0; round < 2; round++) { /* handles are used again */
		MPI_Type_contiguous(3, MPI_INT, &t);
		both("contiguous", 2, t);
		MPI_Type_vector(4, 2, 5, MPI_SHORT, &t);
		both("vector", 3, t);
		MPI_Type_vector(4, 2, -5, MPI_SHORT, &t);
		both("backwards", 1, t);
		MPI_Type_create_hvector(3, 1, 100, MPI_DOUBLE, &t);
		both("hvector", 2, t);
		both("indexed", (MPI_Type_indexed(3, (int[]){1, 0, 4}, (int[]){7, 3, 0}, MPI_INT, &t), 2), t);
		both("hindexed", (MPI_Type_create_hindexed(2, (int[]){2, 3}, (MPI_Aint[]){64, 8}, MPI_CHAR, &t), 4), t);
		both("indexed block", (MPI_Type_create_indexed_block(3, 2, (int[]){0, 5, 9}, MPI_FLOAT, &t), 2), t);
		both("hindexed block", (MPI_Type_create_hindexed_block(3, 2, (MPI_Aint[]){0, 33, 99}, MPI_CHAR, &t), 2), t);
		MPI_Type_create_struct(3, (int[]){1, 2, 3}, (MPI_Aint[]){0, 8, 24},
			(MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, &t);
		both("struct", 3, t);
		MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_DOUBLE, MPI_CHAR}, &t);
		both("padded", 3, t);
		MPI_Type_create_subarray(2, (int[]){8, 9}, (int[]){3, 4}, (int[]){2, 1}, MPI_ORDER_C, MPI_INT, &t);
		both("subarray", 1, t);
		MPI_Type_create_subarray(3, (int[]){5, 4, 6}, (int[]){3, 2, 2}, (int[]){2, 1, 3}, MPI_ORDER_FORTRAN, MPI_SHORT,
			&t);
		both("fortran", 1, t);
		MPI_Type_create_darray(4, 1, 2, (int[]){8, 6}, (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
				       (int[]){MPI_DISTRIBUTE_DFLT_DARG, 2}, (int[]){2, 2}, MPI_ORDER_C, MPI_INT, &t);
		both("darray", 1, t);
		MPI_Type_create_resized(MPI_INT, -4, 24, &t);
		both("resized", 3, t);
		MPI_Type_dup(MPI_LONG, &t);
		both("dup", 2, t);
		MPI_Type_vector(3, 1, 2, MPI_INT, &u);
		MPI_Type_create_struct(2, (int[]){2, 1}, (MPI_Aint[]){0, 80}, (MPI_Datatype[]){u, MPI_DOUBLE_INT}, &v);
		MPI_Type_free(&u);
		MPI_Type_contiguous(2, v, &t);
		MPI_Type_free(&v);
		both("nested", 1, t);
		both("double int", 1, (MPI_Type_contiguous(2, MPI_DOUBLE_INT, &t), t));
		both("long double", 1, (MPI_Type_contiguous(2, MPI_LONG_DOUBLE, &t), t));
	}
	/* A column of a matrix as a row. */
	MPI_Type_vector(100, 1, 100, MPI_DOUBLE, &t);
	MPI_Type_commit(&t);
	trade("column", 1, t, 100, MPI_DOUBLE);
	MPI_Type_free(&t);
	/* Absolute addresses. */
	MPI_Aint at[2];
	int a = rank * 3, b = rank * 5, c[2] = {0, 0};
	MPI_Get_address(&a, &at[0]);
	MPI_Get_address(&b, &at[1]);
	MPI_Type_create_hindexed(2, (int[]){1, 1}, at, MPI_INT, &t);
	MPI_Type_commit(&t);
	MPI_Sendrecv(MPI_BOTTOM, 1, t, (rank + 1) % size, 2, c, 2, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	say("bottom %d %d\n", c[0], c[1]);
	MPI_Type_free(&t);
	end();
}
