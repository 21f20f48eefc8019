/*
 * Calls on the express lane that wait for any of some requests, or test for it. They look at
 * each of them in turn; where the first message does not come soon they go on in Go.
 */
#include "gate.h"
#include "noted.h"
#include "rendezvous.h"

enum { NONE = -1, GO = -2 };

/* The first of n requests that is done; NONE if none is, within so many looks, and GO if that
   is to be found out there. */
static int first(struct express_table *t, int n, const exanet_handle *h, uint32_t looks)
{
	int active = 0;
	for (int i = 0; i < n; i++) {
		if (!exanet_known(t, h[i]))
			return GO;
		active += h[i] != exanet_no_request;
	}
	if (!active)
		return GO;
	for (uint32_t left = looks / n;; left--) {
		for (int i = 0; i < n; i++) {
			struct express_slot *s = exanet_slot(t, h[i]);
			if (h[i] == exanet_no_request)
				continue;
			if (!s || s->state == EXPRESS_DONE)
				return i;
			if (s->state == EXPRESS_SENDING) {
				if (!exanet_push(t, s, 0) && !s->advert.word)
					return GO;
			} else if (s->state != EXPRESS_NOTED || exanet_move(t, s, 0) == EXANET_IN_GO) {
				return GO;
			}
			if (s->state == EXPRESS_DONE)
				return i;
		}
		if (!left)
			return NONE;
	}
}

/* Ends the one that first has found; *at is it, or NONE, and the result is 0 if Go has to go on. */
static int any(struct express_table *t, int n, MPI_Request *requests, int *at, MPI_Status *status, int blocks)
{
	exanet_handle *h = (exanet_handle *)requests;
	if (n <= 0 || !exanet_known(t, *h) || !express_enter(t))
		return 0;
	uint32_t looks = patience(t);
	*at = first(t, n, h, blocks ? looks : 0);
	if (*at >= 0)
		exanet_end(t, &h[*at], (uintptr_t)status < 4096 ? 0 : status);
	express_leave(t);
	return *at >= 0 || (*at == NONE && !blocks && exanet_vain(looks));
}

int exanet_lane_waitany(struct express_table *t, int n, MPI_Request *requests, int *index, MPI_Status *status)
{
	int at;
	if (!any(t, n, requests, &at, status, 1))
		return 0;
	*index = at;
	return 1;
}

int exanet_lane_testany(struct express_table *t, int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	int at;
	if (!any(t, n, requests, &at, status, 0))
		return 0;
	*flag = at >= 0;
	*index = at >= 0 ? at : MPI_UNDEFINED;
	return 1;
}

/* All that are done, from the first one on. */
static int some(struct express_table *t, int n, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses, int blocks)
{
	exanet_handle *h = (exanet_handle *)requests;
	if (n <= 0 || !exanet_known(t, *h) || !express_enter(t))
		return 0;
	if ((uintptr_t)statuses < 4096)
		statuses = 0;
	uint32_t looks = patience(t);
	int at = first(t, n, h, blocks ? looks : 0), k = 0;
	for (int i = at; at >= 0 && i < n; i++) {
		struct express_slot *s = exanet_slot(t, h[i]);
		if (h[i] == exanet_no_request || (s && s->state != EXPRESS_DONE))
			continue;
		indices[k] = i;
		if (statuses)
			statuses[k].MPI_ERROR = MPI_SUCCESS;
		exanet_end(t, &h[i], statuses ? &statuses[k] : 0);
		k++;
	}
	express_leave(t);
	if (at == GO || (at == NONE && (blocks || !exanet_vain(looks))))
		return 0;
	*outcount = k;
	return 1;
}

int exanet_lane_waitsome(struct express_table *t, int n, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
	return some(t, n, requests, outcount, indices, statuses, 1);
}

int exanet_lane_testsome(struct express_table *t, int n, MPI_Request *requests, int *outcount, int *indices, MPI_Status *statuses)
{
	return some(t, n, requests, outcount, indices, statuses, 0);
}
