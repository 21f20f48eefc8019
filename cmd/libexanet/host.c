//go:build mpich || openmpi || abi

#include "host.h"

#include <pthread.h>
#include <string.h>

/* What some versions of the host do not have, whatever its header says that this is built
   with: there they are null. */
#pragma weak PMPI_Type_get_envelope_c
#pragma weak PMPI_Type_get_contents_c
int PMPI_Type_get_envelope_c(MPI_Datatype, MPI_Count *, MPI_Count *, MPI_Count *, MPI_Count *, int *);
int PMPI_Type_get_contents_c(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int *, MPI_Aint *, MPI_Count *,
	MPI_Datatype *);

const MPI_Comm exanet_world = MPI_COMM_WORLD, exanet_self = MPI_COMM_SELF, exanet_no_comm = MPI_COMM_NULL;
const MPI_Request exanet_no_request = MPI_REQUEST_NULL;
const MPI_Message exanet_no_message = MPI_MESSAGE_NULL, exanet_message_no_proc = MPI_MESSAGE_NO_PROC;
const MPI_Op exanet_min = MPI_MIN, exanet_no_op = MPI_OP_NULL;
const MPI_Datatype exanet_byte = MPI_BYTE, exanet_int = MPI_INT, exanet_no_type = MPI_DATATYPE_NULL;
#ifdef EXANET_ABI /* which does not have them */
const MPI_Datatype exanet_lb = MPI_DATATYPE_NULL, exanet_ub = MPI_DATATYPE_NULL;
#elif defined OPEN_MPI /* whose header may leave them out */
extern struct ompi_predefined_datatype_t ompi_mpi_lb, ompi_mpi_ub;
const MPI_Datatype exanet_lb = (MPI_Datatype)&ompi_mpi_lb, exanet_ub = (MPI_Datatype)&ompi_mpi_ub;
#else
const MPI_Datatype exanet_lb = MPI_LB, exanet_ub = MPI_UB;
#endif

/* For which operators there are predefined types, as the standard groups them. The hosts go
   beyond it: MPICH by logical operators on Fortran's integers, Open MPI by arithmetic
   on bytes. Under the standard ABI these calls are left to the host. */
enum { SUMS = 1, ORDER = 2, LOGIC = 4, BITS = 8, LOCATION = 16 };
enum {
	NONE = 0,
	C_INTEGER = SUMS | ORDER | LOGIC | BITS,
	REAL = SUMS | ORDER,
	COMPLEX = SUMS,
	LOGICAL = LOGIC,
	PAIR = LOCATION,
#ifdef EXANET_ADDRESSES
	INTEGER = SUMS | ORDER | BITS,
#else
	INTEGER = C_INTEGER,
#endif
#ifdef OPEN_MPI
	BYTE = C_INTEGER,
	COMPUTES_BYTES = 1,
#else
	BYTE = BITS,
	COMPUTES_BYTES = 0,
#endif
};

