/* The communication of well-known benchmarks, each with checks of its own: windows of
   messages between all pairs, collectives that are tested for until they are complete,
   wavefronts, halos, sorted keys, transposed matrices, conjugate gradients. Rank 0 prints
   a line for each. "kernels short" does less, for many ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			printf("%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #what); \
			fflush(stdout);                                        \
			MPI_Abort(MPI_COMM_WORLD, 1);                          \
		}                                                              \
	} while (0)

static int rank, size, brief;

static void fill(char *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		p[i] = (char)(seed + i * 7);
}

static void is_filled(const char *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		CHECK(p[i] == (char)(seed + i * 7));
}

static void finished(const char *what)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%s\n", what), fflush(stdout);
}

/* Half of the ranks send, each to one of the other half. */
static void pairs(void)
{
	enum { window = 64 };
	int half = size / 2, sender = rank < half, peer = sender ? rank + half : rank - half;
	int most = brief ? 4096 : 1 << 20;
	if (rank < 2 * half)
		for (int n = 1; n <= most; n *= 4) {
			char *out = malloc(n), *in = calloc((size_t)n, window);
			MPI_Request q[2 * window];
			for (int k = 0; k < 10; k++) { /* to and fro */
				if (sender) {
					fill(out, n, k + peer);
					MPI_Send(out, n, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
					MPI_Recv(in, n, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				} else {
					MPI_Recv(in, n, MPI_CHAR, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
					is_filled(in, n, k + rank);
					MPI_Send(in, n, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
				}
				if (sender)
					is_filled(in, n, k + peer);
			}
			for (int k = 0; k < 3; k++) { /* one way, then an answer */
				fill(out, n, k);
				for (int i = 0; i < window; i++)
					if (sender)
						MPI_Isend(out, n, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &q[i]);
					else
						MPI_Irecv(in + (size_t)i * n, n, MPI_CHAR, peer, 100, MPI_COMM_WORLD, &q[i]);
				MPI_Waitall(window, q, MPI_STATUSES_IGNORE);
				if (sender) {
					MPI_Recv(in, 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				} else {
					for (int i = 0; i < window; i++)
						is_filled(in + (size_t)i * n, n, k);
					MPI_Send("yes", 4, MPI_CHAR, peer, 101, MPI_COMM_WORLD);
				}
			}
			fill(out, n, peer); /* both ways at once */
			memset(in, 0, (size_t)n * window);
			for (int i = 0; i < window; i++)
				MPI_Irecv(in + (size_t)i * n, n, MPI_CHAR, peer, i % 3, MPI_COMM_WORLD, &q[i]);
			for (int i = 0; i < window; i++)
				MPI_Isend(out, n, MPI_CHAR, peer, i % 3, MPI_COMM_WORLD, &q[window + i]);
			MPI_Waitall(2 * window, q, MPI_STATUSES_IGNORE);
			for (int i = 0; i < window; i++)
				is_filled(in + (size_t)i * n, n, rank);
			free(out), free(in);
		}
	finished("pairs");
}

/* Everybody with everybody: distance after distance, a window each way. */
static void graph(void)
{
	enum { window = 16 };
	int n = brief ? 1000 : 40000;
	char *out = malloc(n), *in = malloc((size_t)n * window);
	fill(out, n, rank);
	for (int d = 1; d < size; d++) {
		int to = (rank + d) % size, from = (rank - d + size) % size;
		for (int k = 0; k < 2; k++) {
			MPI_Request q[2 * window];
			MPI_Status s[2 * window];
			MPI_Barrier(MPI_COMM_WORLD);
			for (int i = 0; i < window; i++) {
				MPI_Irecv(in + (size_t)i * n, n, MPI_CHAR, from, 0, MPI_COMM_WORLD, &q[2 * i]);
				MPI_Isend(out, n, MPI_CHAR, to, 0, MPI_COMM_WORLD, &q[2 * i + 1]);
			}
			MPI_Waitall(2 * window, q, s);
			for (int i = 0; i < window; i++) {
				int got;
				MPI_Get_count(&s[2 * i], MPI_CHAR, &got);
				CHECK(got == n && s[2 * i].MPI_SOURCE == from);
				is_filled(in + (size_t)i * n, n, from);
			}
		}
	}
	free(out), free(in);
	finished("graph");
}

static void turn(MPI_Request *q)
{
	double x = 1;
	for (int flag = 0; !flag;) { /* computes a little, and asks */
		for (int i = 0; i < 1000; i++)
			x = x * 1.0000001 + 1e-9;
		MPI_Test(q, &flag, MPI_STATUS_IGNORE);
	}
	CHECK(x > 0 && *q == MPI_REQUEST_NULL);
}

static void collectives(void)
{
	int most = brief ? 64 : 20000;
	for (int n = 1; n <= most; n = n * 5 + 1) {
		int *a = malloc(sizeof(int) * n * size), *b = malloc(sizeof(int) * n * size);
		int *counts = malloc(sizeof(int) * size), *displs = malloc(sizeof(int) * size);
		MPI_Request q;
		for (int i = 0; i < size; i++)
			counts[i] = n, displs[i] = i * n;
		for (int form = 0; form < 2; form++)
			for (int k = 0; k < 3; k++) {
				int root = (k + n) % size, sum = size * (size - 1) / 2;
#define BOTH(blocking, begin) do { if (form) { begin; turn(&q); } else { blocking; } } while (0)
#define A(e) for (int i = 0; i < n * size; i++) a[i] = (e), b[i] = -1
				BOTH(MPI_Barrier(MPI_COMM_WORLD), MPI_Ibarrier(MPI_COMM_WORLD, &q));
				A(rank == root ? i : -1);
				BOTH(MPI_Bcast(a, n, MPI_INT, root, MPI_COMM_WORLD),
					MPI_Ibcast(a, n, MPI_INT, root, MPI_COMM_WORLD, &q));
				CHECK(a[n - 1] == n - 1);
				A(rank + i);
				BOTH(MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
					MPI_Iallreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q));
				for (int i = 0; i < n; i++)
					CHECK(b[i] == sum + i * size);
				A(rank + i);
				BOTH(MPI_Reduce(a, b, n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD),
					MPI_Ireduce(a, b, n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD, &q));
				CHECK(rank != root || b[n - 1] == size - 1 + n - 1);
				A(rank * size + i / n);
				BOTH(MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD),
					MPI_Ialltoall(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD, &q));
				for (int i = 0; i < n * size; i++)
					CHECK(b[i] == i / n * size + rank);
				A(rank * size + i / n);
				BOTH(MPI_Alltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD),
					MPI_Ialltoallv(a, counts, displs, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD, &q));
				for (int i = 0; i < n * size; i++)
					CHECK(b[i] == i / n * size + rank);
				A(rank);
				BOTH(MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD),
					MPI_Iallgather(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD, &q));
				for (int i = 0; i < n * size; i++)
					CHECK(b[i] == i / n);
				A(rank);
				BOTH(MPI_Allgatherv(a, n, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD),
					MPI_Iallgatherv(a, n, MPI_INT, b, counts, displs, MPI_INT, MPI_COMM_WORLD, &q));
				CHECK(b[n * size - 1] == size - 1);
				A(rank);
				BOTH(MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD),
					MPI_Igather(a, n, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD, &q));
				for (int i = 0; i < n * size; i++)
					CHECK(b[i] == (rank == root ? i / n : -1));
				A(i / n);
				BOTH(MPI_Scatter(a, n, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD),
					MPI_Iscatter(a, n, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD, &q));
				CHECK(b[0] == rank && b[n - 1] == rank);
				A(i / n);
				BOTH(MPI_Scatterv(a, counts, displs, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD),
					MPI_Iscatterv(a, counts, displs, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD, &q));
				CHECK(b[n - 1] == rank);
				A(rank + i / n);
				BOTH(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
					MPI_Ireduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q));
				CHECK(b[n - 1] == sum + rank * size);
			}
		free(a), free(b), free(counts), free(displs);
	}
	finished("collectives");
}

