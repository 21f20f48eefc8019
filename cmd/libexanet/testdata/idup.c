/* Comm_idup: its request in every call that waits, alone and with others; what the
   duplicate takes over; what goes on meanwhile. */
#include "check.h"

static void use(const char *what, MPI_Comm c)
{
	int n, r, total = 0, got = -1, answer;
	MPI_Request q;
	MPI_Comm_size(c, &n);
	MPI_Comm_rank(c, &r);
	MPI_Comm_compare(c, MPI_COMM_WORLD, &answer);
	MPI_Irecv(&got, 1, MPI_INT, (r + n - 1) % n, 3, c, &q);
	MPI_Send(&r, 1, MPI_INT, (r + 1) % n, 3, c);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, c);
	say("%s: %d of %d, got %d, sum %d, alike %d\n", what, r, n, got, total, answer == MPI_CONGRUENT);
}

static void use_and_free(const char *what, MPI_Comm *c)
{
	use(what, *c);
	MPI_Comm_free(c);
}

static void waits(MPI_Comm parent)
{
	MPI_Comm d[4];
	MPI_Request r[4];
	MPI_Status s;
	int x = -1, y = rank, i, n, at[4], done = 0, seen = 0;

	MPI_Comm_idup(parent, &d[0], &r[0]);
	MPI_Wait(&r[0], &s);
	say("request gone %d\n", r[0] == MPI_REQUEST_NULL);
	use_and_free("wait", &d[0]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	while (!done)
		MPI_Test(&r[0], &done, MPI_STATUS_IGNORE);
	use_and_free("test", &d[0]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	for (done = 0; !done;)
		MPI_Request_get_status(r[0], &done, MPI_STATUS_IGNORE);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	use_and_free("get_status", &d[0]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	MPI_Comm_idup(parent, &d[1], &r[1]);
	MPI_Irecv(&x, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &r[2]);
	MPI_Isend(&y, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	use_and_free("waitall", &d[1]);
	use_and_free("waitall", &d[0]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	for (done = 0; !done;)
		MPI_Testall(1, r, &done, MPI_STATUSES_IGNORE);
	use_and_free("testall", &d[0]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	MPI_Comm_idup(parent, &d[1], &r[1]);
	MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
	for (done = 0; !done;)
		MPI_Testany(2, r, &i, &done, MPI_STATUS_IGNORE);
	use_and_free("waitany", &d[0]);
	use_and_free("testany", &d[1]);

	MPI_Comm_idup(parent, &d[0], &r[0]);
	MPI_Comm_idup(parent, &d[1], &r[1]);
	MPI_Waitsome(2, r, &n, at, MPI_STATUSES_IGNORE);
	for (seen = n; seen < 2; seen += n)
		MPI_Testsome(2, r, &n, at, MPI_STATUSES_IGNORE);
	use_and_free("waitsome", &d[1]);
	use_and_free("testsome", &d[0]);
}

static int query(void *state, MPI_Status *s)
{
	MPI_Status_set_elements(s, MPI_BYTE, 0);
	MPI_Status_set_cancelled(s, 0);
	return MPI_SUCCESS;
}

static int released(void *state) { return MPI_SUCCESS; }
static int cancel(void *state, int done) { return MPI_SUCCESS; }

/* With a request of another kind in the array. */
static void mixed(void)
{
	MPI_Comm d;
	MPI_Request r[2];
	int i, done = 0;
	MPI_Grequest_start(query, released, cancel, 0, &r[0]);
	MPI_Comm_idup(MPI_COMM_WORLD, &d, &r[1]);
	MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
	say("mixed %d\n", i);
	use_and_free("mixed", &d);
	MPI_Comm_idup(MPI_COMM_WORLD, &d, &r[1]);
	for (int k = 0; k < 100; k++)
		MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
	MPI_Grequest_complete(r[0]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	say("mixed %d\n", done);
	use_and_free("mixed", &d);
}

static int copies;
static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
	copies++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static void inherits(void)
{
	MPI_Comm grid, d, e;
	MPI_Request r;
	MPI_Errhandler h;
	int dims[1] = {size}, periods[1] = {1}, kind, left, right, key, flag, value = 5, *got, x = -1, code, class = 0;
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
	MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, 0);
	MPI_Comm_set_attr(grid, key, &value);
	MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
	MPI_Comm_idup(grid, &d, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Topo_test(d, &kind);
	MPI_Cart_shift(d, 0, 1, &left, &right);
	MPI_Neighbor_allgather(&rank, 1, MPI_INT, (int[2]){0}, 1, MPI_INT, d);
	MPI_Comm_get_attr(d, key, &got, &flag);
	say("grid %d, %d %d, attribute %d %d, copies %d\n", kind == MPI_CART, left, right, flag, flag ? *got : -1, copies);
	code = MPI_Send(&x, 1, MPI_INT, size + 3, 0, d);
	MPI_Error_class(code, &class);
	say("error %d\n", class == MPI_ERR_RANK);
	MPI_Comm_dup(d, &e);
	use_and_free("a duplicate of it", &e);
	MPI_Comm_idup(d, &e, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	use_and_free("an idup of it", &e);
	MPI_Comm_free(&d);
	MPI_Comm_free(&grid);
	MPI_Comm_free_keyval(&key);
}

static void among_others(void)
{
	MPI_Comm half, d[20];
	MPI_Request r[20];
	int total, got;
#if defined OPEN_MPI || defined NO_IDUPS_OF_PARENTS /* where two made at the same time of two parents may hang */
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_idup(half, &d[1], &r[1]);
	MPI_Wait(&r[1], MPI_STATUS_IGNORE);
	MPI_Comm_idup(MPI_COMM_WORLD, &d[0], &r[0]);
	MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#else
	MPI_Comm_idup(MPI_COMM_WORLD, &d[0], &r[0]);
	MPI_Allreduce(&rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_idup(half, &d[1], &r[1]);
#endif
	MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 2, &got, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	say("meanwhile %d %d\n", total, got);
	use_and_free("world", &d[0]);
	use_and_free("half", &d[1]);
#if !defined OPEN_MPI && !defined NO_IDUPS_OF_PARENTS
	for (int i = 0; i < 20; i++)
		MPI_Comm_idup(i % 2 ? half : MPI_COMM_WORLD, &d[i], &r[i]);
	MPI_Waitall(20, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < 20; i++)
		use_and_free("many", &d[i]);
#endif
	MPI_Comm_idup(MPI_COMM_SELF, &d[0], &r[0]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	use_and_free("self", &d[0]);
	MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
	MPI_Comm d;
	MPI_Request r;
	begin(&argc, &argv);
	waits(MPI_COMM_WORLD);
	MPI_Comm_dup(MPI_COMM_WORLD, &d);
	waits(d);
	MPI_Comm_free(&d);
	mixed();
	inherits();
	among_others();
#if MPI_VERSION >= 4
	MPI_Info info;
	MPI_Info_create(&info);
	MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &d, &r);
	MPI_Info_free(&info);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	use_and_free("with info", &d);
#endif
	end();
}
