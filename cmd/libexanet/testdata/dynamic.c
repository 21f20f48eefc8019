/* Processes that the program starts, whose world is their own, and two that a socket
   joins. What is between them and their parents is the host's. */
#include "check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection between ranks 0 and 1. */
static int connection(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof a;
	int fd, port;
	if (rank == 0) {
		int l = socket(AF_INET, SOCK_STREAM, 0);
		if (bind(l, (void *)&a, length) || listen(l, 1) || getsockname(l, (void *)&a, &length))
			abort();
		port = a.sin_port;
		MPI_Send(&port, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		fd = accept(l, 0, 0);
		close(l);
	} else {
		MPI_Recv(&port, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		a.sin_port = port;
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (void *)&a, length))
			abort();
	}
	return fd;
}

int main(int argc, char **argv)
{
	MPI_Comm parent, family, all;
	MPI_Request rs[4];
	int total, me, everybody, left = -1, before = -1;
	begin(&argc, &argv);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Comm_get_parent(&parent);
	family = parent;
	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &family, MPI_ERRCODES_IGNORE);
	MPI_Intercomm_merge(family, parent != MPI_COMM_NULL, &all);
	MPI_Comm_rank(all, &me);
	MPI_Comm_size(all, &everybody);
	/* Requests of both kinds at once. */
	MPI_Irecv(&before, 1, MPI_INT, (me + everybody - 1) % everybody, 1, all, &rs[0]);
	MPI_Irecv(&left, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &rs[1]);
	MPI_Isend(&me, 1, MPI_INT, (me + 1) % everybody, 1, all, &rs[2]);
	MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &rs[3]);
	MPI_Waitall(4, rs, MPI_STATUSES_IGNORE);
	int mine[4] = {total, size, left, before}, theirs[4];
	if (parent != MPI_COMM_NULL)
		MPI_Send(mine, 4, MPI_INT, 0, 2, all);
	for (int i = size; parent == MPI_COMM_NULL && rank == 0 && i < everybody; i++) {
		MPI_Recv(theirs, 4, MPI_INT, i, 2, all, MPI_STATUS_IGNORE);
		say("child: total %d of %d, %d and %d\n", theirs[0], theirs[1], theirs[2], theirs[3]);
	}
	say("total %d of %d, %d and %d\n", total, size, left, before);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&family);
	if (parent != MPI_COMM_NULL) {
		MPI_Finalize();
		return 0;
	}
	if (rank < 2) {
		MPI_Comm two;
		int fd = connection(), other = -1;
		MPI_Comm_join(fd, &two);
		MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &other, 1, MPI_INT, 0, 0, two, MPI_STATUS_IGNORE);
		say("joined with %d\n", other);
		MPI_Comm_disconnect(&two);
		close(fd);
	}
	end();
}
