/* Threads as the Go part meets them, see threads.c. */
#ifndef EXANET_THREADS_H
#define EXANET_THREADS_H

/* Whether this thread has called the Go part before. */
extern __thread int exanet_met __attribute__((tls_model("initial-exec")));

/* Calls the Go part for the first time in this thread, and returns 1. */
int exanet_greet(void);

/* Loads the Go part without a trace in the program's signals, as dlopen, and greets it; 0 and why if
   it cannot be. */
void *exanet_open(const char *path, const char **why);

#endif
