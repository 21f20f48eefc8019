//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import "unsafe"

// Calls that look at several requests, and end none.

// look tells of request i: its status, whether it is active, and whether it has completed.
func (l *several) look(i int) (st C.MPI_Status, active, done bool, code C.int) {
	h := l.handles[i]
	switch q := l.ours[i]; {
	case q != nil:
		done, of := q.Status()
		setStatus(unsafe.Pointer(&st), of)
		return st, !l.known[i].persistent || q.Active(), done, C.MPI_SUCCESS
	case h == noRequest:
		setStatus(unsafe.Pointer(&st), emptyStatus)
		return st, false, true, C.MPI_SUCCESS
	}
	st, done, code = hostBusy.status(h)
	return st, true, done, code
}

// looks calls found with each that has completed, until it returns false. What it returns is that of
// the call, and how many are active and how many have not completed, as far as it has looked.
func (l *several) looks(found func(i int, st C.MPI_Status, active bool) bool) (r int64, active, left int) {
	switch {
	case l.passes():
		return pass, 0, 0
	case l.bad:
		return stray(), 0, 0
	}
	for i := range l.handles {
		st, is, done, code := l.look(i)
		if code != C.MPI_SUCCESS {
			return hostFailed(code), 0, 0
		}
		if is {
			active++
		}
		if !done {
			left++
		} else if !found(i, st, is) {
			return 0, active, left
		}
	}
	if left > 0 {
		pollHost()
	}
	return 0, active, left
}

//export exanet_Request_get_status_all
func exanet_Request_get_status_all(n int32, p, flag, sts unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	out := statuses(sts, n)
	r, _, left := l.looks(func(i int, st C.MPI_Status, _ bool) bool {
		if out != nil {
			out[i] = st
		}
		return true
	})
	if r == 0 {
		setFlag(flag, left == 0)
	}
	return r
}

//export exanet_Request_get_status_any
func exanet_Request_get_status_any(n int32, p, index, flag, status unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	at := C.int(C.MPI_UNDEFINED)
	r, active, _ := l.looks(func(i int, st C.MPI_Status, is bool) bool {
		if is {
			at = C.int(i)
			if status != nil {
				*(*C.MPI_Status)(status) = st
			}
		}
		return !is
	})
	if r != 0 {
		return r
	}
	if active == 0 {
		setStatus(status, emptyStatus)
	}
	*(*C.int)(index) = at
	setFlag(flag, active == 0 || at != C.MPI_UNDEFINED)
	return 0
}

//export exanet_Request_get_status_some
func exanet_Request_get_status_some(n int32, p, outcount, indices, sts unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	out, at, count := statuses(sts, n), unsafe.Slice((*C.int)(indices), max(n, 0)), 0
	r, active, _ := l.looks(func(i int, st C.MPI_Status, is bool) bool {
		if is {
			at[count] = C.int(i)
			if out != nil {
				out[count] = st
			}
			count++
		}
		return true
	})
	if r != 0 {
		return r
	}
	*(*C.int)(outcount) = C.int(count)
	if active == 0 {
		*(*C.int)(outcount) = C.MPI_UNDEFINED
	}
	return 0
}
