#include "osu.h"

#include <stdlib.h>

/*
 * unexpected: rank 0 sends so many messages of 8 bytes with different tags; when the last has
 * arrived at rank 1, which waits for that one, it receives the others in reverse order. The
 * size is the number of messages. The times are rank 1's: until all have arrived, and for
 * receiving them.
 */

enum { tag_go = 0 };

static void send_all(long messages, int round)
{
	MPI_Recv(NULL, 0, MPI_CHAR, 1, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (long tag = 1; tag <= messages; tag++) {
		long value = tag + round;

		MPI_Send(&value, sizeof value, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
	}
	MPI_Send(NULL, 0, MPI_CHAR, 1, tag_go, MPI_COMM_WORLD);
}

static void receive_all(long messages, int round, double *arrived, double *received)
{
	double start = MPI_Wtime(), middle;

	MPI_Send(NULL, 0, MPI_CHAR, 0, tag_go, MPI_COMM_WORLD);
	MPI_Recv(NULL, 0, MPI_CHAR, 0, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	middle = MPI_Wtime();
	for (long tag = messages; tag >= 1; tag--) {
		long value;

		MPI_Recv(&value, sizeof value, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (value != tag + round)
			die("unexpected: the message with tag %ld is %ld (round %d)", tag, value, round);
	}
	*arrived = (middle - start) * 1e6;
	*received = (MPI_Wtime() - middle) * 1e6;
}

void run_unexpected(const struct benchmark *b)
{
	struct counts n = counts_for(0, (struct counts){3, 1}, (struct counts){0});
	double *arrived = malloc(n.iterations * sizeof *arrived), *received = malloc(n.iterations * sizeof *received);

	print_title(b, NULL, "Messages", 3, (const char *[]){"Both (us)", "Arrive (us)", "Receive (us)"});
	for (long messages = first_size(b); messages <= last_size(b); messages = next_size(messages)) {
		double value[3];

		for (int i = -n.warmup; i < n.iterations; i++) {
			double a, r;

			if (rank == 0) {
				send_all(messages, i);
				continue;
			}
			receive_all(messages, i, &a, &r);
			if (i >= 0) {
				arrived[i] = a;
				received[i] = r;
			}
		}
		if (rank == 1) {
			value[1] = median(arrived, n.iterations);
			value[2] = median(received, n.iterations);
			value[0] = value[1] + value[2];
			MPI_Send(value, 3, MPI_DOUBLE, 0, tag_go, MPI_COMM_WORLD);
		} else {
			MPI_Recv(value, 3, MPI_DOUBLE, 1, tag_go, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		print_row(messages, 3, value);
	}
	free(arrived);
	free(received);
}
