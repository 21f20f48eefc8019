/* Receives from any source and of any tag, blocking ones and after probes, between others that name
   both, of messages of all sizes on two communicators: those of a rank come in their order, to
   each of its own, and from whoever has sent some. */
#include "check.h"

enum { TAGS = 3, MOST = 70000 };

static char out[MOST], in[MOST];
static int sent[2][64], got[2][64]; /* by communicator and rank */
static MPI_Comm comms[2];
static unsigned seed;

static int below(int n) { return (seed = seed * 1103515245 + 12345) / 65536 % n; }

/* Message i from a rank on a communicator: its tag, its size, and what it begins and ends with. */
static int tag_of(int from, int c, int i) { return (i * 7 + i / 5 + from + c) % TAGS; }
static int size_of(int from, int c, int i)
{
	static const int sizes[] = {8, 8, 40, 8, 300, 8, 2000, 12, 30000, 8, MOST, 9};
	return sizes[(i + from + c) % (sizeof sizes / sizeof *sizes)];
}

static void send(int to, int c)
{
	int i = sent[c][to]++, n = size_of(rank, c, i), words[2] = {i, rank};
	memset(out, i, n);
	memcpy(out, words, sizeof words);
	MPI_Send(out, n, MPI_CHAR, to, tag_of(rank, c, i), comms[c]);
}

static void took(const char *what, int c, MPI_Status *s)
{
	int n, words[2], from = s->MPI_SOURCE, i = got[c][from]++;
	MPI_Get_count(s, MPI_CHAR, &n);
	memcpy(words, in, sizeof words);
	if (words[0] != i || words[1] != from || s->MPI_TAG != tag_of(from, c, i) || n != size_of(from, c, i) ||
		in[n - 1] != (n > 8 ? (char)i : in[n - 1]))
		say("%s: %d of %d from %d as number %d, tag %d, %d bytes\n", what, words[0], words[1], from, i, s->MPI_TAG, n);
}

/* Takes one of the messages that must come, in one of the ways in which it can be taken. */
static void receive(int c, const int *left)
{
	MPI_Status s;
	int from = below(size), flag = 0;
	while (!left[from])
		from = (from + 1) % size;
	int next = tag_of(from, c, got[c][from]);
	switch (below(6)) {
	case 0:
		MPI_Recv(in, MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &s);
		took("any", c, &s);
		break;
	case 1:
		MPI_Recv(in, MOST, MPI_CHAR, from, MPI_ANY_TAG, comms[c], &s);
		took("any tag", c, &s);
		break;
	case 2:
		MPI_Recv(in, MOST, MPI_CHAR, from, next, comms[c], &s);
		took("named", c, &s);
		break;
	case 3:
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[c], &s);
		MPI_Recv(in, MOST, MPI_CHAR, s.MPI_SOURCE, s.MPI_TAG, comms[c], &s);
		took("probed", c, &s);
		break;
	case 4:
		for (double end = MPI_Wtime() + 10; !flag && MPI_Wtime() < end;)
			MPI_Iprobe(from, MPI_ANY_TAG, comms[c], &flag, &s);
		if (!flag)
			say("nothing comes\n");
		MPI_Recv(in, MOST, MPI_CHAR, from, s.MPI_TAG, comms[c], &s);
		took("looked for", c, &s);
		break;
	default: {
		MPI_Request q;
		MPI_Irecv(in, MOST, MPI_CHAR, from, next, comms[c], &q);
		MPI_Wait(&q, &s);
		took("begun", c, &s);
	}
	}
}

/* Each in turn sends so many to all, and takes from all. */
static void round_of(int many)
{
	for (int c = 0; c < 2; c++)
		for (int root = 0; root < size; root++) {
			int left[64] = {0};
			for (int k = 0; k < many; k++)
				for (int i = 0; i < size; i++)
					if (i != root)
						left[i]++;
			if (rank != root)
				for (int k = 0; k < many; k++)
					send(root, c);
			else
				for (int k = 0; k < many * (size - 1); k++) {
					int before[64];
					memcpy(before, got[c], sizeof before);
					receive(c, left);
					for (int i = 0; i < size; i++)
						left[i] -= got[c][i] - before[i];
				}
		}
}

/* A rank that has much to say does not keep another one waiting for ever. */
static void everybody(void)
{
	enum { ENOUGH = 3, LONG = 30 /* s */, NUMBERED = 50, END, STOP };
	int last = size - 1, of[64] = {0}, v = 0, flag = 0;
	MPI_Status s;
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1) {
		double end = MPI_Wtime() + LONG;
		for (int i = 0; !flag && MPI_Wtime() < end; i++) {
			MPI_Send(&i, 1, MPI_INT, 0, NUMBERED, MPI_COMM_WORLD);
			if (i % 16 == 0)
				MPI_Iprobe(0, STOP, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		}
		if (!flag)
			say("the last rank has to wait\n");
		MPI_Send(&v, 1, MPI_INT, 0, END, MPI_COMM_WORLD);
		MPI_Recv(&v, 1, MPI_INT, 0, STOP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == last) {
		for (int i = 0; i < ENOUGH; i++)
			MPI_Send(&i, 1, MPI_INT, 0, NUMBERED, MPI_COMM_WORLD);
	} else if (rank == 0) {
		while (!flag || of[last] < ENOUGH) {
			MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
			if (s.MPI_TAG == END)
				flag = 1;
			else if (v != of[s.MPI_SOURCE]++)
				say("%d from %d as number %d\n", v, s.MPI_SOURCE, of[s.MPI_SOURCE] - 1);
			if (s.MPI_SOURCE == last && of[last] == ENOUGH)
				MPI_Send(&v, 1, MPI_INT, 1, STOP, MPI_COMM_WORLD);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Long and short messages of several tags, close behind each other and not: a long one that could go straight
   to a receive does not overtake what has been sent before. */
static void one_after_another(void)
{
	static const int tags[] = {2, 2, 1, 1, 3, 1, 1}, sizes[] = {8, 8, 8, 2000, 20000, MOST, MOST};
	unsigned was = seed;
	int wrong = 0;
	seed = 1;
	for (int i = 0, n; i < 20000 && rank < 2; i++) {
		int k = below(7), pause = below(5), source = below(2) ? 1 : MPI_ANY_SOURCE;
		MPI_Status s;
		if (rank == 1) {
			for (volatile int j = 0; j < pause * pause * 150; j++)
				;
			memcpy(out, &i, sizeof i);
			MPI_Send(out, sizes[k], MPI_CHAR, 0, tags[k], MPI_COMM_WORLD);
			continue;
		}
		MPI_Recv(in, MOST, MPI_CHAR, source, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
		MPI_Get_count(&s, MPI_CHAR, &n);
		if ((memcmp(in, &i, sizeof i) || n != sizes[k] || s.MPI_TAG != tags[k] || s.MPI_SOURCE != 1) && !wrong++)
			say("number %d overtaken, by one of tag %d, %d bytes\n", i, s.MPI_TAG, n);
	}
	say("%d not in their order\n", wrong);
	seed = was;
	MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	seed = rank + 1;
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[1]);
	for (int i = 0; i < (size > 2 ? 20 : 300); i++)
		round_of(1 + i % 17);
	if (size > 2)
		everybody();
	one_after_another();
	for (int c = 0; c < 2; c++)
		for (int i = 0; i < size; i++)
			say("%d sent, %d taken\n", sent[c][i], got[c][i]);
	MPI_Comm_free(&comms[1]);
	end();
}
