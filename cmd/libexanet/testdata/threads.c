/* MPI_THREAD_MULTIPLE: threads exchange messages at once. The argument is the size
   of their stacks; MPICH alone overruns small ones. */
#include "check.h"
#include <limits.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 200 };

static MPI_Comm comms[THREADS];
static long totals[THREADS];

static void *run(void *arg)
{
	int me = (int)(long)arg;
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	static __thread int out[2000], in[2000];
	for (int i = 0; i < ROUNDS; i++) {
		int n = i % 10 ? 8 : 2000;
		for (int k = 0; k < n; k++)
			out[k] = rank * i + k + me;
		MPI_Sendrecv(out, n, MPI_INT, right, me, in, n, MPI_INT, left, me, i % 2 ? MPI_COMM_WORLD : comms[me],
			MPI_STATUS_IGNORE);
		for (int k = 0; k < n; k++)
			totals[me] += in[k];
		if (i % 50 == 0)
			MPI_Allreduce(MPI_IN_PLACE, &totals[me], 1, MPI_LONG, MPI_SUM, comms[me]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int provided;
	pthread_t t[THREADS];
	pthread_attr_t small;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	say("provided %d\n", provided == MPI_THREAD_MULTIPLE);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, argc > 1 ? atoi(argv[1]) : 8 << 20);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], &small, run, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], 0);
		say("thread %d: %ld\n", i, totals[i]);
		MPI_Comm_free(&comms[i]);
	}
	end();
}
