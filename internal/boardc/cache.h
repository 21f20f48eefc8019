/* What a rank that waits may do for what it writes next. */
#ifndef EXANET_CACHE_H
#define EXANET_CACHE_H

/* Brings a line into the cache that is to be written, for which a builtin brings it only to be read. */
static inline void prefetch_to_write(void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
