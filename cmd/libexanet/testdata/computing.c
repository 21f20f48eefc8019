/* A rank that has posted a receive and computes, without a call of MPI, until its peer's send
   has returned: which it does, whoever copies. What tells of that is in a file. */
#include "check.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 1 << 20, WAYS = 6 };

static volatile int *sent;

static void late(double us)
{
	for (double until = MPI_Wtime() + us * 1e-6; MPI_Wtime() < until;)
		;
}

/* So that both sides have sent and received windows before. */
static void window(char *b, int n)
{
	MPI_Request r[4];
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 4; i++)
			if (rank)
				MPI_Irecv(b, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[i]);
			else
				MPI_Isend(b, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r[i]);
		MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	}
}

static void one(char *b, int n, int way)
{
	MPI_Request r;
	MPI_Datatype gaps;
	MPI_Type_vector(n / 8, 8, 8, MPI_CHAR, &gaps);
	MPI_Type_commit(&gaps);
	window(b, n);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank) {
		memset(b, 0, n);
		MPI_Irecv(b, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r);
		double begun = MPI_Wtime();
		while (!*sent && MPI_Wtime() - begun < 20)
			;
		say("way %d, %d bytes: %s", way, n, *sent ? "sent" : "not sent");
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		say(" %lx\n", sum(b, n));
		*sent = 0;
	} else {
		memset(b, way + 1, n);
		late(way % 2 ? 300 : 0);
		switch (way) {
		case 0:
		case 1: MPI_Ssend(b, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD); break;
		case 2: MPI_Send(b, 1, gaps, 1, 0, MPI_COMM_WORLD); break;
		case 4: usleep(30000); /* fall through */
		case 3: MPI_Send(b, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD); break;
		case 5:
			MPI_Isend(b, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
		}
		*sent = 1;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Type_free(&gaps);
}

int main(int argc, char **argv)
{
	static const int all[] = {40000, 200000, MOST};
	begin(&argc, &argv);
	int f = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (f < 0 || ftruncate(f, 4096))
		MPI_Abort(MPI_COMM_WORLD, 1);
	sent = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	char *b = malloc(MOST);
	for (int k = 0; k < 5; k++)
		for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
			for (int way = 0; way < WAYS; way++)
				one(b, all[i], way);
	free(b);
	end();
}
