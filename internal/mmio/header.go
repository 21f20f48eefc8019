package mmio

import (
	"fmt"
	"math"
)

// Header is what the interfaces of a block say alike of themselves.
type Header struct{ ID, Node, Count, Stride, Units uint64 }

// ReadHeader reads the registers that an interface of a block begins with. The error says what is wrong with them.
func ReadHeader(b Block, r Region, kind uint32) (Header, error) {
	h := Header{r.Reg(RegID).Load(), r.Reg(RegNode).Load(), r.Reg(RegCount).Load(), r.Reg(RegStride).Load(),
		r.Reg(RegUnits).Load()}
	if err := CheckID(b, h.ID, kind); err != nil {
		return h, err
	}
	wrong := func(err error, what, do string) (Header, error) {
		return h, &Error{Op: "open", Path: b.Path, Page: -1, Err: err,
			Cause: fmt.Errorf("%s of the interface at %#x", what, b.Offset), Do: "update the device: " + do}
	}
	window, size := r.Reg(RegWindow).Load(), r.Reg(RegWindowSize).Load()
	pinned := kind == KindChannel && h.flag(FlagWindow)
	switch {
	case h.Claims() && (h.Count == 0 || h.Count > mostInterfaces):
		return wrong(ErrNoDevice, fmt.Sprintf("COUNT is %d", h.Count),
			fmt.Sprintf("a block has 1 to %d interfaces", mostInterfaces))
	case h.Stride == 0 || h.Stride%PageSize != 0 || h.Stride > math.MaxInt32:
		return wrong(ErrMisaligned, fmt.Sprintf("STRIDE is %#x", h.Stride), "interfaces are whole pages")
	case kind == KindMailbox && (h.Units == 0 || h.Units > (h.Stride-SlotBase)/MessageSize):
		return wrong(ErrNoDevice, fmt.Sprintf("UNITS is %d, and STRIDE %#x,", h.Units, h.Stride),
			fmt.Sprintf("a mailbox has slots of %d bytes, from %#x on", MessageSize, SlotBase))
	case pinned && (size < MinWindow || size%PageSize != 0 || size > math.MaxInt64):
		return wrong(ErrNoDevice, fmt.Sprintf("WINSIZE is %#x", size),
			fmt.Sprintf("pinned memory is whole pages, and %d bytes at least", MinWindow))
	case pinned && window%PageSize != 0:
		return wrong(ErrMisaligned, fmt.Sprintf("WINDOW is %#x", window), "pinned memory begins at a page")
	}
	return h, nil
}

// mostInterfaces is how many of a block an address tells apart.
const mostInterfaces = 1 << 16

func (h Header) flag(f uint16) bool { return uint16(h.ID>>16)&f != 0 }

// Claims reports whether processes take interfaces by themselves: there is no driver.
func (h Header) Claims() bool { return h.flag(FlagClaim) }

// Differs returns an error if an interface of the block says something else than the first one, whose header h is.
func (h Header) Differs(b Block, other Header) error {
	if h == other {
		return nil
	}
	return &Error{Op: "open", Path: b.Path, Page: -1, Err: ErrNoDevice,
		Cause: fmt.Errorf("the header of the interface at %#x is not that of the first one", b.Offset),
		Do:    "see what exanet device check says of it"}
}
