#include "osu.h"

#include <stdlib.h>
#include <string.h>

/* A byte depends on all that could be mixed up: its place, who sent it, and when. */
static inline unsigned char pattern(size_t i, int who, int round)
{
	return (unsigned char)(i + (i >> 8) * 7 + (unsigned)who * 37 + (unsigned)round * 101 + 1);
}

void fill(void *to, size_t size, int who, int round)
{
	unsigned char *p = to;

	for (size_t i = 0; i < size; i++)
		p[i] = pattern(i, who, round);
}

void expect(const void *at, size_t size, int who, int round, const char *what)
{
	const unsigned char *p = at;

	for (size_t i = 0; i < size; i++)
		if (p[i] != pattern(i, who, round))
			die("%s: byte %zu of %zu from rank %d is %d and should be %d (round %d)", what, i, size, who, p[i],
			    pattern(i, who, round), round);
}

void *buffer(size_t size)
{
	void *p;

	if (posix_memalign(&p, 4096, size > 0 ? size : 1))
		die("there is no memory for %zu bytes", size);
	memset(p, 1, size);
	return p;
}
