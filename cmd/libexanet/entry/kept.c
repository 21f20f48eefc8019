/*
 * Persistent requests that are started on the express lane, as Isend and Irecv would begin. The handle
 * stays; what has been started is a request of the lane, whose number the table has. Where the lane
 * refuses it is started in Go.
 */
#include "noted.h"
#include "lane.h"

int exanet_lane_start(struct express_table *t, MPI_Request *request)
{
	struct express_kept *k = exanet_kept(t, *(exanet_handle *)request);
	exanet_handle started;
	if (!k || !k->comm || k->away)
		return 0;
	void *buf = (void *)(uintptr_t)k->buf;
	if (!(k->sends ? exanet_lane_isend(t, buf, k->count, k->type, k->peer, k->tag, k->comm, (MPI_Request *)&started)
	               : exanet_lane_irecv(t, buf, k->count, k->type, k->peer, k->tag, k->comm, (MPI_Request *)&started)))
		return 0;
	k->away = exanet_number_of(started, EXANET_REQUEST);
	return 1;
}

int exanet_lane_startall(struct express_table *t, int n, MPI_Request *requests)
{
	int i = 0;
	while (i < n && exanet_lane_start(t, &requests[i]))
		i++;
	return i;
}