static const struct exanet_type types[] = {
	{"Int8", MPI_CHAR, 0, C_INTEGER}, {"Int8", MPI_SIGNED_CHAR, 0, C_INTEGER},
	{"Uint8", MPI_UNSIGNED_CHAR, 0, C_INTEGER},
	{"Byte", MPI_BYTE, COMPUTES_BYTES, BYTE}, {"Byte", MPI_PACKED, 0, NONE}, {"Int32", MPI_WCHAR, 0, NONE},
	{"Int16", MPI_SHORT, 0, C_INTEGER}, {"Uint16", MPI_UNSIGNED_SHORT, 0, C_INTEGER},
	{"Int32", MPI_INT, 0, C_INTEGER}, {"Uint32", MPI_UNSIGNED, 0, C_INTEGER},
	{"Int64", MPI_LONG, 0, C_INTEGER}, {"Uint64", MPI_UNSIGNED_LONG, 0, C_INTEGER},
	{"Int64", MPI_LONG_LONG, 0, C_INTEGER}, {"Uint64", MPI_UNSIGNED_LONG_LONG, 0, C_INTEGER},
	{"Float32", MPI_FLOAT, 0, REAL}, {"Float64", MPI_DOUBLE, 0, REAL}, {"LongDouble", MPI_LONG_DOUBLE, 1, REAL},
	{"Int8", MPI_INT8_T, 0, C_INTEGER}, {"Int16", MPI_INT16_T, 0, C_INTEGER}, {"Int32", MPI_INT32_T, 0, C_INTEGER},
	{"Int64", MPI_INT64_T, 0, C_INTEGER},
	{"Uint8", MPI_UINT8_T, 0, C_INTEGER}, {"Uint16", MPI_UINT16_T, 0, C_INTEGER},
	{"Uint32", MPI_UINT32_T, 0, C_INTEGER}, {"Uint64", MPI_UINT64_T, 0, C_INTEGER},
	{"Bool", MPI_C_BOOL, 0, LOGICAL}, {"Complex64", MPI_C_FLOAT_COMPLEX, 0, COMPLEX},
	{"Complex128", MPI_C_DOUBLE_COMPLEX, 0, COMPLEX},
	{"LongDoubleComplex", MPI_C_LONG_DOUBLE_COMPLEX, 1, COMPLEX},
	{"Int64", MPI_AINT, 0, C_INTEGER}, {"Int64", MPI_OFFSET, 0, C_INTEGER}, {"Int64", MPI_COUNT, 0, C_INTEGER},
	{"FloatInt", MPI_FLOAT_INT, 0, PAIR}, {"DoubleInt", MPI_DOUBLE_INT, 0, PAIR}, {"LongInt", MPI_LONG_INT, 0, PAIR},
	{"ShortInt", MPI_SHORT_INT, 0, PAIR}, {"TwoInt", MPI_2INT, 0, PAIR},
	{"LongDoubleInt", MPI_LONG_DOUBLE_INT, 1, PAIR},
	{"Bool", MPI_CXX_BOOL, 0, LOGICAL}, {"Complex64", MPI_CXX_FLOAT_COMPLEX, 0, COMPLEX},
	{"Complex128", MPI_CXX_DOUBLE_COMPLEX, 0, COMPLEX},
	{"LongDoubleComplex", MPI_CXX_LONG_DOUBLE_COMPLEX, 1, COMPLEX},
	/* Fortran */
	{"Int8", MPI_CHARACTER, 0, INTEGER}, {"Int32", MPI_LOGICAL, 1, LOGICAL}, {"Int32", MPI_INTEGER, 0, INTEGER},
	{"Float32", MPI_REAL, 0, REAL}, {"Float64", MPI_DOUBLE_PRECISION, 0, REAL},
	{"Complex64", MPI_COMPLEX, 0, COMPLEX}, {"Complex128", MPI_DOUBLE_COMPLEX, 0, COMPLEX},
	{"TwoInt", MPI_2INTEGER, 0, PAIR}, {"TwoFloat32", MPI_2REAL, 1, PAIR},
	{"TwoFloat64", MPI_2DOUBLE_PRECISION, 1, PAIR},
	{"Int8", MPI_INTEGER1, 0, INTEGER}, {"Int16", MPI_INTEGER2, 0, INTEGER}, {"Int32", MPI_INTEGER4, 0, INTEGER},
	{"Int64", MPI_INTEGER8, 0, INTEGER},
	{"Float32", MPI_REAL4, 0, REAL}, {"Float64", MPI_REAL8, 0, REAL}, {"LongDouble", MPI_REAL16, 1, REAL},
	{"Complex64", MPI_COMPLEX8, 0, COMPLEX}, {"Complex128", MPI_COMPLEX16, 0, COMPLEX},
	{"LongDoubleComplex", MPI_COMPLEX32, 1, COMPLEX},
#ifdef EXANET_ADDRESSES
	{"Int8", MPI_LOGICAL1, 1, LOGICAL}, {"Int16", MPI_LOGICAL2, 1, LOGICAL}, {"Int32", MPI_LOGICAL4, 1, LOGICAL},
	{"Int64", MPI_LOGICAL8, 1, LOGICAL},
#endif
#ifdef OPEN_MPI
	{"TwoComplex64", MPI_2COMPLEX, 1, NONE}, {"TwoComplex128", MPI_2DOUBLE_COMPLEX, 1, NONE},
#elif !defined EXANET_ABI
	{"Uint16", MPIX_C_FLOAT16, 1, REAL},
#endif
	{0, 0, 0, NONE}
};

static const struct exanet_op ops[] = {
	{"Sum", MPI_SUM, SUMS}, {"Prod", MPI_PROD, SUMS}, {"Max", MPI_MAX, ORDER}, {"Min", MPI_MIN, ORDER},
	{"Land", MPI_LAND, LOGIC}, {"Lor", MPI_LOR, LOGIC}, {"Lxor", MPI_LXOR, LOGIC},
	{"Band", MPI_BAND, BITS}, {"Bor", MPI_BOR, BITS}, {"Bxor", MPI_BXOR, BITS},
	{"MinLoc", MPI_MINLOC, LOCATION}, {"MaxLoc", MPI_MAXLOC, LOCATION},
	{0, 0, 0}
};

