/* Long sends that do not block, whose ranks go on to something else, to receives that wait or
   whose ranks do something else as well. With a number it does all of it so many times. */
#include "check.h"

enum { MOST = (1 << 20) + 4096, KINDS = 12, RECEIVES = 5, GO = 5, DATA = 6 };

static char *out, *in;
static int peer;

static void fill(int n, unsigned with)
{
	for (int i = 0; i < n; i += 8) {
		unsigned long w = (i / 8 + 1 + with * 131072ul) * 11400714819323198485ul;
		memcpy(out + i, &w, n - i < 8 ? n - i : 8);
	}
}

/* Of what has come. */
static unsigned long digest(int n)
{
	unsigned long h = n, w;
	for (int i = 0; i < n; i += 8) {
		w = 0;
		memcpy(&w, in + i, n - i < 8 ? n - i : 8);
		h = (h ^ w) * 11400714819323198485ul;
		h ^= h >> 29;
	}
	return h;
}

static void late(double us)
{
	for (double until = MPI_Wtime() + us * 1e-6; MPI_Wtime() < until;)
		;
}

static void look(void)
{
	int flag;
	MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void not_cancelled(MPI_Status *s)
{
	int cancelled;
	MPI_Test_cancelled(s, &cancelled);
	if (cancelled)
		say("cancelled\n");
}

/* The send, and what its rank does until it is over. */
static void send(int kind, int n)
{
	MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	MPI_Status s[3];
	char small[8] = "small";
	int flag = 0, at, k;

	MPI_Isend(out, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r[0]);
	switch (kind) {
	case 0:
		late(100);
		break;
	case 1:
		break;
	case 2:
		while (!flag)
			MPI_Test(&r[0], &flag, &s[0]);
		not_cancelled(&s[0]);
		break;
	case 3: /* in vain */
		for (int i = 0; i < 100 && !flag; i++)
			MPI_Testall(1, r, &flag, s);
		if (!flag)
			MPI_Waitall(1, r, s);
		not_cancelled(&s[0]);
		break;
	case 4: /* of the same channel */
		MPI_Send(small, 8, MPI_CHAR, peer, DATA, MPI_COMM_WORLD);
		break;
	case 5:
		MPI_Isend(out, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r[1]);
		MPI_Isend(out, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r[2]);
		MPI_Waitall(3, r, s);
		break;
	case 6: /* on another channel, and in Go */
		MPI_Send(small, 8, MPI_CHAR, peer, DATA + 1, MPI_COMM_WORLD);
		look();
		late(50);
		break;
	case 7:
		MPI_Waitany(3, r, &at, &s[0]);
		if (at != 0)
			say("index %d\n", at);
		not_cancelled(&s[0]);
		break;
	case 8:
		for (k = 0; k == 0;)
			MPI_Testsome(3, r, &k, &at, s);
		if (k != 1 || at != 0)
			say("some %d %d\n", k, at);
		break;
	case 9:
		while (!flag)
			MPI_Request_get_status(r[0], &flag, &s[0]);
		break;
	case 10: /* what has begun long ago */
		late(n == 1 << 20 ? 25000 : 1000);
		break;
	case 11:
		MPI_Request_free(&r[0]);
		break;
	}
	if (r[0] != MPI_REQUEST_NULL) {
		MPI_Wait(&r[0], &s[0]);
		not_cancelled(&s[0]);
	}
	if (r[0] != MPI_REQUEST_NULL)
		say("the request is not null\n");
	MPI_Recv(small, 8, MPI_CHAR, peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void got(const char *what, int n, MPI_Status *s)
{
	int k;
	MPI_Get_count(s, MPI_CHAR, &k);
	say("%s of %d: %d, tag %d, %lx\n", what, n, k, s->MPI_TAG, digest(k));
}

static void receive(int kind, int how, int n)
{
	MPI_Request r, other = MPI_REQUEST_NULL;
	MPI_Status s;
	char small[8] = "go", unsent[8];
	int flag = 0;

	memset(in, 0, n);
	if (kind == 6)
		MPI_Irecv(unsent, 8, MPI_CHAR, peer, DATA + 1, MPI_COMM_WORLD, &other);
	if (how == 4) {
		MPI_Send(small, 8, MPI_CHAR, peer, GO, MPI_COMM_WORLD);
		MPI_Recv(in, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &s);
	} else {
		MPI_Irecv(in, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r);
		MPI_Send(small, 8, MPI_CHAR, peer, GO, MPI_COMM_WORLD);
		if (how == 1)
			late(120);
		if (how == 2)
			look();
		while (how == 3 && !flag)
			MPI_Test(&r, &flag, &s);
		if (how != 3)
			MPI_Wait(&r, &s);
	}
	got("data", n, &s);
	if (kind == 4) {
		MPI_Recv(small, 8, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &s);
		say("small %s\n", small);
	}
	for (int i = 0; i < 2 && kind == 5; i++) {
		MPI_Recv(in, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &s);
		got("another", n, &s);
	}
	MPI_Wait(&other, MPI_STATUS_IGNORE);
	MPI_Send(small, 8, MPI_CHAR, peer, GO, MPI_COMM_WORLD);
}

/* Both send and receive at once. */
static void exchange(int n, unsigned with)
{
	MPI_Request r[2];
	MPI_Status s[2];

	for (int i = 0; i < 6; i++) {
		fill(n, with + i * 2 + rank);
		memset(in, 0, n);
		if (i % 3 == rank % 2)
			late(60);
		MPI_Irecv(in, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r[i % 2]);
		if (i > 2)
			MPI_Barrier(MPI_COMM_WORLD);
		MPI_Isend(out, n, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &r[1 - i % 2]);
		late(i * 20);
		MPI_Waitall(2, r, s);
		got("exchange", n, &s[i % 2]);
	}
}

int main(int argc, char **argv)
{
	static const int all[] = {(512 << 10) + 1, 1 << 20, (1 << 20) + 1};
	begin(&argc, &argv);
	char *a = malloc(MOST), *b = malloc(MOST), small[8];
	peer = rank ^ 1;
	unsigned long seen = 0;
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 3; i++) {
			int n = all[i];
			out = a + round % 5, in = b + round % 3;
			for (int kind = 0; kind < KINDS && peer < size; kind++)
				for (int how = 0; how < RECEIVES; how++)
					for (int turn = 0; turn < 2; turn++) {
						if ((rank + turn) % 2) {
							fill(n, kind * 8 + how + round);
							MPI_Recv(small, 8, MPI_CHAR, peer, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
							send(kind, n);
						} else {
							receive(kind, how, n);
						}
					}
			if (size % 2 == 0)
				exchange(n, round * 8 + i);
		}
		if (rounds > 1)
			seen = seen * 31 + sum(said, saidlen), saidlen = 0;
	}
	say("in all %lx\n", seen);
	free(a), free(b);
	end();
}
