/* Preloaded behind the library: what of the host would carry messages ends the
   program. Empty messages pass, since the ranks may excuse themselves by them when
   they meet, and those to nobody, by which the host is asked what it thinks of a type. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void closed(const char *name)
{
	fprintf(stderr, "the host carries messages by %s\n", name);
	abort();
}

/* mpi.h has declared these: they have other names in C. */
#define TRAP(name)                                       \
	void in_##name(void) __asm__("MPI_" #name);      \
	void in_##name(void) { closed(#name); }          \
	void in_p##name(void) __asm__("PMPI_" #name);    \
	void in_p##name(void) { closed(#name); }

TRAP(Isend) TRAP(Send_init) TRAP(Ssend) TRAP(Issend) TRAP(Ssend_init) TRAP(Rsend) TRAP(Irsend) TRAP(Rsend_init)
TRAP(Bsend) TRAP(Ibsend) TRAP(Bsend_init) TRAP(Irecv) TRAP(Recv_init) TRAP(Sendrecv) TRAP(Sendrecv_replace)
TRAP(Probe) TRAP(Mprobe) TRAP(Improbe)
TRAP(Bcast) TRAP(Gather) TRAP(Gatherv) TRAP(Scatter) TRAP(Scatterv) TRAP(Allgatherv) TRAP(Alltoall) TRAP(Reduce)
TRAP(Reduce_scatter) TRAP(Reduce_scatter_block) TRAP(Scan) TRAP(Exscan) TRAP(Ibcast) TRAP(Iallreduce) TRAP(Ialltoallw)
TRAP(Neighbor_allgather) TRAP(Neighbor_alltoallw)

int PMPI_Send(const void *buf, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
	if (n && to != MPI_PROC_NULL)
		closed("Send");
	return ((__typeof__(PMPI_Send) *)dlsym(RTLD_NEXT, "PMPI_Send"))(buf, n, t, to, tag, c);
}

int PMPI_Recv(void *buf, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s)
{
	if (n)
		closed("Recv");
	return ((__typeof__(PMPI_Recv) *)dlsym(RTLD_NEXT, "PMPI_Recv"))(buf, n, t, from, tag, c, s);
}