const struct exanet_type *const exanet_types = types;
const struct exanet_op *const exanet_ops = ops;

void exanet_call(void *f, int form, uintptr_t state, void *in, void *inout, int64_t count, MPI_Datatype type)
{
	if (form == EXANET_STATE_FUNCTION) {
		((void (*)(void *, void *, MPI_Count, MPI_Datatype, void *))f)(in, inout, count, type, (void *)state);
		return;
	}
	if (form == EXANET_LARGE_FUNCTION) {
		MPI_Count n = count;
		((void (*)(void *, void *, MPI_Count *, MPI_Datatype *))f)(in, inout, &n, &type);
		return;
	}
#ifdef OPEN_MPI
	if (form == EXANET_LARGE_FORTRAN_FUNCTION) {
		MPI_Count n = count;
		MPI_Fint handle = PMPI_Type_c2f(type);
		((void (*)(void *, void *, MPI_Count *, MPI_Fint *))f)(in, inout, &n, &handle);
		return;
	}
#endif
	/* A vector longer than an int can say comes in parts. */
	while (count > 0) {
		int n = count < (1 << 30) ? (int)count : 1 << 30;
		MPI_Aint lb, extent;
#ifdef OPEN_MPI
		MPI_Fint length = n, handle = PMPI_Type_c2f(type);
		if (form == EXANET_FORTRAN_FUNCTION)
			((void (*)(void *, void *, MPI_Fint *, MPI_Fint *))f)(in, inout, &length, &handle);
		else
#endif
			((MPI_User_function *)f)(in, inout, &n, &type);
		if (!(count -= n))
			break;
		PMPI_Type_get_extent(type, &lb, &extent);
		in = (char *)in + n * extent;
		inout = (char *)inout + n * extent;
	}
}

static int freed(MPI_Datatype type, int keyval, void *value, void *state)
{
	(void)keyval, (void)value, (void)state;
	exanet_freed(type);
	return MPI_SUCCESS;
}

static int key = MPI_KEYVAL_INVALID;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void) { PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, freed, &key, 0); }

void exanet_watch(MPI_Datatype type)
{
	pthread_once(&once, make_key);
	PMPI_Type_set_attr(type, key, 0);
}

static MPI_Status *wanted(MPI_Status *s) { return s ? s : MPI_STATUS_IGNORE; }
static MPI_Status *all_wanted(MPI_Status *s) { return s ? s : MPI_STATUSES_IGNORE; }

#ifdef EXANET_ADDRESSES
/* Open MPI's Waitall does not return if one of them has failed before, as a generalized
   request has that was asked whether it has completed. */
int exanet_waitall(int n, MPI_Request *rs, MPI_Status *sts)
{
	int failed = 0;
	for (int i = 0; i < n; i++) {
		MPI_Status s;
		s.MPI_ERROR = PMPI_Wait(&rs[i], &s);
		failed |= s.MPI_ERROR != MPI_SUCCESS;
		if (sts)
			sts[i] = s;
	}
	return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}
#else
int exanet_waitall(int n, MPI_Request *rs, MPI_Status *sts) { return PMPI_Waitall(n, rs, all_wanted(sts)); }
#endif

int exanet_wait(MPI_Request *r, MPI_Status *s) { return PMPI_Wait(r, wanted(s)); }

int exanet_test(MPI_Request *r, int *flag, MPI_Status *s) { return PMPI_Test(r, flag, wanted(s)); }

int exanet_testany(int n, MPI_Request *rs, int *index, int *flag, MPI_Status *s)
{
	return PMPI_Testany(n, rs, index, flag, wanted(s));
}

int exanet_testsome(int n, MPI_Request *rs, int *count, int *indices, MPI_Status *sts)
{
	return PMPI_Testsome(n, rs, count, indices, all_wanted(sts));
}

int exanet_get_envelope(MPI_Datatype t, struct exanet_envelope *e)
{
	if (PMPI_Type_get_envelope_c)
		return PMPI_Type_get_envelope_c(t, &e->ints, &e->addresses, &e->larges, &e->types, &e->combiner);
	int ints, addresses, types, code = PMPI_Type_get_envelope(t, &ints, &addresses, &types, &e->combiner);
	e->ints = ints, e->addresses = addresses, e->larges = 0, e->types = types;
	return code;
}

int exanet_get_contents(MPI_Datatype t, const struct exanet_envelope *e, int *ints, MPI_Aint *addresses,
	MPI_Count *larges, MPI_Datatype *types)
{
	if (PMPI_Type_get_contents_c)
		return PMPI_Type_get_contents_c(t, e->ints, e->addresses, e->larges, e->types, ints, addresses, larges, types);
	return PMPI_Type_get_contents(t, (int)e->ints, (int)e->addresses, (int)e->types, ints, addresses, types);
}

