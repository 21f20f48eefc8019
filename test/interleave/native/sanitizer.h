/* What code under test is compiled with, instead of the C library's. */
#ifndef NATIVE_SANITIZER_H
#define NATIVE_SANITIZER_H

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void begun(void);
long native_futex(uint32_t *word, int wakes, uint32_t v);
void *native_memcpy(void *to, const void *from, unsigned long n);

#define syscall(number, word, op, v, ...) native_futex(word, (op) == FUTEX_WAKE, v)
#define memcpy native_memcpy
#define sched_getcpu() 0

#endif
