/* Handles of a host of which no code here asks. */
#ifndef EXANET_HANDLES_H
#define EXANET_HANDLES_H

#include <stdint.h>

typedef uint64_t exanet_handle;

#endif
