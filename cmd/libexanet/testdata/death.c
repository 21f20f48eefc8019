/* A rank dies as the argument says, while the others wait for it. */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void go_on(int signal) { kill(getppid(), SIGCONT); }

/* Each waits in its own way, or all in a collective, for a rank that dies while the launcher is stopped. Who
   has learned of it, by an error of the right class, leaves a file. Rank 0 has the launcher go on when all have, or
   after a minute. */
static void unseen(const char *way, const char *file)
{
	static char big[1 << 24];
	int last = size - 1, e, x, flag;
	MPI_Request r[2];
	MPI_Status st;
	MPI_Message m;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	signal(SIGALRM, go_on);
	alarm(60);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == last) {
		kill(getppid(), SIGSTOP);
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(way, "barrier"))
		e = MPI_Barrier(MPI_COMM_WORLD);
	else if (!strcmp(way, "ibarrier")) {
		MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
		do
			e = MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
		while (e == MPI_SUCCESS && !flag);
	} else if (!strcmp(way, "alltoall"))
		e = MPI_Alltoall(big, 200000, MPI_CHAR, big + sizeof big / 2, 200000, MPI_CHAR, MPI_COMM_WORLD);
	else
		switch (rank) {
		case 0: e = MPI_Recv(&x, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
		case 1: e = MPI_Send(big, sizeof big, MPI_CHAR, last, 1, MPI_COMM_WORLD); break;
		case 2: e = MPI_Probe(last, 1, MPI_COMM_WORLD, &st); break;
		case 3: e = MPI_Mprobe(last, 1, MPI_COMM_WORLD, &m, &st); break;
		case 4:
			for (int i = 0; i < 2; i++)
				MPI_Irecv(&x, 1, MPI_INT, i ? last : 3, 2, MPI_COMM_WORLD, &r[i]);
			e = MPI_Waitany(2, r, &x, MPI_STATUS_IGNORE);
			break;
		default:
			MPI_Irecv(&x, 1, MPI_INT, last, 1, MPI_COMM_WORLD, &r[0]);
			do
				e = MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
			while (e == MPI_SUCCESS && !flag);
		}
	char name[1000];
#ifdef STANDARD_ABI
	int wanted = MPI_ERR_PROC_ABORTED;
#elif defined MPIX_ERR_PROC_FAILED
	int wanted = MPIX_ERR_PROC_FAILED;
#else
	int wanted = MPI_ERR_OTHER;
#endif
	MPI_Error_class(e, &e);
	for (int i = e == wanted ? rank : last; i < last; i++) {
		snprintf(name, sizeof name, "%s.%d", file, i);
		if (i == rank)
			close(open(name, O_CREAT | O_WRONLY, 0600));
		else if (rank == 0)
			while (access(name, F_OK))
				usleep(1000);
	}
	if (rank == 0)
		go_on(0);
	for (;;)
		pause();
}

static void leave(void) { fputs("left by exit\n", stderr); }

int main(int argc, char **argv)
{
	int x;
	begin(&argc, &argv);
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &x, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	if (!strcmp(argv[1], "unseen"))
		unseen(argv[2], argv[3]);
	MPI_Comm comm = MPI_COMM_WORLD;
	int at = rank;
	if (!strcmp(argv[1], "apart")) { /* on a communicator of some ranks */
		MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
		MPI_Comm_rank(comm, &at);
	}
	if (rank == size - 1) {
		if (!strcmp(argv[1], "kill"))
			kill(getpid(), SIGKILL);
		if (!strcmp(argv[1], "abort"))
			MPI_Abort(MPI_COMM_WORLD, 9);
		if (!strcmp(argv[1], "truncated") || !strcmp(argv[1], "apart")) {
			int out[4] = {0};
			MPI_Request r;
			atexit(leave);
			MPI_Isend(out, 4, MPI_INT, at, 2, comm, &r);
			MPI_Recv(&x, 1, MPI_INT, at, 2, comm, MPI_STATUS_IGNORE);
		}
		if (!strcmp(argv[1], "fatal"))
			MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
	}
	MPI_Recv(&x, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return 0;
}
