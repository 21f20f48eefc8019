/* Predefined operators on predefined types, user operators that commute or not, on
   derived types too. Sums are of small integers, so that they are exact. */
#include "check.h"

#include <complex.h>
#include <stdint.h>

static char out[4096], in[4096];

#define TRY(ctype, type, op)                                                     \
	do {                                                                     \
		ctype *o = (ctype *)out;                                         \
		memset(in, 0, sizeof in);                                        \
		memset(out, 0, sizeof out);                                      \
		for (int i = 0; i < 20; i++)                                     \
			o[i] = (ctype)((i * 3 + rank * 5) % 7);                  \
		MPI_Allreduce(out, in, 20, type, op, MPI_COMM_WORLD);            \
		say("%s %s %s:", #ctype, #type, #op);                            \
		for (int i = 0; i < 20; i++)                                     \
			say(" %g", (double)creal((double complex)((ctype *)in)[i])); \
		say("\n");                                                       \
	} while (0)

#define ARITHMETIC(ctype, type)                  \
	TRY(ctype, type, MPI_SUM);               \
	TRY(ctype, type, MPI_PROD);              \
	TRY(ctype, type, MPI_MAX);               \
	TRY(ctype, type, MPI_MIN)
#define BITS(ctype, type)                        \
	ARITHMETIC(ctype, type);                 \
	TRY(ctype, type, MPI_BAND);              \
	TRY(ctype, type, MPI_BOR);               \
	TRY(ctype, type, MPI_BXOR)
#define INTEGERS(ctype, type)                    \
	BITS(ctype, type);                       \
	TRY(ctype, type, MPI_LAND);              \
	TRY(ctype, type, MPI_LOR);               \
	TRY(ctype, type, MPI_LXOR)

#define PAIRS(vtype, type)                                                                   \
	do {                                                                                 \
		struct { vtype v; int i; } a[3], b[3], c[3];                                 \
		memset(a, 0, sizeof a);                                                      \
		for (int i = 0; i < 3; i++)                                                  \
			a[i].v = (vtype)((rank * 3 + i) % 4), a[i].i = rank * 10 + i;        \
		MPI_Allreduce(a, b, 3, type, MPI_MINLOC, MPI_COMM_WORLD);                    \
		MPI_Reduce(a, c, 3, type, MPI_MAXLOC, size - 1, MPI_COMM_WORLD);             \
		for (int i = 0; i < 3; i++) {                                                \
			say("%s: %g %d", #type, (double)b[i].v, b[i].i);                     \
			if (rank == size - 1)                                                \
				say(", %g %d", (double)c[i].v, c[i].i);                      \
			say("\n");                                                           \
		}                                                                            \
	} while (0)

/* Affine functions under composition: they do not commute. */
static void compose(void *a, void *b, int *n, MPI_Datatype *t)
{
	long *x = a, *y = b;
	int bytes;
	MPI_Type_size(*t, &bytes);
	if (bytes != 16)
		abort();
	for (int i = 0; i < *n; i++) {
		long m = x[2 * i] * y[2 * i] % 10007, k = (x[2 * i + 1] * y[2 * i] + y[2 * i + 1]) % 10007;
		y[2 * i] = m, y[2 * i + 1] = k;
	}
}

static void add(void *a, void *b, int *n, MPI_Datatype *t)
{
	(void)t;
	for (int i = 0; i < *n; i++)
		((double *)b)[i] += ((double *)a)[i];
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
#ifdef MPICH_VERSION /* which reduces plain char, as one with a sign on every architecture */
	for (int i = 0; i < 20; i++)
		out[i] = (char)(100 * i + 37 * rank);
	MPI_Allreduce(out, in, 20, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
	for (int i = 0; i < 20; i++)
		say(" %d", in[i]);
	say("\n");
#endif
	INTEGERS(signed char, MPI_SIGNED_CHAR);
	INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
	INTEGERS(short, MPI_SHORT);
	INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
	INTEGERS(int, MPI_INT);
	INTEGERS(unsigned, MPI_UNSIGNED);
	INTEGERS(long, MPI_LONG);
	INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
	INTEGERS(int8_t, MPI_INT8_T);
	INTEGERS(uint64_t, MPI_UINT64_T);
	BITS(int, MPI_INTEGER);
	BITS(MPI_Aint, MPI_AINT);
	ARITHMETIC(float, MPI_FLOAT);
	ARITHMETIC(double, MPI_DOUBLE);
	ARITHMETIC(long double, MPI_LONG_DOUBLE);
	TRY(float complex, MPI_C_FLOAT_COMPLEX, MPI_SUM);
	TRY(double complex, MPI_C_DOUBLE_COMPLEX, MPI_PROD);
	TRY(_Bool, MPI_C_BOOL, MPI_LAND);
	TRY(_Bool, MPI_C_BOOL, MPI_LXOR);
	TRY(int, MPI_LOGICAL, MPI_LOR);
	TRY(unsigned char, MPI_BYTE, MPI_BXOR);
#ifdef OPEN_MPI
	INTEGERS(unsigned char, MPI_BYTE);
#elif !defined NO_LOGIC_OF_INTEGERS
	TRY(int, MPI_INTEGER, MPI_LAND);
#endif
	PAIRS(float, MPI_FLOAT_INT);
	PAIRS(double, MPI_DOUBLE_INT);
	PAIRS(long, MPI_LONG_INT);
	PAIRS(short, MPI_SHORT_INT);
	PAIRS(int, MPI_2INT);
	PAIRS(long double, MPI_LONG_DOUBLE_INT);

	MPI_Op op;
	MPI_Datatype pair;
	MPI_Request r;
	MPI_Type_contiguous(2, MPI_LONG, &pair);
	MPI_Type_commit(&pair);
	for (int round = 0; round < 2; round++) {
		MPI_Op_create(compose, 0, &op);
		long f[20], g[20];
		for (int i = 0; i < 20; i++)
			f[i] = rank * 7 + i + 2, g[i] = 0;
		MPI_Allreduce(f, g, 10, pair, op, MPI_COMM_WORLD);
		say("compose %lx\n", sum(g, sizeof g));
		MPI_Scan(f, g, 10, pair, op, MPI_COMM_WORLD);
		say("scan %lx\n", sum(g, sizeof g));
		memset(g, 0, sizeof g);
		MPI_Reduce(f, g, 10, pair, op, size - 1, MPI_COMM_WORLD);
		say("reduce %lx\n", sum(g, sizeof g));
		MPI_Iallreduce(f, g, 10, pair, op, MPI_COMM_WORLD, &r);
		MPI_Op_free(&op);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		say("later %lx\n", sum(g, sizeof g));
		MPI_Op_create(add, 1, &op);
		double x[1000], y[1000];
		for (int i = 0; i < 1000; i++)
			x[i] = rank + i;
		MPI_Allreduce(x, y, 1000, MPI_DOUBLE, op, MPI_COMM_WORLD);
		say("add %lx\n", sum(y, sizeof y));
		MPI_Op_free(&op);
	}
	MPI_Type_free(&pair);
	end();
}
