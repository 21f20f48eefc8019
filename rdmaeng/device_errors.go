package rdmaeng

import (
	"fmt"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// Error says why a channel could not be had, and what to do.
type Error = mmio.Error

// What AllocChannel and Test report, for errors.Is.
var (
	ErrNoDevice   = mmio.ErrNoDevice
	ErrProtection = mmio.ErrProtection
	ErrExhausted  = mmio.ErrExhausted
	ErrMisaligned = mmio.ErrMisaligned
	ErrBusy       = mmio.ErrBusy
	ErrGone       = mmio.ErrGone
	ErrFault      = mmio.ErrFault
)

// TransferError is how a write ended that could not be completed. Its
// notification has not been delivered; part of the data may have been.
type TransferError struct {
	To   int // destination rank
	Dst  Window
	N    int    // bytes to be written
	PDID uint32 // protection ID that they were written with
	Err  error
}

func (e *TransferError) Error() string {
	node, index, _ := mmio.SplitExanet(e.Dst.Notify)
	return fmt.Sprintf("write of %d bytes to rank %d (node %d, channel %d) at %#x, notification at %#x, with "+
		"protection ID %d: %v; %s", e.N, e.To, node, index, e.Dst.Addr, e.Dst.Notify, e.PDID, e.Err, advice(e.Err))
}

// Unwrap returns the reason.
func (e *TransferError) Unwrap() error { return e.Err }

// Is reports whether the peer has died, where that is the reason.
func (e *TransferError) Is(target error) bool { return target == ErrPeer && e.Err == ErrGone }

func advice(err error) string {
	switch err {
	case ErrProtection:
		return "only processes of one protection group reach each other"
	case ErrMisaligned:
		return "a notification address is a multiple of 16"
	case ErrGone:
		return "stop sending to it"
	case ErrFault:
		return "check that the window is still exposed and the source mapped, and that the device may attach to both " +
			"processes (ptrace_scope, seccomp)"
	}
	return "use a window as Expose returned it"
}
