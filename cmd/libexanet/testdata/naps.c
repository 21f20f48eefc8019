/* What the thread of this process may be late by, in nanoseconds, that is seen to sleep most often while
   calls are made. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static long number(const char *format, const char *thread)
{
	char path[100];
	long n = -1;
	snprintf(path, sizeof path, format, thread);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%ld", &n) != 1)
		n = -2; /* "running" */
	if (f)
		fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	enum { THREADS = 64 };
	static struct {
		char id[32];
		int seen;
	} threads[THREADS], most;
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0 && number("/proc/%s/syscall", "self") == -1)
		printf("the kernel does not tell\n");
	for (double end = MPI_Wtime() + 1; rank == 0 && MPI_Wtime() < end;) {
		char buf[8];
		MPI_Request r;
		MPI_Irecv(buf, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r);
		MPI_Cancel(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		DIR *d = opendir("/proc/self/task");
		for (struct dirent *e; d && (e = readdir(d));) {
			int i = 0;
			if (e->d_name[0] == '.' || number("/proc/self/task/%s/syscall", e->d_name) != SYS_nanosleep)
				continue;
			while (i < THREADS - 1 && threads[i].seen && strcmp(threads[i].id, e->d_name))
				i++;
			strcpy(threads[i].id, e->d_name);
			if (++threads[i].seen > most.seen)
				most = threads[i];
		}
		if (d)
			closedir(d);
	}
	if (most.seen)
		printf("%ld\n", number("/proc/%s/timerslack_ns", most.id));
	return MPI_Finalize();
}
