//go:build mpich || openmpi || abi

package main

// #include "host.h"
import "C"

import (
	"unsafe"

	"github.com/exanet-mpi/exanet/mpi"
)

// Calls that wait for all or for some of several requests, of ours and of the
// host's at once.

//export exanet_Waitall
func exanet_Waitall(n int32, p, sts unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	switch {
	case !l.some && !l.kept:
		for _, h := range l.handles {
			hostBusy.drop(hostRequest, h)
		}
		return pass
	case l.bad:
		return stray()
	case l.blocks():
		return l.all(l.wait(), statuses(sts, n))
	}
	for !l.oursDone() || !l.hostDone() {
		l.push()
	}
	return l.endAll(sts)
}

//export exanet_Testall
func exanet_Testall(n int32, p, flag, sts unsafe.Pointer) int64 {
	l := severalOf(n, p)
	defer l.give()
	switch {
	case l.passes():
		return pass
	case l.bad:
		return stray()
	case !l.mixed:
		out, done, err := mpi.TestAllStatus(l.out, l.ours...)
		l.out = out
		setFlag(flag, done)
		if !done && err == nil {
			pollHost()
			return 0
		}
		return l.all(err, statuses(sts, n))
	}
	done := l.oursDone() && l.hostDone()
	setFlag(flag, done)
	if !done {
		l.push()
		return 0
	}
	return l.endAll(sts)
}

// wait waits for ours.
func (l *several) wait() (err error) {
	l.out, err = mpi.WaitAllStatus(l.out, l.ours...)
	return err
}

// endAll ends all requests, which have completed.
func (l *several) endAll(sts unsafe.Pointer) int64 {
	n := len(l.handles)
	err := l.wait()
	code := int64(0)
	if l.mixed {
		code = hostFailed(C.exanet_waitall(C.int(n), l.hostRequests(), (*C.MPI_Status)(sts)))
		theirs := statuses(sts, int32(n))
		for i := range l.handles {
			l.ended(i, statusAt(theirs, i))
		}
		l.returned()
	}
	if r := l.all(err, statuses(sts, int32(n))); r != 0 {
		return r
	}
	return code
}

// all ends those of ours, and fills in their statuses.
func (l *several) all(err error, sts []C.MPI_Status) int64 {
	if err != nil && len(l.out) == 0 {
		return result(worldHandle, err)
	}
	var comm handle
	for i, d := range l.out {
		if l.ours[i] == nil {
			if sts != nil && !l.mixed {
				setStatus(unsafe.Pointer(&sts[i]), emptyStatus)
				sts[i].MPI_ERROR = C.MPI_SUCCESS
			}
			continue
		}
		if sts != nil {
			setStatus(unsafe.Pointer(&sts[i]), d.Status)
			sts[i].MPI_ERROR = codeOf(d.Err)
		}
		if d.Err != nil && comm == 0 {
			comm = l.known[i].comm
		}
		l.end(i)
	}
	if err != nil {
		return failed(comm, C.MPI_ERR_IN_STATUS)
	}
	return 0
}

//export exanet_Waitsome
func exanet_Waitsome(n int32, p, outcount, indices, sts unsafe.Pointer) int64 {
	return someOf(n, p, outcount, indices, sts, true)
}

//export exanet_Testsome
func exanet_Testsome(n int32, p, outcount, indices, sts unsafe.Pointer) int64 {
	return someOf(n, p, outcount, indices, sts, false)
}

func someOf(n int32, p, outcount, indices, sts unsafe.Pointer, waits bool) int64 {
	l := severalOf(n, p)
	defer l.give()
	switch {
	case l.passes():
		return pass
	case l.bad:
		return stray()
	}
	s := some{several: l, n: (*C.int)(outcount), sts: statuses(sts, n)}
	if n > 0 {
		s.indices = unsafe.Slice((*C.int)(indices), n)
	}
	*s.n = 0
	var err error
	if waits && l.blocks() {
		l.out, err = mpi.WaitSome(l.out, l.ours...)
		return s.found(err)
	}
	for {
		l.out, err = mpi.TestSome(l.out, l.ours...)
		active := s.hostSome(len(l.out))
		if len(l.out) > 0 || err != nil || *s.n > 0 {
			return s.found(err)
		}
		if !active && l.idle() {
			*s.n = C.MPI_UNDEFINED
			return 0
		}
		pollHost()
		if !waits {
			return 0
		}
	}
}

// some is the outcome of Waitsome and Testsome: ours behind the host's.
type some struct {
	*several
	n       *C.int
	indices []C.int
	sts     []C.MPI_Status
}

// hostSome ends what has completed of the host's requests, of which there may be
// none. It leaves room for as many of ours.
func (s *some) hostSome(ours int) (active bool) {
	if !s.mixed {
		return false
	}
	C.exanet_testsome(C.int(len(s.host)), s.hostRequests(), s.n, &s.indices[0], unsafe.SliceData(s.sts))
	for k := range max(*s.n, 0) {
		s.ended(int(s.indices[k]), statusAt(s.sts, int(k)))
	}
	s.returned()
	if *s.n == C.MPI_UNDEFINED {
		*s.n = 0
		return false
	}
	return true
}

// idle reports whether none of ours is active.
func (l *several) idle() bool {
	for i, q := range l.ours {
		if q != nil && (!l.known[i].persistent || q.Active()) {
			return false
		}
	}
	return true
}

func (s *some) found(err error) int64 {
	at := int(*s.n)
	if len(s.out) == 0 {
		if err != nil {
			return result(worldHandle, err)
		}
		if at == 0 {
			*s.n = C.MPI_UNDEFINED
		}
		return 0
	}
	var comm handle
	for _, d := range s.out {
		s.indices[at] = C.int(d.Index)
		if s.sts != nil {
			setStatus(unsafe.Pointer(&s.sts[at]), d.Status)
			s.sts[at].MPI_ERROR = codeOf(d.Err)
		}
		if d.Err != nil && comm == 0 {
			comm = s.known[d.Index].comm
		}
		s.end(d.Index)
		at++
	}
	*s.n = C.int(at)
	if err != nil {
		return failed(comm, C.MPI_ERR_IN_STATUS)
	}
	return 0
}
