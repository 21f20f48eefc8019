/* Calls of the program on the fast path, see calls.c. Each returns 1 if it has been done, 0 if it is to be made
   in Go. */
#ifndef EXANET_CALLS_H
#define EXANET_CALLS_H

#include "handles.h"
#include "layout.h"

/* 0: there is none. */
extern struct fast_table *exanet_table;

#ifdef EXANET_ABI
extern int exanet_count_at; /* in a status */
#endif

void exanet_fast_open(struct fast_table *t, exanet_handle no_request);

int exanet_fast_send(const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm);
int exanet_fast_recv(void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm,
	MPI_Status *status);
int exanet_fast_isend(const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm,
	MPI_Request *request);
int exanet_fast_irecv(void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm,
	MPI_Request *request);

/* Both leave a receive to wait for. */
int exanet_fast_sendrecv(const void *out, int64_t outcount, exanet_handle outtype, int dest, int outtag, void *in,
	int64_t incount, exanet_handle intype, int source, int intag, exanet_handle comm, MPI_Request *request);
int exanet_fast_sendrecv_replace(void *buf, int64_t count, exanet_handle type, int dest, int outtag, int source,
	int intag, exanet_handle comm, MPI_Request *request);

int exanet_fast_wait(MPI_Request *request, MPI_Status *status);
int exanet_fast_waitall(int n, MPI_Request *requests, MPI_Status *statuses);
int exanet_fast_test(MPI_Request *request, int *flag, MPI_Status *status);
int exanet_fast_testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int exanet_fast_testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses);

#endif
