/* system, fork and a signal handler in a program that uses MPI. */
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void tick(int s)
{
	(void)s;
	ticks++;
}

int main(int argc, char **argv)
{
	int x, status;
	long total = 0;
	begin(&argc, &argv);
	signal(SIGUSR1, tick);
	for (int i = 0; i < 50; i++) {
		MPI_Allreduce(&i, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		total += x;
		if (i % 25 == 0)
			say("system %d\n", system("exit 3") >> 8);
		if (i % 10 == 0)
			raise(SIGUSR1);
	}
	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		_exit(5);
	waitpid(child, &status, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	say("child %d, ticks %d, total %ld\n", WEXITSTATUS(status), (int)ticks, total);
	end();
}
