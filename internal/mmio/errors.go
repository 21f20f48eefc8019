package mmio

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a device, for errors.Is. The device packages export
// those that they return.
var (
	ErrNoDevice   = errors.New("no usable device")
	ErrProtection = errors.New("wrong protection ID")
	ErrExhausted  = errors.New("all pages are in use")
	ErrMisaligned = errors.New("misaligned")
	ErrBusy       = errors.New("held by another process")
	ErrGone       = errors.New("the receiver has ended")
	ErrFault      = errors.New("address is not mapped")
)

// Kinds of ErrNoDevice, one for each thing that can be wrong with a path.
var (
	ErrNotThere   error = noDevice("nothing there")
	ErrAddress    error = noDevice("not an address")
	ErrPermission error = noDevice("not permitted")
	ErrSmall      error = noDevice("too small for the registers")
	ErrKind       error = noDevice("not the registers that belong there")
	ErrVersion    error = noDevice("another version of the register map")
	ErrNode       error = noDevice("node IDs are wrong")
)

type noDevice string

func (e noDevice) Error() string { return string(e) }

// Is makes each of them an ErrNoDevice.
func (e noDevice) Is(target error) bool { return target == ErrNoDevice }

// Reason is what a code of the RESULT and ERROR registers means, nil for OK.
func Reason(code uint64) error {
	switch code {
	case OK:
		return nil
	case BadPDID:
		return ErrProtection
	case Gone:
		return ErrGone
	case Fault:
		return ErrFault
	case BadAlign:
		return ErrMisaligned
	}
	return ErrNoDevice
}

// Error says what failed where, and what to do.
type Error struct {
	Op    string
	Path  string
	Page  int    // interface within the block, -1 if none is concerned
	PDID  uint32 // protection ID asked for, 0 if any
	Err   error  // one of the sentinels
	Cause error  // what the kernel or the registers said; may be nil
	Do    string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", e.Op, e.Path)
	if e.Page >= 0 {
		fmt.Fprintf(&b, " page %d", e.Page)
	}
	if e.PDID != 0 {
		fmt.Fprintf(&b, " (protection ID %d)", e.PDID)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Cause != nil {
		fmt.Fprintf(&b, " (%v)", e.Cause)
	}
	if e.Do != "" {
		fmt.Fprintf(&b, "; %s", e.Do)
	}
	return b.String()
}

// Unwrap gives errors.Is the sentinel and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Cause}
}
