#include "osu.h"

/*
 * calls: the ways in which two ranks can pass each other a message that enter Go in preloaded
 * programs: wildcards, probes, persistent and non-blocking collective ones. The figure is the
 * time of one message that the receiver waits for: half of a ping-pong, or an exchange in which
 * both send at once; of Ibcast, which has each rank for its root once, that of two.
 */

enum { tag = 100 };

static const MPI_Comm world = MPI_COMM_WORLD;

/* A rank's side of a form. */
struct side {
	int peer, n;
	char *out, *in;
	MPI_Request requests[2]; /* of persistent forms */
};

static void send(struct side *s) { MPI_Send(s->out, s->n, MPI_CHAR, s->peer, tag, world); }
static void recv(struct side *s) { MPI_Recv(s->in, s->n, MPI_CHAR, s->peer, tag, world, MPI_STATUS_IGNORE); }

static void recv_any_source(struct side *s)
{
	MPI_Recv(s->in, s->n, MPI_CHAR, MPI_ANY_SOURCE, tag, world, MPI_STATUS_IGNORE);
}

static void recv_any_tag(struct side *s)
{
	MPI_Recv(s->in, s->n, MPI_CHAR, s->peer, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
}

static void probe(struct side *s)
{
	MPI_Status status;

	MPI_Probe(s->peer, tag, world, &status);
	recv(s);
}

static void iprobe_any(struct side *s)
{
	MPI_Status status;
	int there = 0;

	while (!there)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &there, &status);
	MPI_Recv(s->in, s->n, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, world, MPI_STATUS_IGNORE);
}

static void mprobe(struct side *s)
{
	MPI_Message message;
	MPI_Status status;

	MPI_Mprobe(s->peer, tag, world, &message, &status);
	MPI_Mrecv(s->in, s->n, MPI_CHAR, &message, &status);
}

static void persistent(struct side *s)
{
	MPI_Startall(2, s->requests);
	MPI_Waitall(2, s->requests, MPI_STATUSES_IGNORE);
}

static void ibarrier(struct side *s)
{
	MPI_Request r;

	(void)s;
	MPI_Ibarrier(world, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void ibcast(struct side *s)
{
	MPI_Request r;

	MPI_Ibcast(s->in, s->n, MPI_CHAR, 0, world, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Ibcast(s->in, s->n, MPI_CHAR, 1, world, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

static void iallreduce(struct side *s)
{
	MPI_Request r;

	MPI_Iallreduce(s->out, s->in, s->n / (int)sizeof(float), MPI_FLOAT, MPI_SUM, world, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* A form is a send and a receive in turn, of which the figure is half; or an exchange. */
static const struct form {
	const char *name;
	void (*send)(struct side *), (*receive)(struct side *);
} forms[] = {
	{"Recv of any source", send, recv_any_source},
	{"Recv of any tag", send, recv_any_tag},
	{"Probe", send, probe},
	{"Mprobe", send, mprobe},
	{"Iprobe of any source", send, iprobe_any},
	{"Startall", persistent, NULL},
	{"Ibarrier", ibarrier, NULL},
	{"Ibcast", ibcast, NULL},
	{"Iallreduce", iallreduce, NULL},
};

/* measure returns the time of a message in microseconds. */
static double measure(const struct form *f, struct side *s, int iterations)
{
	double start;

	MPI_Barrier(world);
	start = MPI_Wtime();
	for (int i = 0; i < iterations; i++) {
		if (f->receive && rank != 0)
			f->receive(s);
		f->send(s);
		if (f->receive && rank == 0)
			f->receive(s);
	}
	return (MPI_Wtime() - start) / iterations / (f->receive ? 2 : 1) * 1e6;
}

void run_calls(const struct benchmark *b)
{
	struct side s = {.peer = 1 - rank, .out = buffer(last_size(b)), .in = buffer(last_size(b))};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		print_title(b, forms[i].name, "Size", 1, (const char *[]){"Latency (us)"});
		for (long size = first_size(b); size <= last_size(b); size = next_size(size)) {
			struct counts n = counts_for(size, (struct counts){10000, 200}, (struct counts){1000, 20});
			double time;

			s.n = size;
			MPI_Recv_init(s.in, s.n, MPI_CHAR, s.peer, tag, world, &s.requests[0]);
			MPI_Send_init(s.out, s.n, MPI_CHAR, s.peer, tag, world, &s.requests[1]);
			n = limited(n, measure(&forms[i], &s, 2) * 1e-6);
			measure(&forms[i], &s, n.warmup);
			time = measure(&forms[i], &s, n.iterations);
			MPI_Request_free(&s.requests[0]);
			MPI_Request_free(&s.requests[1]);
			print_row(size, 1, &time);
		}
	}
}
