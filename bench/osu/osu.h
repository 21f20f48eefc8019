/*
 * Benchmarks of an MPI in C, in the output format of the OSU micro-benchmarks and with
 * their options, so that the same program can be run under MPICH, under Open MPI, and
 * under either with the library of this project preloaded:
 *
 *	mpirun -np 2 osu-mpich latency -m 1:4194304
 *	mpirun -np 4 osu-mpich barrier,allreduce,alltoall -m 65536
 *
 *	osu.c         options, sizes, iterations, output
 *	data.c        what is sent, and whether it has arrived (-c)
 *	latency.c     latency
 *	stream.c      bw
 *	coll.c        the collectives
 *	calls.c       other ways to pass a message, and to wait for it
 *	overlap.c     transfers under a computation
 *	progress.c    transfers between computations, as Small and Yuan have them
 *	compute.c     what a computation is
 *	communicators.c  Comm_dup, Comm_split, ..., and Comm_free
 *	idle.c        the processor time of a rank that is blocked
 *	initfini.c    MPI_Init and MPI_Finalize
 */
#ifndef EXANET_OSU_H
#define EXANET_OSU_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Options of the command line. */
struct options {
	long from, to, factor;	/* -m, -s: sizes; below 0 as the benchmark has it */
	int iterations, warmup; /* -i, -x: below 0 as the benchmark has it */
	int milliseconds;	/* -t: for a size, about; 0: as long as it takes */
	int unit;		/* -u: microseconds of a unit of progress */
	bool check;		/* -c */
	bool middle;		/* -M */
	bool refuse;		/* -a */
};

extern struct options options;
extern int rank, ranks;

/* A benchmark. Those with starts_mpi false call MPI_Init and MPI_Finalize themselves. */
struct benchmark {
	const char *name, *about;
	int least, most; /* ranks; most 0: any number */
	long from, to;	/* sizes; to 0: it has none */
	void (*run)(const struct benchmark *b);
	bool starts_mpi;
};

extern const struct benchmark coll_benchmarks[];

void run_latency(const struct benchmark *b);
void run_stream(const struct benchmark *b);
void run_calls(const struct benchmark *b);
void run_overlap(const struct benchmark *b);
void run_progress(const struct benchmark *b);
void run_communicators(const struct benchmark *b);
void run_idle(const struct benchmark *b);
void run_initfini(const struct benchmark *b);

/* Iterations of a size, timed and before them. Above 8 KiB there are fewer. */
struct counts {
	int iterations, warmup;
};

struct counts counts_for(long size, struct counts small, struct counts large);

/* Counts so that all ranks of the world together take the time of -t, of which one
 * iteration takes `seconds` on this rank; collective. */
struct counts limited(struct counts n, double seconds);

/* The sizes of a benchmark: for (long size = first_size(b); size <= last_size(b); size = next_size(size)). */
long first_size(const struct benchmark *b);
long last_size(const struct benchmark *b);
long next_size(long size);

/* Rank 0 prints comments and rows; the others print nothing. The first column is what `size`
 * names; rows have none if that is "". */
void print_title(const struct benchmark *b, const char *about, const char *size, int columns, const char *const *names);
void print_row(long size, int values, const double *value);

/* die says why on the standard error and ends the job. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

double median(double *v, int n); /* sorts */

/* compute makes so many steps, touches no memory, and returns the seconds that it took. */
double compute(long steps);

/* steps_for returns how many steps take so long, when nothing interrupts them. */
long steps_for(double seconds);

/* mean_or_median is what stands for the times of iterations: their mean, as in OSU, or with -M
 * their median. */
double mean_or_median(double *v, int n);

/* Memory for messages: aligned to a page, every byte touched. */
void *buffer(size_t size);

/* What `who` sends in round `round`, and whether that is what has arrived: a wrong byte
 * ends the job. */
void fill(void *to, size_t size, int who, int round);
void expect(const void *at, size_t size, int who, int round, const char *what);

#define CHECKED_ROUNDS 4 /* exchanges with -c before each size */

#endif
