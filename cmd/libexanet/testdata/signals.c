/* Handlers, masks and children of a program, before and after MPI_Init. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t ticks, reaped;

/* Uses more stack than Go gives a goroutine, or its threads for signals. */
static void tick(int s)
{
	volatile char deep[40000];
	for (unsigned i = 0; i < sizeof deep; i += 64)
		deep[i] = (char)s;
	ticks++;
}

static void reap(int s)
{
	(void)s;
	while (waitpid(-1, 0, WNOHANG) > 0)
		reaped++;
}

static void dispositions(const char *when)
{
	struct sigaction s;
	say("%s:", when);
	for (int i = 1; i < 32; i++)
		if (i != SIGSTKFLT && sigaction(i, 0, &s) == 0)
			say(" %d%s%s", i, s.sa_handler == SIG_DFL ? "d" : s.sa_handler == SIG_IGN ? "i" : s.sa_handler == tick
				? "t" : "h", s.sa_flags & SA_ONSTACK ? "s" : "");
	say("\n");
}

static void masks(void)
{
	sigset_t now;
	pthread_sigmask(SIG_SETMASK, 0, &now);
	for (int i = 1; i < 65; i++)
		if (sigismember(&now, i) == 1)
			say(" %d", i);
	say("\n");
}

/* Messages for a while, under a timer. */
static void busy(int which, int sig, const char *what)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
	static int out[20000], in[20000];
	double until = MPI_Wtime() + 0.3;
	int more = 1, wrong = 0;
	signal(sig, tick);
	ticks = 0;
	setitimer(which, &every, 0);
	for (int i = 0; more; i++) {
		int n = i % 2 ? 4 : 20000, last = MPI_Wtime() > until;
		out[n - 1] = rank + i;
		MPI_Sendrecv(out, n, MPI_INT, (rank + 1) % size, 1, in, n, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		wrong += in[n - 1] != (rank + size - 1) % size + i;
		MPI_Allreduce(&last, &more, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		more = !more;
	}
	while (!ticks && MPI_Wtime() < until + 20)
		; /* who slept has used little of its time */
	setitimer(which, &never, 0);
	say("%s: ticks %d wrong %d\n", what, ticks > 0, wrong);
}

/* An alternate stack for one small handler, which is not that of the others. */
static void little(int before)
{
	static stack_t mine, old;
	if (before) {
		mine.ss_sp = malloc(mine.ss_size = 8192);
		sigaltstack(&mine, &old);
	} else {
		mine.ss_flags = SS_DISABLE;
		sigaltstack(0, &old);
		sigaltstack(&mine, 0);
	}
	say("alternate stack: %d %d\n", before ? 0 : (int)old.ss_size, old.ss_flags);
}

static void *thread(void *arg)
{
	int x = -1;
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGCHLD);
	sigaddset(&s, SIGPROF);
	sigaddset(&s, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &s, 0);
	MPI_Sendrecv(&rank, 1, MPI_INT, rank, 3, &x, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	say("thread %d, blocks", x == rank);
	masks();
	signal(SIGUSR1, tick);
	ticks = 0;
	pthread_kill(pthread_self(), SIGUSR1);
	say("ticks %d\n", (int)ticks);
	return 0;
}

/* Threads that call MPI for the first time, some at once, while a signal is pending
   that all block. */
static void *newcomer(void *arg)
{
	int x = -1, tag = (int)(long)arg;
	MPI_Sendrecv(&rank, 1, MPI_INT, rank, tag, &x, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return (void *)(long)(x == rank);
}

static void newcomers(void)
{
	pthread_t t[12];
	long met = 0;
	void *one;
	for (long i = 0; i < 12; i++)
		pthread_create(&t[i], 0, newcomer, (void *)i);
	for (int i = 0; i < 12; i++) {
		pthread_join(t[i], &one);
		met += (long)one;
	}
	say("newcomers %ld\n", met);
}

/* A signal that queues, again and again. */
static volatile int more = 1;

static void *sender(void *arg)
{
	for (; more; usleep(100))
		kill(getpid(), SIGRTMIN);
	return arg;
}

int main(int argc, char **argv)
{
	sigset_t blocked, pending, queued;
	pthread_t sends;
	struct sigaction s, old;
	siginfo_t info;
	struct timespec soon = {5, 0};
	int status, x;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGPROF);
	sigprocmask(SIG_BLOCK, &blocked, 0);
	signal(SIGWINCH, tick);
	int provided;
	/* These stay pending while MPI begins. */
	pid_t early = fork();
	if (early == 0)
		_exit(6);
	waitid(P_PID, early, &info, WEXITED | WNOWAIT);
	sigemptyset(&queued);
	sigaddset(&queued, SIGRTMIN);
	sigaddset(&queued, SIGTRAP);
	sigaddset(&queued, SIGURG);
	sigprocmask(SIG_BLOCK, &queued, 0);
	kill(getpid(), SIGPROF);
	kill(getpid(), SIGTRAP);
	kill(getpid(), SIGURG);
	pthread_create(&sends, 0, sender, 0);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	dispositions("after MPI_Init");
	say("blocked");
	masks();
	MPI_Barrier(MPI_COMM_WORLD);
	newcomers();
	more = 0;
	pthread_join(sends, 0);
	sigpending(&pending);
	say("queued %d %d %d\n", sigismember(&pending, SIGRTMIN), sigismember(&pending, SIGTRAP),
		sigismember(&pending, SIGURG));
	sigset_t children;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	x = sigtimedwait(&children, &info, &(struct timespec){0, 0});
	say("early child %d %d %d %d\n", x == SIGCHLD, info.si_code == CLD_EXITED, info.si_pid == early, info.si_status);
	waitpid(early, 0, 0);
	while (sigtimedwait(&queued, &info, &(struct timespec){0, 0}) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &queued, 0);

	/* What is blocked waits for whoever asks. */
	kill(getpid(), SIGUSR2);
	kill(getpid(), SIGPROF);
	pid_t child = fork();
	if (child == 0)
		exit(5);
	waitid(P_PID, child, &info, WEXITED | WNOWAIT);
	usleep(20000);
	sigpending(&pending);
	say("pending %d %d %d\n", sigismember(&pending, SIGUSR2), sigismember(&pending, SIGPROF),
		sigismember(&pending, SIGCHLD));
	x = sigtimedwait(&blocked, &info, &soon);
	x += sigtimedwait(&blocked, &info, &soon);
	x += sigtimedwait(&blocked, &info, &soon);
	waitpid(child, &status, 0);
	say("taken %d, child %d\n", x, WEXITSTATUS(status));

	/* A handler that would take system's child, if it ran meanwhile. */
	memset(&s, 0, sizeof s);
	s.sa_handler = reap;
	s.sa_flags = SA_RESTART | SA_NOCLDSTOP;
	sigaction(SIGCHLD, &s, &old);
	say("old %d %x\n", old.sa_handler == SIG_DFL, old.sa_flags & ~0x04000000);
	sigaction(SIGCHLD, 0, &old);
	say("new %d %x\n", old.sa_handler == reap, old.sa_flags & ~0x04000000);
	sigprocmask(SIG_UNBLOCK, &blocked, 0);
	for (int i = 0; i < 5; i++)
		say("system %d\n", system("exit 3") >> 8);
	say("reaped %d\n", (int)reaped);
	signal(SIGCHLD, SIG_DFL);

	little(1);
	busy(ITIMER_REAL, SIGALRM, "alarm");
	little(0);
	busy(ITIMER_PROF, SIGPROF, "profile");
	say("signal %d\n", signal(SIGALRM, SIG_IGN) == tick);

	char line[100] = "", *args[] = {"sh", "-c", "exit 4", 0};
	FILE *f = popen("echo popen", "r");
	fgets(line, sizeof line, f);
	say("%s%d\n", line, pclose(f));
	posix_spawnp(&child, "sh", 0, 0, args, environ);
	waitpid(child, &status, 0);
	say("spawn %d\n", WEXITSTATUS(status));
	child = vfork();
	if (child == 0) {
		execvp("sh", args);
		_exit(1);
	}
	waitpid(child, &status, 0);
	say("vfork %d\n", WEXITSTATUS(status));
	dispositions("at the end");

	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	say("main blocks");
	masks();
	end();
}
