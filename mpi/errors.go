package mpi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/exanet-mpi/exanet/mpi/internal/commid"
	"github.com/exanet-mpi/exanet/network"
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
)

// Sentinel errors. The errors that this package returns are of type *Error and
// wrap one of them.
var (
	// ErrTruncate: the message was longer than the receive buffer, of which
	// nothing has been written (MPI_ERR_TRUNCATE).
	ErrTruncate = variants.ErrTruncate
	// ErrProcFailed: the other rank has died (MPIX_ERR_PROC_FAILED of ULFM).
	ErrProcFailed = variants.ErrPeerDied
	// ErrRank: no such rank in the communicator (MPI_ERR_RANK).
	ErrRank = errors.New("no such rank")
	// ErrRoot: no such root in the communicator (MPI_ERR_ROOT).
	ErrRoot = errors.New("no such root")
	// ErrTag: the tag is negative or too large (MPI_ERR_TAG).
	ErrTag = errors.New("invalid tag")
	// ErrComm: no communicator, or one that is no longer valid (MPI_ERR_COMM).
	ErrComm = errors.New("invalid communicator")
	// ErrType: the element type contains pointers, or a value cannot be encoded or decoded
	// (MPI_ERR_TYPE).
	ErrType = errors.New("element type is not of fixed size without pointers")
	// ErrCount: a count that is negative or overflows, or buffers of different length
	// where they must agree (MPI_ERR_COUNT).
	ErrCount = errors.New("counts or lengths do not fit")
	// ErrOp: the operator is not defined for the element type (MPI_ERR_OP).
	ErrOp = errors.New("operator not defined for this element type")
	// ErrRequest: the request can not do that (MPI_ERR_REQUEST).
	ErrRequest = errors.New("invalid request")
	// ErrBuffer: the attached buffer does not hold the message, or there is none
	// (MPI_ERR_BUFFER).
	ErrBuffer = errors.New("the attached buffer does not serve")
	// ErrArg: an argument that the call does not take (MPI_ERR_ARG).
	ErrArg = errors.New("invalid argument")
	// ErrGroup: no group, or one that the call does not take (MPI_ERR_GROUP).
	ErrGroup = errors.New("invalid group")
	// ErrTopology: the communicator has no topology, or not that one
	// (MPI_ERR_TOPOLOGY).
	ErrTopology = errors.New("no such topology")
	// ErrDims: dimensions or coordinates that no such grid has (MPI_ERR_DIMS).
	ErrDims = errors.New("invalid dimensions")
	// ErrKeyval: no key of attributes, or one that has been freed or can not be
	// set (MPI_ERR_KEYVAL).
	ErrKeyval = errors.New("invalid attribute key")
	// ErrNoMem: the device reaches pinned memory only, which has no room for a long message
	// (MPI_ERR_NO_MEM).
	ErrNoMem = rdmaeng.ErrRoom
	// ErrTooMany: a rank leads 32766 communicators already.
	ErrTooMany = commid.ErrTooMany
	// ErrAssumption: the call breaks an assumption of the protocol optimistic
	// (thesis 3.14).
	ErrAssumption = optimistic.ErrAssumption
	// ErrDeadlock: the call waits for ranks that wait for each other. Only the checking mode
	// finds out (EXANET_CHECK).
	ErrDeadlock = errors.New("deadlock")
	// ErrInit: Init was called twice, with an option that does not exist, or under a launcher
	// that it cannot join; or Finalize was called without Init, or twice.
	ErrInit = errors.New("cannot begin or end MPI")
	// ErrStats: the statistics that EXANET_STATS asks for cannot be written. What goes
	// wrong with them after Init is told on the standard error, and no call fails.
	ErrStats = errors.New("the statistics cannot be written")
)

// noValue marks a field of an Error that does not apply.
const noValue = -1 << 31

