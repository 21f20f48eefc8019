/* The helpers of the entry points of Fortran, and those that are not in the list. */
#include "fortran.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef OPEN_MPI
static const char *const libraries[] = {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40", 0};
#else
static const char *const libraries[] = {"libmpichfort.so.12", 0};
#endif

/* find finds what the host defines, behind ours, even if a plug-in has loaded the
   host with symbols of its own. */
static void *find(const char *name)
{
	void *s = dlsym(RTLD_NEXT, name);
	for (const char *const *l = libraries; !s && *l; l++) {
		void *lib = dlopen(*l, RTLD_LAZY | RTLD_NOLOAD);
		s = lib ? dlsym(lib, name) : 0;
	}
	return s;
}

void *f_find(struct f_host *host)
{
	if (!host->f && !(host->f = find(host->name))) {
		fprintf(stderr, "exanet: there is no %s in the MPI library of the program\n", host->name);
		abort();
	}
	return host->f;
}

/* A constant of Fortran, which is known by its address. The program may have a copy
   of it, which then is everybody's. */
struct constant {
	const char *name;
	const void *at;
};

static int is(struct constant *c, const void *p)
{
	static const char none;
	if (!c->at && !(c->at = dlsym(RTLD_DEFAULT, c->name)) && !(c->at = find(c->name)))
		c->at = &none;
	return p == c->at;
}

#ifdef OPEN_MPI
static struct constant status_ignore = {"mpi_fortran_status_ignore_", 0};
static struct constant statuses_ignore = {"mpi_fortran_statuses_ignore_", 0};

void *f_buffer(void *p)
{
	static struct constant bottom = {"mpi_fortran_bottom_", 0}, in_place = {"mpi_fortran_in_place_", 0};
	return is(&bottom, p) ? MPI_BOTTOM : is(&in_place, p) ? MPI_IN_PLACE : p;
}
#else
static struct constant status_ignore = {"MPIR_F08_MPI_STATUS_IGNORE_OBJ", 0};
static struct constant statuses_ignore = {"MPIR_F08_MPI_STATUSES_IGNORE_OBJ", 0};
#endif

MPI_Status *f_status(void *p) { return is(&status_ignore, p) ? MPI_STATUS_IGNORE : p; }

MPI_Status *f_statuses(void *p) { return is(&statuses_ignore, p) ? MPI_STATUSES_IGNORE : p; }

MPI_Request *f_requests(const void *n, void *p, MPI_Request few[F_FEW])
{
#ifdef OPEN_MPI
	int count = *(const MPI_Fint *)n;
	MPI_Request *requests = few;
	if (count > F_FEW && !(requests = malloc(count * sizeof *requests)))
		abort();
	for (int i = 0; i < count; i++)
		requests[i] = f_request((MPI_Fint *)p + i);
	return requests;
#else
	(void)n, (void)few;
	return p;
#endif
}

void f_requests_back(const void *n, void *p, MPI_Request *requests, MPI_Request few[F_FEW])
{
#ifdef OPEN_MPI
	for (int i = 0; i < *(const MPI_Fint *)n; i++)
		f_request_back((MPI_Fint *)p + i, requests[i]);
	if (requests != few)
		free(requests);
#else
	(void)n, (void)p, (void)requests, (void)few;
#endif
}

#ifdef OPEN_MPI

/* A descriptor of an array as gfortran has it, which is not that of ISO_Fortran_binding.h: the host's
   procedures are Fortran. The address is that of the first element; strides count units of span. The
   first dimension varies fastest; the last of an array whose size is assumed ends at -1. */
struct descriptor {
	void *base;
	ptrdiff_t offset;
	size_t size; /* of an element */
	int version;
	int8_t rank, kind;
	int16_t attribute;
	ptrdiff_t span;
	struct {
		ptrdiff_t stride, first, last;
	} dims[];
};

static ptrdiff_t stride_of(const struct descriptor *d, int i)
{
	return d->dims[i].stride * (d->span ? d->span : (ptrdiff_t)d->size);
}

static ptrdiff_t extent_of(const struct descriptor *d, int i)
{
	return d->dims[i].last - d->dims[i].first + 1;
}

static int contiguous(const struct descriptor *d)
{
	ptrdiff_t next = d->size;
	for (int i = 0; i < d->rank; i++) {
		ptrdiff_t extent = extent_of(d, i);
		if (extent <= 0)
			return 1; /* nothing, or the last of a size that is assumed, which is in one piece */
		if (extent != 1 && stride_of(d, i) != next)
			return 0;
		next *= extent;
	}
	return 1;
}

static void forget(MPI_Datatype *type)
{
	HOST(MPI_Type_free, MPI_Datatype *);
	host(type);
}

/* As many elements of the array as count says, one dimension after the other. Only what ends with whole
   rows is to be had, which is what the host can do as well. */
static int describe(struct f_section *s, const struct descriptor *d, MPI_Count count, MPI_Datatype element)
{
	HOST(MPI_Type_create_hvector, int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
	MPI_Datatype made[16], inner = element;
	int n = 0, code = MPI_SUCCESS;
	for (; n < d->rank && n < 15 && code == MPI_SUCCESS && (count > 1 || n == 0); n++) {
		MPI_Count extent = extent_of(d, n);
		if (extent < 0 || extent > count)
			extent = count;
		if (extent <= 0 || count % extent || extent > INT32_MAX)
			break;
		code = host(extent, 1, stride_of(d, n), inner, &made[n]);
		inner = made[n];
		count /= extent;
	}
	int done = code == MPI_SUCCESS && count == 1 && n > 0;
	if (done) {
		HOST(MPI_Type_commit, MPI_Datatype *);
		s->whole = made[--n];
		host(&s->whole);
	}
	while (n-- > 0)
		forget(&made[n]);
	return done;
}

int f_section(struct f_section *s, const void *descriptor, void *count, void *type, int large)
{
	const struct descriptor *d = descriptor;
	*s = (struct f_section){.base = d->base, .count = count, .type = type};
	if (contiguous(d))
		return 1;
	MPI_Count n = !count ? -1 : large ? *(MPI_Count *)count : *(MPI_Fint *)count;
	if (n == 0)
		return 1;
	if (n < 0 || !describe(s, d, n, f_datatype(type)))
		return 0;
	s->one = 1; /* of either width: the machine is little-endian */
	s->made = f_from_datatype(s->whole);
	s->count = &s->one, s->type = &s->made;
	return 1;
}

const void *f_attached(const struct f_host *host, const void *p)
{
	static struct constant automatic = {"mpi_fortran_buffer_automatic_", 0};
	if (strstr(host->name, "f08ts"))
		p = ((const struct descriptor *)p)->base;
	return is(&automatic, p) ? MPI_BUFFER_AUTOMATIC : p;
}

void f_section_free(struct f_section *s)
{
	if (s->whole)
		forget(&s->whole);
}

#define CONVERSIONS(Object, object, Word)                                \
	MPI_##Object f_##object(const void *p)                           \
	{                                                                \
		HOST_GIVES(MPI_##Object, "MPI_" #Word "_f2c", MPI_Fint); \
		return host(*(const MPI_Fint *)p);                       \
	}                                                                \
	MPI_Fint f_from_##object(MPI_##Object h)                         \
	{                                                                \
		HOST_GIVES(MPI_Fint, "MPI_" #Word "_c2f", MPI_##Object); \
		return host(h);                                          \
	}
CONVERSIONS(Comm, comm, Comm)
CONVERSIONS(Datatype, datatype, Type)
CONVERSIONS(Op, op, Op)
CONVERSIONS(Info, info, Info)

/* What a function of the host says of a communicator. */
static int ask(const char *function, MPI_Comm comm)
{
	int answer = 0;
	((int (*)(MPI_Comm, int *))exanet_host(function))(comm, &answer);
	return answer;
}

/* How many blocks a collective call of a process has. */
static int blocks_of(MPI_Comm comm, enum f_blocks blocks)
{
	HOST(MPI_Dist_graph_neighbors_count, MPI_Comm, int *, int *, int *);
	int in = 0, out = 0, weighted;
	if (blocks == f_ranks)
		return ask(ask("MPI_Comm_test_inter", comm) ? "MPI_Comm_remote_size" : "MPI_Comm_size", comm);
	switch (ask("MPI_Topo_test", comm)) {
	case MPI_CART:
		return 2 * ask("MPI_Cartdim_get", comm);
	case MPI_GRAPH: {
		HOST(MPI_Graph_neighbors_count, MPI_Comm, int, int *);
		host(comm, ask("MPI_Comm_rank", comm), &in);
		return in;
	}
	case MPI_DIST_GRAPH:
		host(comm, &in, &out, &weighted);
	}
	return blocks == f_sources ? in : out;
}

MPI_Datatype *f_types(const void *p, const void *comm, enum f_blocks blocks)
{
	int n = blocks_of(f_comm(comm), blocks);
	MPI_Datatype *types = malloc((n + 1) * sizeof *types);
	if (!types)
		abort();
	for (int i = 0; i < n; i++)
		types[i] = f_datatype((const MPI_Fint *)p + i);
	return types;
}

void f_indices(MPI_Fint n, void *p)
{
	for (MPI_Fint *i = p; i < (MPI_Fint *)p + n; i++)
		if (*i >= 0)
			++*i;
}
#else

/* Indices count from 1 in Fortran. Not so in the wrappers for mpi_f08 of MPICH up
   to 4.0 at least, and programs that run over them take that into account. */
static MPI_Fint first(void)
{
	static MPI_Fint first = -1;
	if (first < 0) {
		static struct f_host wait = {"mpi_waitany_f08_", 0};
		HOST(MPI_Ibarrier, MPI_Comm, MPI_Request *);
		MPI_Request request;
		MPI_Status status;
		MPI_Fint n = 1, code;
		host(MPI_COMM_SELF, &request);
		((void (*)(void *, void *, void *, void *, void *))f_find(&wait))(&n, &request, &first, &status, &code);
	}
	return first;
}

void f_indices(MPI_Fint n, void *p)
{
	for (MPI_Fint *i = p; i < (MPI_Fint *)p + n; i++)
		if (*i >= 0)
			*i += first();
}
#endif

void f_address_back(const struct f_host *host, void *p, void *address)
{
	if (strstr(host->name, "f08"))
		*(void **)p = address;
}

static void f_Init(struct f_host *host, void *ierror) { (void)host, f_return(ierror, MPI_Init(0, 0)); }
F_ENTRIES(mpi_init, MPI_INIT, Init, (void *ierror), ierror)

static void f_Init_thread(struct f_host *host, void *required, void *provided, void *ierror)
{
	(void)host, f_return(ierror, MPI_Init_thread(0, 0, *(MPI_Fint *)required, provided));
}
F_ENTRIES(mpi_init_thread, MPI_INIT_THREAD, Init_thread, (void *required, void *provided, void *ierror), required,
	provided, ierror)

static void f_Finalize(struct f_host *host, void *ierror) { (void)host, f_return(ierror, MPI_Finalize()); }
F_ENTRIES(mpi_finalize, MPI_FINALIZE, Finalize, (void *ierror), ierror)