/* A grid as square as can be. */
static void grid(int *p, int *q, int *row, int *column)
{
	int d[2] = {0, 0};
	MPI_Dims_create(size, 2, d);
	*p = d[0], *q = d[1], *row = rank / d[1], *column = rank % d[1];
}

/* Planes of a cube, each of which goes from the north and west to the south and east
   and back. */
static void wavefront(void)
{
	int p, q, row, column, planes = brief ? 5 : 200, n = 60;
	double north[60], west[60];
	grid(&p, &q, &row, &column);
	for (int pass = 0; pass < 2; pass++) {
		int dr = pass ? 1 : -1, dc = dr;
		int up = row + dr >= 0 && row + dr < p ? rank + dr * q : MPI_PROC_NULL;
		int before = column + dc >= 0 && column + dc < q ? rank + dc : MPI_PROC_NULL;
		int down = row - dr >= 0 && row - dr < p ? rank - dr * q : MPI_PROC_NULL;
		int after = column - dc >= 0 && column - dc < q ? rank - dc : MPI_PROC_NULL;
		int r = pass ? p - 1 - row : row, c = pass ? q - 1 - column : column;
		for (int k = 0; k < planes; k++) {
			memset(north, 0, sizeof north), memset(west, 0, sizeof west);
			if (up != MPI_PROC_NULL)
				MPI_Recv(north, n, MPI_DOUBLE, MPI_ANY_SOURCE, 10 + pass, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (before != MPI_PROC_NULL)
				MPI_Recv(west, n, MPI_DOUBLE, before, 20 + pass, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			/* The number of ways through the grid. */
			double ways = r == 0 && c == 0 ? 1 : north[0] + west[0];
			double want = 1;
			for (int i = 1; i <= r; i++)
				want = want * (c + i) / i;
			CHECK(ways == want && (up == MPI_PROC_NULL || north[n - 1] == k));
			for (int i = 0; i < n; i++)
				north[i] = west[i] = i == 0 ? ways : k;
			MPI_Send(north, n, MPI_DOUBLE, down, 10 + pass, MPI_COMM_WORLD);
			MPI_Send(west, n, MPI_DOUBLE, after, 20 + pass, MPI_COMM_WORLD);
		}
	}
	finished("wavefront");
}

/* Keys in buckets, sorted. */
static void sorting(void)
{
	int n = brief ? 200 : 20000, keys = 1 << 16;
	int *mine = malloc(sizeof(int) * n), *out = malloc(sizeof(int) * n);
	int *sent = calloc(size, sizeof(int)), *got = calloc(size, sizeof(int));
	int *from = calloc(size + 1, sizeof(int)), *to = calloc(size + 1, sizeof(int)), *at = calloc(size, sizeof(int));
	for (int k = 0; k < 5; k++) {
		unsigned x = 12345 + 1000 * rank + k;
		long sum = 0, all = 0, sorted = 0, total = 0;
		memset(sent, 0, sizeof(int) * size);
		for (int i = 0; i < n; i++) {
			x = x * 1664525 + 1013904223;
			mine[i] = (int)(x >> 16) % keys;
			sent[(long)mine[i] * size / keys]++;
			sum += mine[i];
		}
		for (int i = 0; i < size; i++)
			to[i + 1] = to[i] + sent[i], at[i] = to[i];
		for (int i = 0; i < n; i++)
			out[at[(long)mine[i] * size / keys]++] = mine[i];
		MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < size; i++)
			from[i + 1] = from[i] + got[i];
		int *in = malloc(sizeof(int) * (from[size] + 1));
		MPI_Alltoallv(out, sent, to, MPI_INT, in, got, from, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < from[size]; i++) {
			CHECK((long)in[i] * size / keys == rank);
			sorted += in[i];
		}
		MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		MPI_Reduce(&sorted, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
		CHECK(rank || all == total);
		long first = from[size], scan;
		MPI_Scan(&first, &scan, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
		CHECK(rank < size - 1 || scan == (long)n * size);
		free(in);
	}
	free(mine), free(out), free(sent), free(got), free(from), free(to), free(at);
	finished("sorting");
}

/* A matrix of complex numbers, turned by Alltoall of a derived type. */
static void transpose(void)
{
	int n = 4, m = n * size;
	double *a = malloc(sizeof(double) * 2 * n * m), *b = malloc(sizeof(double) * 2 * n * m);
	MPI_Datatype block, column, slim;
	MPI_Type_vector(n, 2, 2 * m, MPI_DOUBLE, &column);
	MPI_Type_create_resized(column, 0, 2 * sizeof(double), &slim);
	MPI_Type_contiguous(n, slim, &block);
	MPI_Type_commit(&block);
	for (int k = 0; k < 10; k++) {
		for (int i = 0; i < n; i++)
			for (int j = 0; j < m; j++)
				a[2 * (i * m + j)] = rank * n + i, a[2 * (i * m + j) + 1] = j + k;
		/* b is m x n: block by block, each turned by the type */
		MPI_Alltoall(a, 1, block, b, 2 * n * n, MPI_DOUBLE, MPI_COMM_WORLD);
		for (int r = 0; r < size; r++)
			for (int j = 0; j < n; j++)
				for (int i = 0; i < n; i++) {
					double *z = b + 2 * (r * n * n + j * n + i);
					CHECK(z[0] == r * n + i && z[1] == rank * n + j + k);
				}
	}
	MPI_Type_free(&block), MPI_Type_free(&slim), MPI_Type_free(&column);
	free(a), free(b);
	finished("transpose");
}

/* Conjugate gradients for a row of unknowns: halos and dot products. */
static double dot(const double *a, const double *b, int n)
{
	double s = 0, all;
	for (int i = 1; i <= n; i++)
		s += a[i] * b[i];
	MPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all;
}

static void gradients(void)
{
	int n = 50, left = rank ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
	double x[52] = {0}, r[52], p[52], ap[52], rr, start;
	for (int i = 1; i <= n; i++)
		r[i] = p[i] = 1;
	start = rr = dot(r, r, n);
	int steps = 0;
	for (; steps < 2 * n * size && rr > 1e-20 * start; steps++) {
		MPI_Request q[2];
		p[0] = p[n + 1] = 0;
		MPI_Irecv(&p[0], 1, MPI_DOUBLE, left, 99, MPI_COMM_WORLD, &q[0]);
		MPI_Irecv(&p[n + 1], 1, MPI_DOUBLE, right, 99, MPI_COMM_WORLD, &q[1]);
		MPI_Send(&p[1], 1, MPI_DOUBLE, left, 99, MPI_COMM_WORLD);
		MPI_Send(&p[n], 1, MPI_DOUBLE, right, 99, MPI_COMM_WORLD);
		for (int i = 0; i < 2; i++)
			MPI_Wait(&q[i], MPI_STATUS_IGNORE);
		for (int i = 1; i <= n; i++)
			ap[i] = 3 * p[i] - p[i - 1] - p[i + 1];
		double alpha = rr / dot(p, ap, n), old = rr;
		for (int i = 1; i <= n; i++)
			x[i] += alpha * p[i], r[i] -= alpha * ap[i];
		rr = dot(r, r, n);
		for (int i = 1; i <= n; i++)
			p[i] = r[i] + rr / old * p[i];
	}
	double middle = x[n / 2];
	CHECK(rr <= 1e-20 * start && middle > 0.9 && middle < 1.0001);
	finished("gradients");
}

/* Halos of ever coarser grids, in all directions, from whoever comes first. */
static void multigrid(void)
{
	int dims[3] = {0, 0, 0}, wrap[3] = {1, 1, 1};
	MPI_Comm cube;
	MPI_Dims_create(size, 3, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 3, dims, wrap, 0, &cube);
	for (int k = 0; k < (brief ? 1 : 10); k++)
		for (int n = brief ? 8 : 64; n >= 2; n /= 2)
			for (int axis = 0; axis < 3; axis++) {
				int count = n * n, low, high;
				double *out = malloc(sizeof(double) * 2 * count), *in = malloc(sizeof(double) * 2 * count);
				MPI_Request q[2];
				MPI_Cart_shift(cube, axis, 1, &low, &high);
				MPI_Irecv(in, count, MPI_DOUBLE, MPI_ANY_SOURCE, 2 * axis, cube, &q[0]);
				MPI_Irecv(in + count, count, MPI_DOUBLE, MPI_ANY_SOURCE, 2 * axis + 1, cube, &q[1]);
				for (int i = 0; i < 2 * count; i++)
					out[i] = 1000 * rank + i + k;
				MPI_Send(out, count, MPI_DOUBLE, high, 2 * axis, cube);
				MPI_Send(out + count, count, MPI_DOUBLE, low, 2 * axis + 1, cube);
				MPI_Wait(&q[0], MPI_STATUS_IGNORE);
				MPI_Wait(&q[1], MPI_STATUS_IGNORE);
				for (int i = 0; i < 2 * count; i++)
					CHECK(in[i] == 1000 * (i < count ? low : high) + i + k);
				free(out), free(in);
				MPI_Barrier(cube); /* else the next level's might match */
			}
	MPI_Comm_free(&cube);
	finished("multigrid");
}

/* Workers ask a master for tasks. */
static void farm(void)
{
	int tasks = brief ? 100 : 2000, handed = 0, sum = 0, done = 0;
	if (rank == 0 && size > 1) {
		for (int working = size - 1; working;) {
			int result;
			MPI_Status s;
			MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			MPI_Recv(&result, 1, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (s.MPI_TAG == 1)
				sum += result, done++;
			int next = handed < tasks ? handed++ : -1;
			if (next < 0)
				working--;
			MPI_Send(&next, 1, MPI_INT, s.MPI_SOURCE, 2, MPI_COMM_WORLD);
		}
		CHECK(done == tasks && sum == tasks * (tasks - 1));
	} else if (rank) {
		int task = 0, tag = 0;
		for (;;) {
			MPI_Send(&task, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
			MPI_Recv(&task, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			if (task < 0)
				break;
			task *= 2;
			tag = 1;
		}
	}
	finished("farm");
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	brief = argc > 1 && !strcmp(argv[1], "short");
	pairs();
	graph();
	collectives();
	wavefront();
	sorting();
	transpose();
	gradients();
	multigrid();
	farm();
	MPI_Finalize();
	return 0;
}
