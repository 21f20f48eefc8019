/* What the test programs share: each rank says what it has seen, and rank 0
   prints it in the order of the ranks, by the host MPI's own calls. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open MPI 4 has persistent collectives under other names; Open MPI 5 reports MPI-3, and has them. */
#if OMPI_MAJOR_VERSION == 4
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name##_init
#else
#define PERSISTENT(name) MPI_##name##_init
#endif

static char said[1 << 17];
static int saidlen, rank, size;

static void say(const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	saidlen += vsnprintf(said + saidlen, sizeof said - saidlen, format, ap);
	va_end(ap);
	if (saidlen >= (int)sizeof said)
		abort();
}

static void say_status(const char *what, MPI_Status *s, MPI_Datatype type)
{
	int n, cancelled;
	MPI_Get_count(s, type, &n);
	MPI_Test_cancelled(s, &cancelled);
	say("%s: source %d tag %d count %d cancelled %d\n", what, s->MPI_SOURCE, s->MPI_TAG, n, cancelled);
}

static unsigned long sum(const void *p, size_t n)
{
	unsigned long h = 1469598103934665603ul;
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)p)[i]) * 1099511628211ul;
	return h;
}

static void begin(int *argc, char ***argv)
{
	int provided;
	MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void end(void)
{
	int n = saidlen + 1;
	if (rank) {
		PMPI_Ssend(&n, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
		PMPI_Ssend(said, n, MPI_CHAR, 0, 77, MPI_COMM_WORLD);
	} else {
		printf("rank 0\n%s", said);
		for (int i = 1; i < size; i++) {
			PMPI_Recv(&n, 1, MPI_INT, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			PMPI_Recv(said, n, MPI_CHAR, i, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			printf("rank %d\n%s", i, said);
		}
	}
	MPI_Finalize();
}
