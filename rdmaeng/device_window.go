package rdmaeng

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// line is what two parts of pinned memory must not share: where the device is
// not coherent, the process would write its half of a line over the device's.
const line = mem.CacheLine

// window is the pinned memory of a channel whose device knows no virtual
// addresses. Program memory is never in it, so everything is copied once at
// either end:
//
//	source     a quarter, one piece for each descriptor. What Start writes is
//	           copied there, a piece at a time if it is longer. Whoever has a
//	           descriptor has its piece, so sources wait for nothing else.
//	landing    the rest: exposed memory, from where Notified copies the data to
//	           their places, and notification words
//
// A receive may be exposed for as long as its sender likes, so landing room
// cannot be waited for: two ranks could wait for each other's. Room says whether
// there is some; where there is none a receive has to end with an error. Sources
// do not take landing room, and landing not theirs: writes always go on.
//
// The device is told of changes in lines of this memory, and of nothing else:
// registers are not cached.
type window struct {
	*mmio.Pinned
	piece   int // bytes of a source piece
	landing pool
}

// ErrRoom is what every WindowError is.
var ErrRoom = errors.New("no room in the memory that the device reaches")

// WindowError is an exposure for which the pinned memory has no room.
type WindowError struct {
	Size     int // bytes to be exposed
	Room     int // for all exposures
	Free     int // of them
	Together int // free in one piece
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("%v: %d bytes are to be exposed, and the pinned memory takes %d, of which %d are free, %d in "+
		"one piece", ErrRoom, e.Size, e.Room, e.Free, e.Together)
}

// Unwrap returns ErrRoom.
func (e *WindowError) Unwrap() error { return ErrRoom }

func newWindow(p *mmio.Pinned) *window {
	if p == nil {
		return nil
	}
	size := len(p.Bytes())
	w := &window{Pinned: p, piece: size / 4 / mmio.Descriptors &^ (line - 1)}
	w.landing.give(w.sources(), w.room())
	return w
}

// sources is how many bytes the sources take, from the start.
func (w *window) sources() int { return w.piece * mmio.Descriptors }

// room is how many bytes the landing has.
func (w *window) room() int { return len(w.Bytes()) - w.sources() }

// source is the piece of a descriptor.
func (w *window) source(i int) []byte { return w.Bytes()[i*w.piece : (i+1)*w.piece] }

// land takes room for n bytes that the device writes. Lines that a former owner
// or this one has changed there must not be written back later, over the
// device's.
func (w *window) land(n int) []byte {
	if n == 0 {
		return nil
	}
	at, ok := w.landing.take(n)
	if !ok {
		panic(w.full(n))
	}
	b := w.Bytes()[at : at+n : at+whole(n)]
	w.Purge(b)
	return b
}

// full is the error of n bytes that land has no room for.
func (w *window) full(n int) error {
	free, most := w.landing.left()
	return &WindowError{n, w.room(), free, most}
}

// sizeFor is how large pinned memory has to be that n bytes, and a chunk of notification words, find room there.
func sizeFor(n int) int {
	size := ((whole(n)+chunkSlots*line)*4 + 2) / 3 // the landing has three quarters at least
	return (size + mmio.PageSize - 1) &^ (mmio.PageSize - 1)
}

// Room implements Limited.
func (d *Device) Room(n int) error {
	w := d.window
	if w == nil || n == 0 && d.slots.free >= 0 {
		return nil
	}
	at, ok := w.landing.take(n)
	if ok {
		if d.slots.free < 0 { // Expose would take a chunk of notification words, too
			var words int
			if words, ok = w.landing.take(chunkSlots * line); ok {
				w.landing.give(words, chunkSlots*line)
			}
		}
		w.landing.give(at, n)
	}
	if !ok {
		return w.full(n)
	}
	return nil
}

// leave gives back what land has returned.
func (w *window) leave(b []byte) {
	if len(b) > 0 {
		w.landing.give(int(w.offset(b)), len(b))
	}
}

// offset is the address of a part of the memory, as the device knows it.
func (w *window) offset(b []byte) uint64 { return mem.Addr(b) - mem.Addr(w.Bytes()) }

// local is the address of memory of this process as the device knows it.
func (d *Device) local(b []byte) uint64 {
	if d.window == nil || len(b) == 0 {
		return mem.Addr(b)
	}
	return d.window.offset(b)
}

// Words returns n bytes, of which each 16 can be the destination of a notification,
// for as long as the channel is held, and the Exanet address of the first. The
// process sets them once, before it calls See, and reads them after that. If pinned
// memory has no room for them and an exposure, the *Error says how large it has to be.
func (d *Device) Words(n int) (b []byte, addr uint64, err error) {
	if d.window == nil {
		b = aligned(n)
		return b, d.local(b) + d.offset, nil
	}
	if d.Room(n) != nil {
		return nil, 0, &Error{Op: "attach", Path: d.page.Path, Page: d.page.Index, Err: ErrRoom,
			Cause: fmt.Errorf("%d bytes, of which %d are for what others write", len(d.window.Bytes()),
				d.window.room()),
			Do: fmt.Sprintf("have the driver pin %d bytes or more for a channel", sizeFor(n))}
	}
	b = d.window.land(n)
	return b, d.local(b) + d.offset, nil
}

// See has the next loads from Words see what the device has written there.
func (d *Device) See(b []byte) {
	if d.window != nil {
		d.window.Purge(b)
	}
}
