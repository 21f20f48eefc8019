/* A program with parallel HDF5: its files are the host's (MPI-IO), its messages, of
   the library's own caches and filters as well, are ours. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			printf("%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #what); \
			MPI_Abort(MPI_COMM_WORLD, 1);                          \
		}                                                              \
	} while (0)

enum { rows = 6, columns = 40 }; /* of each rank */

static int rank, size;

static hid_t transfer(H5FD_mpio_xfer_t mode)
{
	hid_t p = H5Pcreate(H5P_DATASET_XFER);
	H5Pset_dxpl_mpio(p, mode);
	return p;
}

/* Every rank writes its rows, or its columns, of a matrix and reads those of the
   next one. */
static void matrix(hid_t file, const char *name, int by_columns, int chunked, H5FD_mpio_xfer_t mode)
{
	hsize_t all[2] = {by_columns ? rows : rows * size, by_columns ? columns * size : columns};
	hsize_t mine[2] = {rows, columns}, at[2] = {0, 0};
	hid_t space = H5Screate_simple(2, all, 0), properties = H5Pcreate(H5P_DATASET_CREATE);
	H5Pset_obj_track_times(properties, 0); /* so that the same file is the same */
	if (chunked) {
		hsize_t chunk[2] = {4, 16}; /* shared by several ranks */
		H5Pset_chunk(properties, 2, chunk);
		if (mode == H5FD_MPIO_COLLECTIVE)
			H5Pset_deflate(properties, 6);
	}
	hid_t set = H5Dcreate2(file, name, H5T_STD_I32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
	CHECK(set >= 0);
	hid_t memory = H5Screate_simple(2, mine, 0), how = transfer(mode);
	int data[rows][columns];
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			data[i][j] = 10000 * rank + 100 * i + j;
	at[by_columns] = mine[by_columns] * rank;
	H5Sselect_hyperslab(space, H5S_SELECT_SET, at, 0, mine, 0);
	CHECK(H5Dwrite(set, H5T_NATIVE_INT, memory, space, how, data) >= 0);
	CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
	MPI_Barrier(MPI_COMM_WORLD);

	int next = (rank + 1) % size;
	at[by_columns] = mine[by_columns] * next;
	H5Sselect_hyperslab(space, H5S_SELECT_SET, at, 0, mine, 0);
	memset(data, 0, sizeof data);
	CHECK(H5Dread(set, H5T_NATIVE_INT, memory, space, how, data) >= 0);
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			CHECK(data[i][j] == 10000 * next + 100 * i + j);
	H5Pclose(how);
	H5Sclose(memory);
	H5Dclose(set);
	H5Pclose(properties);
	H5Sclose(space);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	char path[1024];
	if (rank == 0)
		snprintf(path, sizeof path, "%s", argv[1]);
	MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);

	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
	hid_t of_file = H5Pcreate(H5P_FILE_CREATE), of_group = H5Pcreate(H5P_GROUP_CREATE);
	H5Pset_obj_track_times(of_file, 0); /* HDF5 2 keeps the times of groups as well */
	H5Pset_obj_track_times(of_group, 0);
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, of_file, access);
	CHECK(file >= 0);
	matrix(file, "rows", 0, 0, H5FD_MPIO_COLLECTIVE);
	matrix(file, "columns", 1, 0, H5FD_MPIO_COLLECTIVE);
	matrix(file, "alone", 1, 0, H5FD_MPIO_INDEPENDENT);
	matrix(file, "chunks", 0, 1, H5FD_MPIO_INDEPENDENT);
	matrix(file, "packed", 1, 1, H5FD_MPIO_COLLECTIVE);
	for (int i = 0; i < 10; i++) { /* metadata, by all alike */
		char name[32];
		snprintf(name, sizeof name, "group%d", i);
		hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, of_group, H5P_DEFAULT);
		hid_t one = H5Screate(H5S_SCALAR), a = H5Acreate2(group, "i", H5T_STD_I32LE, one, H5P_DEFAULT, H5P_DEFAULT);
		CHECK(H5Awrite(a, H5T_NATIVE_INT, &i) >= 0);
		H5Aclose(a);
		H5Sclose(one);
		H5Gclose(group);
	}
	CHECK(H5Fclose(file) >= 0);
	H5Pclose(of_group);
	H5Pclose(of_file);

	/* Half of the ranks open it again, while all exchange messages. */
	MPI_Comm half;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	int sum = 0, part = rank;
	if (rank % 2 == 0) {
		H5Pset_fapl_mpio(access, half, MPI_INFO_NULL);
		H5Pset_all_coll_metadata_ops(access, 1);
		file = H5Fopen(path, H5F_ACC_RDONLY, access);
		CHECK(file >= 0);
		hid_t set = H5Dopen2(file, "columns", H5P_DEFAULT);
		int *whole = malloc(sizeof(int) * rows * columns * size);
		hid_t how = transfer(H5FD_MPIO_COLLECTIVE);
		CHECK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, how, whole) >= 0);
		for (int i = 0; i < rows * columns * size; i++)
			sum += whole[i];
		free(whole);
		H5Pclose(how);
		H5Dclose(set);
		CHECK(H5Fclose(file) >= 0);
		if (rank + 1 < size)
			MPI_Send(&sum, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	int total;
	MPI_Reduce(&part, &total, 1, MPI_INT, MPI_SUM, 0, half);
	int sums[64];
	MPI_Gather(&sum, 1, MPI_INT, sums, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (rank == 0)
		for (int i = 0; i < size; i++)
			printf("rank %d: %d\n", i, sums[i]);
	H5Pclose(access);
	MPI_Comm_free(&half);
	MPI_Finalize();
	return 0;
}
