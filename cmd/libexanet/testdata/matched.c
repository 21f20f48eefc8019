/* Matched probes between other receives: who has found a message receives that one and no other, whenever
   and however; with gaps, without waiting, or with too little room for it. */
#include "check.h"

enum { TAGS = 3, HELD = 24, OLD = 40, AHEAD = 64 /* more than any that is held is behind */, MOST = 40000,
	MESSAGES = 4000 };

static char out[MOST], in[MOST], apart[2 * MOST], outs[AHEAD][MOST];
static unsigned seed = 7;

static int below(int n) { return (seed = seed * 1103515245 + 12345) / 65536 % n; }

static int tag_of(int i) { return (i * 5 + i / 7) % TAGS; }
static int size_of(int i)
{
	static const int sizes[] = {8, 0, 8, 40, 300, 8, 2000, 12, 16384, 8, MOST, 9, 16376, 4};
	return sizes[i % (sizeof sizes / sizeof *sizes)];
}

static void fill(char *b, int i)
{
	for (int k = 0; k < size_of(i); k++)
		b[k] = i + k * 7;
}

static void send_all(void)
{
	MPI_Request q[AHEAD];
	for (int i = 0; i < AHEAD; i++)
		q[i] = MPI_REQUEST_NULL;
	for (int i = 0; i < MESSAGES; i++) {
		int at = i % AHEAD;
		MPI_Wait(&q[at], MPI_STATUS_IGNORE);
		fill(outs[at], i);
		if (below(4) == 0)
			for (volatile int j = below(2000); j; j--)
				;
		if (below(2) && size_of(i) < 1000)
			MPI_Send(outs[at], size_of(i), MPI_CHAR, 0, tag_of(i), MPI_COMM_WORLD);
		else
			MPI_Isend(outs[at], size_of(i), MPI_CHAR, 0, tag_of(i), MPI_COMM_WORLD, &q[at]);
	}
	MPI_Waitall(AHEAD, q, MPI_STATUSES_IGNORE);
}

/* Messages that have been found, and not received. */
static struct {
	MPI_Message message;
	int i;
} held[HELD];
static int holds, of[TAGS], all, wrong, ways[8];

static void differs(const char *how, int i)
{
	if (!wrong++)
		say("%s: message %d, tag %d, %d bytes\n", how, i, tag_of(i), size_of(i));
}

static void check(const char *how, int i, MPI_Status *s, int n)
{
	fill(out, i);
	if (n != size_of(i) || memcmp(in, out, n) || s->MPI_SOURCE != 1 || s->MPI_TAG != tag_of(i))
		differs(how, i);
}

/* The number of the next message with a tag, or of all. */
static int next(int tag)
{
	int i = tag < 0 ? all : of[tag];
	while (tag >= 0 && tag_of(i) != tag)
		i++;
	return i;
}

static char taken[MESSAGES + 100];

static void took(int i)
{
	taken[i] = 1;
	for (; taken[all]; all++)
		;
	for (int tag = 0; tag < TAGS; tag++)
		while (of[tag] < MESSAGES && (tag_of(of[tag]) != tag || taken[of[tag]]))
			of[tag]++;
}

static void receive(int at)
{
	MPI_Message m = held[at].message;
	int i = held[at].i, size = size_of(i), n, code, class, way = below(5);
	MPI_Status s;
	MPI_Request q;
	MPI_Datatype gaps;
	held[at] = held[--holds];
	ways[way]++;
	memset(in, 0x55, sizeof in);
	switch (way) {
	case 0:
	case 1:
		MPI_Mrecv(in, MOST, MPI_CHAR, &m, &s);
		break;
	case 2:
		MPI_Imrecv(in, size, MPI_CHAR, &m, &q);
		MPI_Wait(&q, &s);
		break;
	case 3:
		MPI_Type_vector(size + 1, 1, 2, MPI_CHAR, &gaps);
		MPI_Type_commit(&gaps);
		MPI_Mrecv(apart, 1, gaps, &m, &s);
		MPI_Type_free(&gaps);
		for (int k = 0; k < size; k++)
			in[k] = apart[2 * k];
		break;
	default:
		if (size < 2)
			size = 2;
		code = MPI_Mrecv(in, size - 1, MPI_CHAR, &m, &s);
		MPI_Error_class(code, &class);
		if (size_of(i) > 1 ? class != MPI_ERR_TRUNCATE : class != MPI_SUCCESS)
			differs("too little room", i);
		return; /* MPICH leaves the handle as it was */
	}
	MPI_Get_count(&s, MPI_CHAR, &n);
	check(way < 2 ? "received" : way == 2 ? "begun" : "with gaps", i, &s, n);
	if (m != MPI_MESSAGE_NULL)
		differs("still there", i);
}

