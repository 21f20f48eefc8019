/* Calls on the express lane, see lane.c, noted.c, any.c and kept.c. Each returns 1 if it has been done, 0 if it
   is to be made in Go. */
#ifndef EXANET_LANE_H
#define EXANET_LANE_H

#include "express.h"
#include "handles.h"

/* Numbers of requests that are not those of table.go. */
enum { EXPRESS_BASE = 1 << 25, EXPRESS_SENT_ALL = (1 << 26) - 1 };

/* 0: there is none. */
extern struct express_table *exanet_table;
extern void (*exanet_refill)(int32_t world);
extern exanet_handle exanet_no_message;
extern exanet_handle (*exanet_extracted)(exanet_handle comm, int32_t source, int32_t tag, const void *data, uint64_t size);
extern int64_t (*exanet_rest)(exanet_handle receive, int32_t send, void *out, int64_t outcount, exanet_handle outtype, int32_t dest, int32_t outtag, exanet_handle comm, void *status);

void exanet_lane_open(struct express_table *t, const struct exanet_none *none);

int exanet_lane_send(struct express_table *, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm);
int exanet_lane_recv(struct express_table *, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Status *status);
int exanet_lane_isend(struct express_table *, const void *buf, int64_t count, exanet_handle type, int dest, int tag, exanet_handle comm, MPI_Request *request);
int exanet_lane_irecv(struct express_table *, void *buf, int64_t count, exanet_handle type, int source, int tag, exanet_handle comm, MPI_Request *request);
int exanet_lane_wait(struct express_table *, MPI_Request *request, MPI_Status *status);
int exanet_lane_waitall(struct express_table *, int n, MPI_Request *requests, MPI_Status *statuses);
int exanet_lane_sendrecv(struct express_table *, const void *out, int64_t outcount, exanet_handle outtype, int dest, int outtag, void *in, int64_t incount, exanet_handle intype, int source, int intag, exanet_handle comm, MPI_Status *status, int64_t *result);
int exanet_lane_sendrecv_replace(struct express_table *, void *buf, int64_t count, exanet_handle type, int dest, int outtag, int source, int intag, exanet_handle comm, MPI_Status *status, int64_t *result);
int exanet_lane_probe(struct express_table *, int source, int tag, exanet_handle comm, MPI_Status *status);
int exanet_lane_iprobe(struct express_table *, int source, int tag, exanet_handle comm, int *flag, MPI_Status *status);
int exanet_lane_mprobe(struct express_table *, int source, int tag, exanet_handle comm, MPI_Message *message, MPI_Status *status);
int exanet_lane_improbe(struct express_table *, int source, int tag, exanet_handle comm, int *flag, MPI_Message *message, MPI_Status *status);
int exanet_lane_mrecv(struct express_table *, void *buf, int64_t count, exanet_handle type, MPI_Message *message, MPI_Status *status);
int exanet_lane_imrecv(struct express_table *, void *buf, int64_t count, exanet_handle type, MPI_Message *message, MPI_Request *request);
int exanet_lane_waitany(struct express_table *, int n, MPI_Request *requests, int *index, MPI_Status *status);
int exanet_lane_waitsome(struct express_table *, int n, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses);
int exanet_lane_testall(struct express_table *, int n, MPI_Request *requests, int *flag, MPI_Status *statuses);
int exanet_lane_testany(struct express_table *, int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status);
int exanet_lane_testsome(struct express_table *, int n, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses);
int exanet_lane_start(struct express_table *, MPI_Request *request);
int exanet_lane_test(struct express_table *, MPI_Request *request, int *flag, MPI_Status *status);

/* Starts the first of n requests, and returns how many. */
int exanet_lane_startall(struct express_table *, int n, MPI_Request *requests);

/* A message of n bytes of a collective, whose tag it has, between two blocking calls, which may
   combine it. */
int exanet_lane_pass(struct express_table *, const void *buf, uint32_t n, const struct express_combination *c, int dest, int tag, exanet_handle comm);
int exanet_lane_take(struct express_table *, void *buf, uint32_t n, const struct express_combination *c, int source, int tag, exanet_handle comm);

#endif
