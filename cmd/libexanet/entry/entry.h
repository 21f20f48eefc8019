/* What the generated entry points and entry.c share. */
#ifndef EXANET_ENTRY_H
#define EXANET_ENTRY_H

#include <mpi.h>
#include <stdint.h>

/* What ours return: 0, EXANET_PASS, or an error code with the communicator
   whose error handler is to be called above it. */
#define EXANET_PASS ((int64_t)-1)

/* The forms of a call. */
enum { exanet_do, exanet_begin, exanet_init };

/* Whether the Go part is at work: between MPI_Init and MPI_Finalize. */
extern int exanet_on;

struct exanet_slot {
	const char *name;
	void **slot;
};
extern const struct exanet_slot exanet_slots[];

extern int64_t (*exanet_adopt)(uintptr_t comm, void *newcomm, int32_t tag);
extern void (*exanet_note)(void);

/* The host MPI's function of a name that begins with MPI_. */
void *exanet_host(const char *name);

/* Calls the error handler and returns the code. */
int exanet_failed(int64_t result);

/* Declares host, a pointer to the host MPI's own function. */
#define HOST(name, ...)                                          \
	static int (*host)(__VA_ARGS__);                         \
	if (!host)                                               \
		host = (int (*)(__VA_ARGS__))exanet_host(#name)

#endif