static void take_all(void)
{
	while (all < MESSAGES || holds) {
		int way = all < MESSAGES ? below(6) : 6, tag = below(3) ? tag_of(all) : -1, i = all < MESSAGES ? next(tag) : 0,
			n, flag = 0;
		MPI_Status s;
		MPI_Message m;
		for (int k = 0; k < holds; k++)
			if (held[k].i < all - OLD)
				receive(k--);
		if (way >= 5 || holds == HELD) {
			if (holds)
				receive(below(holds));
			continue;
		}
		switch (way) {
		case 0:
			MPI_Recv(in, MOST, MPI_CHAR, 1, tag < 0 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &s);
			MPI_Get_count(&s, MPI_CHAR, &n);
			check("beside", i, &s, n);
			took(i);
			continue;
		case 1:
			while (!flag)
				MPI_Improbe(1, tag < 0 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &flag, &m, &s);
			break;
		case 2:
			MPI_Mprobe(MPI_ANY_SOURCE, tag < 0 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &m, &s);
			break;
		default:
			MPI_Mprobe(1, tag < 0 ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &m, &s);
		}
		MPI_Get_count(&s, MPI_CHAR, &n);
		if (n != size_of(i) || s.MPI_SOURCE != 1 || s.MPI_TAG != tag_of(i))
			differs("found", i);
		held[holds].message = m;
		held[holds++].i = i;
		took(i);
		if (below(2))
			receive(holds - 1);
	}
}

/* What has been found is received when its communicator is gone, too: under MPICH, and with us. Open MPI alone
   stops there. */
#ifndef OPEN_MPI
static void from_nowhere(void)
{
	enum { FOUND = 4, N = 20 };
	MPI_Comm comm;
	MPI_Message m[FOUND];
	MPI_Status s;
	MPI_Request q;
	MPI_Datatype gaps;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = -3; i < FOUND && rank < 2; i++) {
		int words[N] = {i};
		if (rank == 1)
			MPI_Send(words, N, MPI_INT, 0, 5, comm);
		else if (i < 0)
			MPI_Recv(words, N, MPI_INT, 1, 5, comm, &s);
		else
			MPI_Mprobe(1, 5, comm, &m[i], &s);
	}
	MPI_Comm_free(&comm);
	MPI_Type_vector(N, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	for (int i = 0; i < FOUND && !rank; i++) {
		int words[2 * N], n, code = MPI_SUCCESS;
		switch (i) {
		case 0:
			MPI_Mrecv(words, N, MPI_INT, &m[i], &s);
			break;
		case 1:
			MPI_Mrecv(words, 1, gaps, &m[i], &s);
			break;
		case 2:
			MPI_Imrecv(words, N, MPI_INT, &m[i], &q);
			MPI_Wait(&q, &s);
			break;
		default:
			code = MPI_Mrecv(words, N - 1, MPI_INT, &m[i], &s);
		}
		MPI_Get_count(&s, MPI_INT, &n);
		if (i < 3)
			say("gone: %d, source %d tag %d count %d\n", words[0], s.MPI_SOURCE, s.MPI_TAG, n);
		else
			say("gone, and too little room: %d\n", code != MPI_SUCCESS);
	}
	MPI_Type_free(&gaps);
}
#endif

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (rank == 1)
		send_all();
	if (rank == 0)
		take_all();
#ifndef OPEN_MPI
	from_nowhere();
#endif
	MPI_Barrier(MPI_COMM_WORLD);
	say("%d taken, %d wrong; %d received, %d begun, %d with gaps, %d with too little room\n", all, wrong,
		ways[0] + ways[1], ways[2], ways[3], ways[4]);
	end();
}
