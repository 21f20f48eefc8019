/* Each rank's session, process group and group of the scheduler, and whether its child gets a session that it asks for.
   */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	char group[64] = "none";
	FILE *f = fopen("/proc/self/autogroup", "r");
	if (f) {
		if (fgets(group, sizeof group, f))
			*strpbrk(group, " \n") = 0;
		fclose(f);
	}
	pid_t child = fork();
	if (!child)
		_exit(setsid() == getpid() && getsid(0) == getpid() ? 0 : 1);
	int status;
	waitpid(child, &status, 0);
	char line[200];
	int n = snprintf(line, sizeof line, "session %d, %s, leads its %s, parent's %s, %s, child's own %s\n",
		(int)getsid(0), group,
		getsid(0) == getpid() ? "session" : "processes", getsid(0) == getsid(getppid()) ? "too" : "not",
		getpgrp() == getpid() ? "alone" : "with others", status == 0 ? "too" : "not");
	(void)!write(1, line, n);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
