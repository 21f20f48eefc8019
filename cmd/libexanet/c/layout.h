/* Written by cmd/libexanet/layout from the Go source: change that, and run
   go run ./cmd/libexanet/layout >cmd/libexanet/c/layout.h */
#ifndef EXANET_LAYOUT_H
#define EXANET_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* emu/host */
enum { BELL_FOREGROUND = 1 };
enum { BELL_BACKGROUND = 2 };
enum { BELL_ANNOUNCED = 4 };
enum { BELL_MESSAGES = 3 };

/* emu/host.doorbell */
struct doorbell {
	uint32_t flags;
	uint32_t core;
	uint32_t napping;
	uint32_t thread;
	unsigned char unused0[48];
	uint32_t foreground;
	uint32_t background;
	unsigned char unused1[56];
};
_Static_assert(offsetof(struct doorbell, flags) == 0, "flags");
_Static_assert(offsetof(struct doorbell, core) == 4, "core");
_Static_assert(offsetof(struct doorbell, napping) == 8, "napping");
_Static_assert(offsetof(struct doorbell, thread) == 12, "thread");
_Static_assert(offsetof(struct doorbell, foreground) == 64, "foreground");
_Static_assert(offsetof(struct doorbell, background) == 68, "background");
_Static_assert(sizeof(struct doorbell) == 128, "size");

#endif
