#define _GNU_SOURCE
#include "osu.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct options options = {.from = -1, .to = -1, .factor = 2, .iterations = -1, .warmup = -1, .unit = 18};
int rank, ranks;

static bool mpi_runs;

static const struct benchmark pair_benchmarks[] = {
	{"latency", "ping-pong", 2, 2, 1, 1 << 22, run_latency, true},
	{"bw", "windows of messages, one way", 2, 2, 1, 1 << 22, run_stream, true},
	{0},
};

static const struct benchmark other_benchmarks[] = {
	{"calls", "other ways to pass a message, and to wait for it", 2, 2, 8, 1 << 20, run_calls, true},
	{"overlap", "1 MiB under a computation, the peer in MPI", 2, 2, 1 << 20, 1 << 20, run_overlap, true},
	{"progress", "a message between computations (Small and Yuan)", 2, 2, 30000, 480000, run_progress, true},
	{"communicators", "making a communicator of all ranks, and freeing it", 1, 0, 0, 0, run_communicators, true},
	{"idle", "processor time of ranks that are blocked for 2 s", 2, 0, 0, 0, run_idle, true},
	{"initfini", "MPI_Init and MPI_Finalize", 1, 0, 0, 0, run_initfini, false},
	{0},
};

static const struct benchmark *const suites[] = {pair_benchmarks, coll_benchmarks, other_benchmarks};

static void usage(FILE *to)
{
	fprintf(to, "usage: mpirun -np N osu BENCHMARK[,BENCHMARK...] [options]\n"
		    "  -m [FROM:]TO   sizes in bytes, powers of two\n"
		    "  -s FACTOR      from one size to the next (2)\n"
		    "  -i N, -x N     timed iterations, and those before them\n"
		    "  -t MS          so long for a size, about, if the iterations would take longer\n"
		    "  -u US          microseconds of a unit of progress (18)\n"
		    "  -c             check the data\n"
		    "  -M             the median of the iterations, not the mean: for machines that do other things\n"
		    "  -a             this process lets nobody use cross-memory attach, and does not use it\n"
		    "benchmarks:\n");
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
		for (const struct benchmark *b = suites[i]; b->name; b++)
			fprintf(to, "  %-22s %s\n", b->name, b->about);
}

void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	fprintf(stderr, "osu: rank %d: ", rank);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	if (mpi_runs)
		MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

static void misused(const char *why, const char *what)
{
	fprintf(stderr, "osu: %s: %s\n", why, what);
	usage(stderr);
	exit(2);
}

static long number_of(const char *text, long least)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < least)
		misused("no usable number", text);
	return n;
}

static const struct benchmark *find(const char *name)
{
	for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
		for (const struct benchmark *b = suites[i]; b->name; b++)
			if (!strcmp(b->name, name))
				return b;
	misused("there is no such benchmark", name);
	return NULL;
}

static void parse(int argc, char **argv)
{
	for (int c; (c = getopt(argc, argv, "m:s:i:x:t:u:cMah")) != -1;) {
		char *colon = c == 'm' ? strchr(optarg, ':') : NULL;

		switch (c) {
		case 'm':
			if (colon) {
				*colon = 0;
				options.from = number_of(optarg, 0);
			}
			options.to = number_of(colon ? colon + 1 : optarg, 0);
			break;
		case 's':
			options.factor = number_of(optarg, 2);
			break;
		case 'i':
			options.iterations = number_of(optarg, 1);
			break;
		case 'x':
			options.warmup = number_of(optarg, 0);
			break;
		case 't':
			options.milliseconds = number_of(optarg, 1);
			break;
		case 'u':
			options.unit = number_of(optarg, 0);
			break;
		case 'c':
			options.check = true;
			break;
		case 'M':
			options.middle = true;
			break;
		case 'a':
			options.refuse = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc)
		misused("what is this", argv[optind]);
}

/* refuse_attach makes the kernel refuse cross-memory attach, as it does in many containers. */
static void refuse_attach(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("cannot refuse cross-memory attach: %s", strerror(errno));
}

/* Whether a benchmark takes this many ranks. */
static bool suits(const struct benchmark *b)
{
	return ranks >= b->least && (!b->most || ranks <= b->most);
}

int main(int argc, char **argv)
{
	const struct benchmark *list[64];
	size_t n = 0;
	int code = 0;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(argc < 2 ? stderr : stdout);
		return argc < 2 ? 2 : 0;
	}
	for (char *name = strtok(argv[1], ","); name && n < sizeof list / sizeof *list; name = strtok(NULL, ","))
		list[n++] = find(name);
	parse(argc - 1, argv + 1);
	if (options.refuse)
		refuse_attach();
	if (n == 1 && !list[0]->starts_mpi) {
		list[0]->run(list[0]);
		return 0;
	}
	MPI_Init(&argc, &argv);
	mpi_runs = true;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (size_t i = 0; i < n; i++) {
		if (!list[i]->starts_mpi || !suits(list[i])) {
			if (rank == 0)
				fprintf(stderr, "osu: %s %s\n", list[i]->name,
					suits(list[i]) ? "must be alone" : "does not work with so many ranks");
			code = 2;
			continue;
		}
		if (i > 0 && rank == 0)
			printf("\n");
		list[i]->run(list[i]);
	}
	mpi_runs = false;
	MPI_Finalize();
	return code;
}

struct counts counts_for(long size, struct counts small, struct counts large)
{
	struct counts n = size > 8192 ? large : small;

	if (options.iterations >= 0)
		n.iterations = options.iterations;
	if (options.warmup >= 0)
		n.warmup = options.warmup;
	return n;
}

struct counts limited(struct counts n, double seconds)
{
	double longest, fit;

	if (options.milliseconds == 0)
		return n;
	MPI_Allreduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	fit = options.milliseconds * 1e-3 / (longest > 1e-9 ? longest : 1e-9);
	if (fit < n.iterations + n.warmup) {
		n.warmup = n.warmup < fit / 10 ? n.warmup : (int)(fit / 10);
		n.iterations = n.iterations < fit - n.warmup ? n.iterations : (int)(fit - n.warmup);
		if (n.iterations < 3)
			n.iterations = 3;
	}
	return n;
}

long first_size(const struct benchmark *b)
{
	if (options.from >= 0)
		return options.from;
	return b->from < last_size(b) ? b->from : last_size(b);
}

long last_size(const struct benchmark *b)
{
	return options.to >= 0 ? options.to : b->to;
}

long next_size(long size)
{
	return size ? size * options.factor : 1;
}

void print_title(const struct benchmark *b, const char *about, const char *size, int columns, const char *const *names)
{
	if (rank != 0)
		return;
	printf("# exanet's %s%s%s, %d ranks\n# %-8s", b->name, about ? ", " : "", about ? about : "", ranks, size);
	for (int i = 0; i < columns; i++)
		printf("%18s", names[i]);
	printf("\n");
	fflush(stdout);
}

void print_row(long size, int values, const double *value)
{
	if (rank != 0)
		return;
	if (size < 0)
		printf("%10s", "");
	else
		printf("%-10ld", size);
	for (int i = 0; i < values; i++)
		printf("%18.3f", value[i]);
	printf("\n");
	fflush(stdout);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double median(double *v, int n)
{
	qsort(v, n, sizeof *v, order);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

double mean_or_median(double *v, int n)
{
	double sum = 0;

	if (n == 0)
		return 0;
	if (options.middle)
		return median(v, n);
	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum / n;
}
