#include "osu.h"

#include <sys/resource.h>
#include <unistd.h>

/*
 * idle: all ranks but the first block in a call for 2 s (-t: milliseconds), until rank 0, which
 * sleeps, comes. The size is that time. Processor time is of all threads of the rank that used most.
 */

enum { tag = 100 };

static double processor_time(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void wake(void)
{
	for (int to = 1; to < ranks; to++)
		MPI_Send(NULL, 0, MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

static void in_recv(void)
{
	if (rank == 0)
		wake();
	else
		MPI_Recv(NULL, 0, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void in_wait(void)
{
	MPI_Request request;

	if (rank == 0) {
		wake();
		return;
	}
	MPI_Irecv(NULL, 0, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void in_ssend(void)
{
	if (rank != 0)
		MPI_Ssend(NULL, 0, MPI_CHAR, 0, tag, MPI_COMM_WORLD);
	else
		for (int from = 1; from < ranks; from++)
			MPI_Recv(NULL, 0, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void in_barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void in_allreduce(void)
{
	int in = 1, out;

	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void run_idle(const struct benchmark *b)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} calls[] = {{"Recv", in_recv}, {"Wait", in_wait}, {"Ssend", in_ssend}, {"Barrier", in_barrier},
		{"Allreduce", in_allreduce}};
	int milliseconds = options.milliseconds ? options.milliseconds : 2000;

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		double cost[2] = {0, 0}, most[2], start, used;

		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		used = processor_time();
		if (rank == 0)
			usleep(milliseconds * 1000);
		calls[i].call();
		if (rank != 0) {
			cost[0] = (processor_time() - used) * 1e3;
			cost[1] = cost[0] / (MPI_Wtime() - start) / 10;
		}
		MPI_Reduce(cost, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		print_title(b, calls[i].name, "ms", 2, (const char *[]){"CPU (ms)", "CPU (%)"});
		print_row(milliseconds, 2, most);
	}
}
