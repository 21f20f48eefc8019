/* Handles in Fortran's form, thousands at once, those of the host among them, and what
   a status tells of a derived type. */
#include "check.h"

enum { MANY = 1500 };

static int out[MANY], in[MANY];
static MPI_Request rs[2 * MANY];
static MPI_Status sts[2 * MANY];

static int query(void *state, MPI_Status *s)
{
	(void)state;
	MPI_Status_set_elements(s, MPI_INT, 7);
	MPI_Status_set_cancelled(s, 0);
	s->MPI_SOURCE = 3;
	s->MPI_TAG = 4;
	return MPI_SUCCESS;
}

static int release(void *state) { (void)state; return MPI_SUCCESS; }
static int cancel(void *state, int complete) { (void)state, (void)complete; return MPI_SUCCESS; }

int main(int argc, char **argv)
{
	MPI_Status st;
	MPI_Request q;
	MPI_Message m, same;
	int got = -1, n, elements;
	begin(&argc, &argv);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;

	MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &q);
	rs[0] = MPI_Request_f2c(MPI_Request_c2f(q));
	say("the same request %d\n", rs[0] == q);
	MPI_Send(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
	MPI_Wait(&rs[0], &st);
	say("got %d, null %d %d\n", got, rs[0] == MPI_REQUEST_NULL,
		MPI_Request_f2c(MPI_Request_c2f(rs[0])) == MPI_REQUEST_NULL);
	MPI_Send(&rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
	MPI_Mprobe(left, 2, MPI_COMM_WORLD, &m, &st);
	same = MPI_Message_f2c(MPI_Message_c2f(m));
	say("the same message %d\n", same == m);
	MPI_Mrecv(&got, 1, MPI_INT, &same, &st);
	say("got %d, null %d %d\n", got, same == MPI_MESSAGE_NULL,
		MPI_Message_f2c(MPI_Message_c2f(same)) == MPI_MESSAGE_NULL);

	for (int i = 0; i < MANY; i++) {
		out[i] = rank * 10000 + i;
		MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &rs[2 * i]);
	}
	for (int i = MANY - 1; i >= 0; i--)
		MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &rs[2 * i + 1]);
	MPI_Waitall(2 * MANY, rs, sts);
	int wrong = 0;
	for (int i = 0; i < MANY; i++)
		wrong += sts[2 * i].MPI_SOURCE != left || sts[2 * i].MPI_TAG != i || in[i] != left * 10000 + i;
	say("wrong %d of many\n", wrong);

	int index, done = 0, some, indices[3];
	MPI_Irecv(&got, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &rs[0]);
	MPI_Grequest_start(query, release, cancel, 0, &rs[1]);
	MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &rs[2]);
	q = rs[1];
	while (done < 2) {
		MPI_Waitsome(3, rs, &some, indices, sts);
		done += some;
	}
	MPI_Grequest_complete(q);
	MPI_Waitany(3, rs, &index, &st);
	say("ours first, then %d\n", index);
	say_status("generalized", &st, MPI_INT);

	MPI_Datatype pair;
	struct { int i; double d; } x = {1, 2}, y;
	MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &pair);
	MPI_Type_commit(&pair);
	MPI_Sendrecv(&x, 1, pair, right, 3, &y, 1, pair, left, 3, MPI_COMM_WORLD, &st);
	MPI_Get_count(&st, pair, &n);
	MPI_Get_elements(&st, pair, &elements);
	say("count %d elements %d\n", n, elements);
	MPI_Get_count(&st, MPI_DOUBLE, &n);
	say("no count %d\n", n == MPI_UNDEFINED);
	MPI_Type_free(&pair);
	/* Addresses that are none, with nothing there. */
	MPI_Sendrecv((void *)7, 0, MPI_INT, right, 4, (void *)9, 0, MPI_INT, left, 4, MPI_COMM_WORLD, &st);
	say_status("nothing", &st, MPI_INT);
	end();
}
