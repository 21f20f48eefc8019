package variants

import (
	"fmt"

	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The end of a write without a notification, as Small and Yuan have it (ICS 2009, section 4.1): the RTR says what the
// last byte of the receive buffer is. If the message fills the buffer, and its last byte is another one, the sender
// writes the data alone, and the receiver watches that byte.
//
// A shorter message, or one with the same last byte, would never be seen: it is notified. The device must promise that
// the last byte comes last. The last byte, not the last word: a message that is a few bytes shorter than the buffer
// changes the word. The status of the receive follows from its arguments: it names its source and its tag, and the
// sizes are equal.

// watched is added to the last byte of a buffer in an RTR whose sender need not notify.
const watched = 1 << 8

// Elides returns why a device that promises o does not let writes go without a notification, nil if it does.
func Elides(o rdmaeng.Order) error {
	if o&rdmaeng.LastByteLast == 0 {
		return fmt.Errorf("it does not promise that %v", rdmaeng.LastByteLast)
	}
	return nil
}

// Elide has receives that advertise watch their last byte from now on, if the device lets them. All ranks do so, or
// none.
func (c *Core) Elide() {
	if Elides(c.Dev.Order()) == nil {
		c.watcher, _ = any(c.Dev).(rdmaeng.Watcher)
	}
}

// watch begins to watch a receive that is exposed, and returns what its RTR says of that, 0 if it does not.
func (c *Core) watch(r *Request) uint64 {
	if c.watcher == nil || r.Slot < 0 || r.View.Type != nil {
		return 0
	}
	c.watcher.Watch(r.Slot, Notice(r.Len(), r.Tag, false))
	return watched | uint64(r.Buf[r.Len()-1])
}

// Unwatch is called before anybody writes to an advertised receive who has not seen its RTR.
func (c *Core) Unwatch(r *Request) {
	if c.watcher != nil {
		c.watcher.Unwatch(r.Slot)
	}
}

// elides reports whether the receiver sees the end of a write by itself.
func (c *Core) elides(r *Request, to Room) bool {
	if to.Last&watched == 0 || to.Capacity != r.Len() || r.View.Type != nil {
		return false
	}
	return byte(to.Last) != r.Buf[r.Len()-1]
}
