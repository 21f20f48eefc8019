/* The host must make progress while we wait, as long as something of its own exists,
   and a rank that waits sleeps when nothing does any more. With an argument the
   program says whether it has slept. */
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static int asks;
static MPI_Comm other;

static double processor(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* All but rank 0 wait for it, which takes its time. */
static void rest(const char *after)
{
	int x = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	double before = processor();
	if (rank == 0) {
		usleep(400000);
		for (int i = 1; i < size; i++)
			MPI_Send(&x, 1, MPI_INT, i, 9, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (asks)
		say("%s: %s\n", after, processor() - before < 0.04 ? "slept" : "polled");
}

static int query(void *state, MPI_Status *s)
{
	MPI_Status_set_elements(s, MPI_BYTE, 0);
	MPI_Status_set_cancelled(s, 0);
	return MPI_SUCCESS;
}

static int released(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int done) { return MPI_SUCCESS; }

static void windows(void)
{
	int *base, x = rank + 1;
	MPI_Win w;
	MPI_Win_allocate(sizeof(int) * 8, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &w);
	for (int i = 0; i < 8; i++)
		base[i] = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, w);
	MPI_Put(&x, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, w);
	MPI_Win_unlock((rank + 1) % size, w);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w);
	say("put %d\n", base[0]);
	MPI_Win_unlock(rank, w);
	MPI_Win_free(&w);
}

static void intercommunicator(void)
{
	MPI_Comm half, inter;
	MPI_Request r[3];
	int x = -1, y = rank, done = 0;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
	MPI_Ibarrier(inter, &r[0]);
	MPI_Irecv(&x, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &r[1]);
	MPI_Isend(&y, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
	MPI_Ibarrier(inter, &r[0]);
	while (!done)
		MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
	MPI_Ibarrier(inter, &r[0]);
	int index;
	MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
	say("inter %d %d %d\n", x, index, r[0] == MPI_REQUEST_NULL);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

static void generalized(void)
{
	MPI_Request r[2];
	int x = -1, n, at[2], done;
	MPI_Grequest_start(query, released, cancel, 0, &r[0]);
	MPI_Irecv(&x, 1, MPI_INT, rank, 2, MPI_COMM_WORLD, &r[1]);
	MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
	MPI_Send(&rank, 1, MPI_INT, rank, 2, MPI_COMM_WORLD);
	MPI_Waitsome(2, r, &n, at, MPI_STATUSES_IGNORE);
	MPI_Grequest_complete(r[0]);
	say("generalized %d %d %d %d", done, n, at[0], x == rank);
	MPI_Waitsome(2, r, &n, at, MPI_STATUSES_IGNORE);
	say(" %d %d\n", n, at[0]);
}

static void files(const char *name)
{
	MPI_File f;
	MPI_Request r[4];
	static int out[1000], in[1000], got;
	MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
	for (int i = 0; i < 1000; i++)
		out[i] = rank * 1000 + i;
	MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &r[0]);
	MPI_File_iwrite_at(f, rank * sizeof out, out, 1000, MPI_INT, &r[1]);
	MPI_Isend(&rank, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &r[2]);
	MPI_File_iread_at(f, 0, in, 0, MPI_INT, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_iread_at(f, (rank + 1) % size * sizeof in, in, 1000, MPI_INT, &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	int done;
	for (int i = 0; i < 20; i++) { /* it may complete at any moment */
		MPI_File_iread_at_all(f, rank * sizeof in, out, 1000, MPI_INT, &r[0]);
		for (done = 0; !done;)
			MPI_Testall(1, r, &done, MPI_STATUSES_IGNORE);
	}
	say("file %d %lx %lx\n", got, sum(in, sizeof in), sum(out, sizeof out));
	if (asks) { /* which not every host answers: one that has completed is looked at again and again */
		MPI_Irecv(&got, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &r[0]);
		MPI_File_iread_at(f, rank * sizeof in, in, 1000, MPI_INT, &r[1]);
		for (int i = 0; i < 1000; i++)
			MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
		MPI_Request_get_status(r[1], &done, MPI_STATUS_IGNORE);
		MPI_Send(&rank, 1, MPI_INT, rank, 3, MPI_COMM_WORLD);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		say("again %d\n", got);
	}
	MPI_File_close(&f);
}

/* The first window is made by another thread while the first one sleeps. */
static void *late(void *arg)
{
	MPI_Win w;
	int *base, x = 7;
	usleep(100000);
	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, other, &base, &w);
	*base = 0;
	if (rank) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w);
		MPI_Accumulate(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, w);
		MPI_Win_unlock(0, w);
		MPI_Send(&x, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
	}
	*(MPI_Win *)arg = w;
	return 0;
}

static void duplicates(void)
{
	MPI_Comm d;
	MPI_Request r;
	MPI_Comm_idup(MPI_COMM_WORLD, &d, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Barrier(d);
	MPI_Comm_free(&d);
}

int main(int argc, char **argv)
{
	int provided, x = 0, y;
	pthread_t t;
	MPI_Win w;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	asks = argc > 2;
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	rest("nothing");
	duplicates();
	rest("duplicates");
	windows();
	rest("windows");
	intercommunicator();
	rest("an intercommunicator");
	generalized();
	rest("generalized requests");
	files(argv[1]);
	rest("files");
	pthread_create(&t, 0, late, &w);
	for (int i = 1; i < size && rank == 0; i++) {
		MPI_Recv(&y, 1, MPI_INT, i, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		x += y;
	}
	pthread_join(t, 0);
	say("late %d\n", x);
	MPI_Win_free(&w);
	rest("a late window");
	MPI_Comm_free(&other);
	end();
}
