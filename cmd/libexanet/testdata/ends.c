/* The main thread ends before the others do; a child goes on with MPI. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_key_t key;

static void forget(void *what)
{
	if (!rank)
		printf("forgotten: %s\n", (char *)what), fflush(stdout);
}

static void *thread(void *arg)
{
	usleep(50000);
	if (!rank)
		puts("the last words"), fflush(stdout);
	return 0;
}

static void *all(void *arg)
{
	usleep(20000);
	begin(0, 0);
	say("begun after the main thread\n");
	MPI_Barrier(MPI_COMM_WORLD);
	end();
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int status;
	pthread_key_create(&key, forget);
	pthread_setspecific(key, "value");
	if (argc > 1 && !strcmp(argv[1], "late")) {
		pthread_create(&t, 0, all, 0);
		pthread_exit(0);
	}
	begin(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
	if (argc > 1) { /* a child takes part */
		pid_t child = fork();
		if (child == 0) {
			MPI_Barrier(MPI_COMM_WORLD);
			_exit(0);
		}
		waitpid(child, &status, 0);
		say("child %d\n", WEXITSTATUS(status));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	end();
	pthread_create(&t, 0, thread, 0);
	pthread_exit(0);
}
