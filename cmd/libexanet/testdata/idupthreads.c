/* Two threads of each rank duplicate a communicator of their own and one that they share, again and
   again, as in "idupthreads 500". On each rank another thread comes late. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static MPI_Comm parents[2];
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static int times, wrong[2];

static void *duplicate(void *number)
{
	int t = *(int *)number;
	for (int i = 0; i < times; i++) {
		MPI_Comm d;
		MPI_Request q;
		int total = 0, one = 1;
		if (i == 0 && t == rank % 2)
			usleep(200000); /* the other one waits for peers meanwhile */
		pthread_mutex_lock(&alone); /* two calls on MPI_COMM_SELF at once would be a mistake */
		MPI_Comm_idup(MPI_COMM_SELF, &d, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		pthread_mutex_unlock(&alone);
		MPI_Comm_free(&d);
		MPI_Comm_idup(parents[t], &d, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, d);
		wrong[t] += total != size;
		MPI_Comm_free(&d);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int provided, number[2] = { 0, 1 };
	pthread_t threads[2];
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	times = argc > 1 ? atoi(argv[1]) : 10;
	for (int i = 0; i < 2; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], 0, duplicate, &number[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	for (int i = 0; i < 2; i++)
		MPI_Comm_free(&parents[i]);
	say("wrong %d\n", wrong[0] + wrong[1]);
	end();
	return 0;
}
