/*
 * Errors that ours have found, and the error handlers that are told of them.
 */
#include "errors.h"
#include "symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

exanet_handle (*exanet_whose)(int32_t number);

/* Our codes are the host's classes. */
static int class(int64_t result) { return (int)(result & 0x7fffffff); }

/* The program's functions by the handles of the error handlers that they have become. A
   function may change the code that the call returns, of which MPI_Comm_call_errhandler
   does not tell: so these are called here. A handle is never taken out, since nobody
   knows when the last communicator has given it up. */
static struct handler {
	MPI_Errhandler handle;
	MPI_Comm_errhandler_function *call;
} *handlers;
static int known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct handler *find(MPI_Errhandler h)
{
	for (int i = 0; i < known; i++)
		if (handlers[i].handle == h)
			return &handlers[i];
	return 0;
}

static void remember(MPI_Errhandler h, MPI_Comm_errhandler_function *call)
{
	pthread_mutex_lock(&lock);
	struct handler *at = find(h), *more;
	if (!at && (more = realloc(handlers, (known + 1) * sizeof *more))) {
		handlers = more;
		at = &handlers[known++];
	}
	if (at)
		*at = (struct handler){h, call};
	pthread_mutex_unlock(&lock);
}

int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *f, MPI_Errhandler *handle)
{
	HOST(MPI_Comm_create_errhandler, MPI_Comm_errhandler_function *, MPI_Errhandler *);
	int code = host(f, handle);
	if (code == MPI_SUCCESS)
		remember(*handle, f);
	return code;
}

/* The error handler of a communicator, to be given back; 0 if the host does not tell. */
static int handler_of(MPI_Comm comm, MPI_Errhandler *h)
{
	HOST(MPI_Comm_get_errhandler, MPI_Comm, MPI_Errhandler *);
	return host(comm, h) == MPI_SUCCESS;
}

static void give_back(MPI_Errhandler h)
{
	HOST(MPI_Errhandler_free, MPI_Errhandler *);
	host(&h);
}

#ifndef OPEN_MPI
/* If MPI_Comm_call_errhandler is fatal, MPICH ends the process, but not the job: the
   launcher finds out, kills the others, and its exit code may be that of these. */
static void words(int code, char *text)
{
	HOST(MPI_Error_string, int, char *, int *);
	int n;
	if (code == EXANET_ERR_FAILED) /* for which MPICH has a class, but no words */
		strcpy(text, "a rank has died");
	else if (host(code, text, &n) != MPI_SUCCESS)
		snprintf(text, MPI_MAX_ERROR_STRING, "error class %d", code);
}

static int this_rank(void)
{
	HOST(MPI_Comm_rank, MPI_Comm, int *);
	int rank;
	return host(WORLD, &rank) == MPI_SUCCESS ? rank : -1;
}

/* On the world: on another communicator MPI_Abort may wait for its ranks for ever. */
static void fatal(int code, const char *name)
{
	HOST(MPI_Abort, MPI_Comm, int);
	char text[MPI_MAX_ERROR_STRING];
	words(code, text);
	fprintf(stderr, "exanet: fatal error in %s of rank %d: %s\n", name, this_rank(), text);
	/* The launcher forgets what it has not read yet when it is told to end the job. */
	nanosleep(&(struct timespec){0, 50000000}, 0);
	host(MPI_COMM_WORLD, code);
	_exit(code); /* MPICH 4.2.1 returns, and its own error handler would have the program's exit handlers run */
}

static int is_fatal(MPI_Errhandler h)
{
#ifdef MPI_ERRORS_ABORT
	if (h == MPI_ERRORS_ABORT)
		return 1;
#endif
	return h == MPI_ERRORS_ARE_FATAL;
}
#else
static void fatal(int code, const char *name) { (void)code, (void)name; }
static int is_fatal(MPI_Errhandler h) { return (void)h, 0; }
#endif

/* Tells the error handler of a communicator, and returns the code that the call returns. */
static int tell(MPI_Comm comm, int code, const char *name)
{
	HOST(MPI_Comm_call_errhandler, MPI_Comm, int);
	MPI_Errhandler h;
	if (handler_of(comm, &h)) {
		pthread_mutex_lock(&lock);
		struct handler *at = find(h);
		MPI_Comm_errhandler_function *call = at ? at->call : 0;
		pthread_mutex_unlock(&lock);
		int ends = is_fatal(h);
		give_back(h);
		if (call) {
			call(&comm, &code, (char *)0);
			return code;
		}
		if (ends)
			fatal(code, name);
	}
	host(comm, code);
	return code;
}

int exanet_failed(int64_t result, const char *name)
{
	int32_t number = (int32_t)(result >> 32);
	return number ? tell((MPI_Comm)exanet_whose(number), class(result), name) : class(result);
}

int exanet_nowhere(const char *name) { return tell(WORLD, MPI_ERR_ARG, name); }

int exanet_told(int64_t result, int by_the_host)
{
	int32_t number = (int32_t)(result >> 32);
	if (by_the_host && number)
		exanet_whose(number);
	return by_the_host;
}

static int within(int rank, MPI_Comm comm)
{
	HOST(MPI_Comm_size, MPI_Comm, int *);
	int n;
	return rank >= 0 && host(comm, &n) == MPI_SUCCESS && rank < n;
}

int exanet_wrong_count(int64_t r, int64_t count) { return class(r) == MPI_ERR_COUNT && count < 0; }

int exanet_wrong_type(int64_t r, MPI_Datatype type, int64_t count)
{
	return class(r) == MPI_ERR_TYPE && type == NO_TYPE && count != 0;
}

/* What no operator is, or does not go with the type, which all ranks agree on. */
int exanet_wrong_op(int64_t r) { return class(r) == MPI_ERR_OP; }

int exanet_wrong_rank(int64_t r, int rank, MPI_Comm comm)
{
	return class(r) == MPI_ERR_RANK && rank != MPI_PROC_NULL && rank != MPI_ANY_SOURCE && !within(rank, comm);
}

int exanet_wrong_root(int64_t r, int root, MPI_Comm comm) { return class(r) == MPI_ERR_ROOT && !within(root, comm); }

int exanet_wrong_tag(int64_t r, int tag) { return class(r) == MPI_ERR_TAG && tag < 0 && tag != MPI_ANY_TAG; }
