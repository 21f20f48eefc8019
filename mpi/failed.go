package mpi

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Failed messages say that their sender can not go on, and why. They begin with a
// mark, which no data of a program begin with: it is in no memory that a program
// can read, since whoever finds it in a buffer removes it. The ranks may have
// passed any lengths, so a failed message may have the very size that its receiver
// expects.
//
// A failed message is on the same side of the protocol's limit as the one that it
// replaces: a short message needs nobody's consent, and a long one is what the
// protocol optimistic wants for a long receive. A long one is as short as can be,
// so every long buffer takes it; a short one may not fit in the buffer, which then
// stays as it is, and so tells the reason by its size as well.
const (
	failedDied  = 37 // sizes of short ones, and byte markSize
	failedOther = 38
	markSize    = 32
)

var mark = [markSize]byte{
	0x9d, 0x1c, 0xe4, 0x53, 0x0a, 0xb7, 0x68, 0xf1, 0x2e, 0x85, 0xdb, 0x40, 0x77, 0xc9, 0x16, 0xaa,
	0xf3, 0x5e, 0x02, 0x91, 0xcd, 0x3b, 0x64, 0xe8, 0x1f, 0xb2, 0x49, 0xd6, 0x80, 0x2d, 0x7b, 0xc4,
}

// failedMessage returns what to send instead of b.
func failedMessage(b []byte, limit int, err error) []byte {
	code := failedOther
	if errors.Is(err, ErrProcFailed) {
		code = failedDied
	}
	size := code
	if len(b) > limit {
		size = limit + 1
	}
	m := make([]byte, size)
	copy(m, mark[:])
	m[markSize] = byte(code)
	return m
}

// errElsewhere stands for the error of another rank, which says there what was wrong.
var errElsewhere = &explained{"the call failed there", [2]error{ErrCount, ErrCount}}

// reason is why the sender of a failed message could not go on.
func reason(code int) error {
	if code == failedDied {
		return ErrProcFailed
	}
	return errElsewhere
}

// failedBy finds out whether a message of the given size, which has been received
// into buf, is a failed one, and returns the reason.
func failedBy(buf []byte, limit, size int) error {
	if size != failedDied && size != failedOther && size != limit+1 || size > len(buf) ||
		!bytes.Equal(buf[:markSize], mark[:]) {
		return nil
	}
	clear(buf[:markSize])
	return reason(int(buf[markSize]))
}

// check returns what is wrong with a message that has ended.
func (s *collective) check(r *variants.Request) error {
	err, do, expected, size := r.Err, "", len(r.Buf), r.Status.Size
	limit := s.c.rank.fab.Limit()
	switch {
	case err == nil && !r.Recv:
		return nil
	case err == nil:
		if why := failedBy(r.Buf, limit, size); why != nil {
			err, do = fmt.Errorf("%w: that rank could not go on", why), "see the error of that rank"
			break
		}
		if size == expected {
			return nil
		}
		err, do = fmt.Errorf("%w: that rank passed %d bytes", ErrCount, size), "all ranks must pass matching counts"
	case errors.Is(err, ErrProcFailed):
		err, do = s.c.whyFailed(err, r.Ctx, r.Peer)
	case r.Recv && errors.Is(err, ErrTruncate):
		const either = "that rank could not go on, or it passed"
		do = "see the error of that rank"
		switch size {
		case failedDied, failedOther:
			err = fmt.Errorf("%w: %s %d bytes (%w)", reason(size), either, size, err)
		case limit + 1: // of a long message to a rank that passed a short buffer
			err = fmt.Errorf("%w: %s %d bytes", err, either, size)
		default:
			err, do = fmt.Errorf("%w: that rank passed %d bytes", err, size), "all ranks must pass matching counts"
		}
	}
	return s.c.fail(s.name, int(r.Peer), noValue, expected, err, do)
}