// Error says which call failed, where, and why. Fields that do not apply are left out of its text.
type Error struct {
	Op   string // the MPI call
	Rank int    // of the caller
	Peer int    // the other side; AnySource and ProcNull as given
	Tag  int
	Size int    // of the caller's buffer, in bytes
	Err  error  // wraps a sentinel
	Do   string // what to do about it
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("mpi: ")
	if e.Rank != noValue {
		fmt.Fprintf(&b, "rank %d: ", e.Rank)
	}
	b.WriteString(e.Op)
	switch e.Peer {
	case noValue:
	case AnySource:
		b.WriteString(", any source")
	default:
		fmt.Fprintf(&b, ", peer %d", e.Peer)
	}
	switch e.Tag {
	case noValue:
	case AnyTag:
		b.WriteString(", any tag")
	default:
		fmt.Fprintf(&b, ", tag %d", e.Tag)
	}
	if e.Size != noValue {
		fmt.Fprintf(&b, ", %d bytes", e.Size)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Do != "" {
		fmt.Fprintf(&b, "; %s", e.Do)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// usable reports whether calls may be made on c.
func (c *Comm) usable(op string) error {
	if c == nil || c.rank == nil {
		return c.fail(op, noValue, noValue, noValue, ErrComm,
			"call Init first and use what it returns; what Idup makes is ready when its request is")
	}
	if c.freed.Load() {
		return c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it has been freed", ErrComm),
			"free a communicator after its last use")
	}
	return c.before(op)
}

// before is usable for what was begun on the communicator when it had not been freed.
func (c *Comm) before(op string) error {
	if c.rank.Ended() {
		return c.fail(op, noValue, noValue, noValue, ErrComm, "no call may follow Finalize")
	}
	return nil
}

// usableWithin is usable for calls that take no intercommunicator.
func (c *Comm) usableWithin(op string) error {
	if err := c.usable(op); err != nil {
		return err
	}
	if c.local != nil {
		return c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: %s is not for intercommunicators", ErrComm, op),
			"use what Merge makes of it")
	}
	return nil
}

// because says what is wrong in the terms of a lower package.
func because(sentinel, cause error) error {
	why := strings.TrimPrefix(cause.Error(), sentinel.Error()+": ") // both packages may call it the same
	return &explained{sentinel.Error() + ": " + why, [2]error{sentinel, cause}}
}

type explained struct {
	text string
	is   [2]error
}

func (r *explained) Error() string   { return r.text }
func (r *explained) Unwrap() []error { return r.is[:] }

// fail makes the error of a call on c.
func (c *Comm) fail(op string, peer, tag, size int, err error, do string) error {
	rank := noValue
	if c != nil && c.rank != nil {
		rank = c.Rank()
		if c.rank.check != nil && errors.Is(err, ErrProcFailed) && c.rank.check.waits.deadlock() {
			err, do = ErrDeadlock, "see the line that says who waits for whom"
		}
	}
	return &Error{Op: op, Rank: rank, Peer: peer, Tag: tag, Size: size, Err: err, Do: do}
}

// whyFailed returns the error, and what to do about it, of a call whose peer is dead to this rank: a rank of a context
// of c, or any. It is err if nothing more is known.
func (c *Comm) whyFailed(err error, ctx *variants.Context, peer int32) (why error, do string) {
	do = "see how that rank has ended"
	if c == nil || c.rank == nil {
		return err, do
	}
	f, ok := c.rank.fab.(network.Reasons)
	if !ok {
		return err, do
	}
	is := ctx.Has
	if peer != variants.AnySource {
		is = func(world int32) bool { return ctx.World(peer) == world }
	}
	for rank := range c.rank.fab.Size() {
		if !is(int32(rank)) {
			continue
		}
		if why := f.Why(rank); why != nil {
			return because(ErrProcFailed, why), ""
		}
	}
	return err, do
}

// outcome turns the result of a completed request into the caller's error.
func (c *Comm) outcome(op string, r *variants.Request) error {
	if r.Err == nil {
		return nil
	}
	peer, tag, do := int(r.Peer), int(r.Tag), ""
	err := r.Err
	switch {
	case errors.Is(err, ErrTruncate):
		peer, tag = int(r.Status.Source), int(r.Status.Tag)
		err = fmt.Errorf("%w: %d bytes were sent", err, r.Status.Size)
		do = "receive into a larger buffer, or probe for the size first"
	case errors.Is(err, ErrNoMem):
		do = "have the driver pin more, or post fewer long receives at once"
	case errors.Is(err, ErrProcFailed):
		if err, do = c.whyFailed(err, r.Ctx, r.Peer); do != "" && r.Recv && r.Peer == variants.AnySource {
			err = fmt.Errorf("%w: a rank that could have sent has died", err)
		}
	}
	if c != nil && r.Ctx == c.coll { // the program knows neither tags nor sizes of these
		return c.fail(op, peer, noValue, noValue, err, do)
	}
	return c.fail(op, peer, tag, r.Len(), err, do)
}
