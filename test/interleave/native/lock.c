//go:build interleave && cgo

#include "sanitizer.h"
#include "lock.h"

int native_enter(void *l)
{
	begun();
	return lock_enter(l);
}

void native_leave(void *l)
{
	begun();
	lock_leave(l);
}
