/*
 * One session for the ranks that Hydra starts on a host.
 *
 * MPICH's launcher has its proxy give each rank a session, and of a session the kernel makes a group
 * (autogroup) that it schedules against the others: between ranks of different groups a yield may have no
 * effect, so those that share a core can be sure to hand it over by sleeping only, which takes twice as long and
 * needs somebody who wakes them. The proxy has a session of its own, without a terminal. There its
 * ranks stay, each in a process group, which is what it sends signals to.
 *
 * This needs the library in the proxy, where LD_PRELOAD in the launcher's environment brings it, and
 * that option of the launcher (-genv) which is for the programs alone does not.
 */
#include "entry.h"

#ifndef OPEN_MPI
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The proxy calls it in the process that is about to become a rank. */
pid_t setsid(void)
{
	if (strcmp(program_invocation_short_name, "hydra_pmi_proxy") == 0 && !exanet_disabled() && setpgid(0, 0) == 0)
		return getpid();
	return syscall(SYS_setsid);
}
#endif
