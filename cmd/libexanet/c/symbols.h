/* What the host MPI defines. */
#ifndef EXANET_SYMBOLS_H
#define EXANET_SYMBOLS_H

#include "handles.h"

/* What the host MPI defines under a name; 0 if nothing. */
void *exanet_symbol(const char *name);

/* The host MPI's function of a name that begins with MPI. */
void *exanet_host(const char *name);

/* Declares host, a pointer to the host MPI's own function, which returns a type. */
#define HOST_GIVES(type, name, ...)       \
	static type (*host)(__VA_ARGS__); \
	if (!host)                        \
		host = (type (*)(__VA_ARGS__))exanet_host(name)
#define HOST(name, ...) HOST_GIVES(int, #name, __VA_ARGS__)

/* Predefined objects are data of Open MPI, to which this library is not linked. */
#ifdef OPEN_MPI
#define WORLD ((MPI_Comm)exanet_symbol("ompi_mpi_comm_world"))
#define BYTE ((MPI_Datatype)exanet_symbol("ompi_mpi_byte"))
#define NO_TYPE ((MPI_Datatype)exanet_symbol("ompi_mpi_datatype_null"))
#else
#define WORLD MPI_COMM_WORLD
#define BYTE MPI_BYTE
#define NO_TYPE MPI_DATATYPE_NULL
#endif

#endif