int exanet_get_shape(MPI_Datatype t, struct exanet_shape *s)
{
	struct exanet_envelope e, part;
	memset(s, 0, sizeof *s);
	if (exanet_get_envelope(t, &e) || (e.combiner != MPI_COMBINER_CONTIGUOUS && e.combiner != MPI_COMBINER_VECTOR) ||
	    e.larges || exanet_get_contents(t, &e, s->numbers, 0, 0, &s->part))
		return 0;
	s->combiner = e.combiner;
	PMPI_Type_get_extent_x(t, &s->lb, &s->extent);
	exanet_get_envelope(s->part, &part);
	switch (part.combiner) {
	case MPI_COMBINER_NAMED:
	case MPI_COMBINER_F90_INTEGER:
	case MPI_COMBINER_F90_REAL:
	case MPI_COMBINER_F90_COMPLEX:
		return 1;
	}
	PMPI_Type_free(&s->part);
	return 0;
}

void exanet_inherit(MPI_Comm parent, MPI_Comm made)
{
	MPI_Errhandler h;
	if (PMPI_Comm_get_errhandler(parent, &h) == MPI_SUCCESS) {
		PMPI_Comm_set_errhandler(made, h);
		PMPI_Errhandler_free(&h);
	}
}

int exanet_topology(MPI_Comm made)
{
	int kind, in, out, weighted;
	PMPI_Topo_test(made, &kind);
	if (kind == MPI_UNDEFINED)
		return kind;
	PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN); /* until it has that of its parent */
	return PMPI_Dist_graph_neighbors_count(made, &in, &out, &weighted) ? kind : MPI_DIST_GRAPH;
}

/* A generalized request that does not complete: asking for it is what makes every
   host look at its network. Probing MPI_COMM_SELF does not, in MPICH. */
static MPI_Request poll_request;

static int poll_query(void *state, MPI_Status *s)
{
	(void)state;
	PMPI_Status_set_elements(s, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(s, 0);
	return MPI_SUCCESS;
}

static int poll_free(void *state) { return (void)state, MPI_SUCCESS; }

static int poll_cancel(void *state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

/* A communicator whose errors are nobody's concern. */
static MPI_Comm quiet;

int exanet_takes(int count, MPI_Datatype type)
{
	static const char none; /* of which nothing is sent */
	return PMPI_Send(&none, count, type, MPI_PROC_NULL, 0, quiet) == MPI_SUCCESS;
}

void exanet_begin(void)
{
	PMPI_Grequest_start(poll_query, poll_free, poll_cancel, 0, &poll_request);
	PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &quiet);
	PMPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
}

void exanet_end(void)
{
	PMPI_Grequest_complete(poll_request);
	PMPI_Wait(&poll_request, MPI_STATUS_IGNORE);
	PMPI_Comm_free(&quiet);
}

#ifdef EXANET_ABI
int exanet_find_count(void)
{
	MPI_Status theirs = {0}, ours;
	const MPI_Count count = (7LL << 32) + 5;
	PMPI_Status_set_elements_x(&theirs, MPI_BYTE, count);
	PMPI_Status_set_cancelled(&theirs, 1);
	for (int at = EXANET_COUNT_OF_MPICH; at <= EXANET_COUNT_OF_OPEN_MPI; at++) {
		memset(&ours, 0, sizeof ours);
		exanet_set_size(&ours, at, count, 1);
		if (memcmp(ours.MPI_internal, theirs.MPI_internal, sizeof ours.MPI_internal) == 0)
			return at;
	}
	return -1;
}
#endif

void *exanet_where(void *f) { return ((void *(*)(void))f)(); }

void exanet_poll(void)
{
	int flag;
	PMPI_Request_get_status(poll_request, &flag, MPI_STATUS_IGNORE);
}

#if defined OPEN_MPI || defined EXANET_ABI
void exanet_push(MPI_Request r) { (void)r; } /* asking for its status has done so */
#else
#pragma weak PMPIX_Stream_create
int PMPIX_Stream_create(MPI_Info, int *);

/* MPICH before 4.1, which has no streams, makes requests of files progress only where they are tested: so this one is,
   with one that does not complete. Later versions do so when they are asked for a status, and a test that sees a
   request complete before others spoils it. */
void exanet_push(MPI_Request r)
{
	int flag;
	MPI_Request two[2] = {r, poll_request};
	MPI_Status sts[2];
	if (!PMPIX_Stream_create)
		PMPI_Testall(2, two, &flag, sts);
}
#endif
