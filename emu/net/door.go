package net

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// door lets the ranks of a job in at a listener, and counts the strangers. However many of these there are, few
// connections are open whose other end has not proved yet that it is of the job: one more takes the place of that which
// is there longest. So no stranger keeps a rank out by saying nothing. A rank that has lost its place comes again.
type door struct {
	net.Listener
	gate
	refused atomic.Int64

	mu      sync.Mutex
	proving []net.Conn // in the order in which they have come
}

// provingMost is how many connections may be proving at a time. The end that calls takes helloTime for that at most;
// then it leaves and comes again. The end that is called waits for proveTime. That is so much longer that, when it
// gives up, the other end has not sent its proof: whoever has sent it takes the connection as made, however often the
// network loses it on its way.
const (
	provingMost = 256
	helloTime   = 5 * time.Second
	proveTime   = time.Minute
)

// serve gives the connections of ranks to come until the listener is closed. They are its own, unless it returns an
// error.
func (d *door) serve(come func(rank int, c net.Conn) error) {
	for {
		c, err := d.Accept()
		if errors.Is(err, net.ErrClosed) {
			d.clear()
			return
		} else if err != nil {
			time.Sleep(dialEvery) // out of descriptors
			continue
		}
		d.enter(c)
		go func() {
			rank, err := d.admit(c)
			if !d.leave(c) { // it is closed already
				return
			}
			if err == nil {
				err = come(rank, c)
			}
			if err == nil {
				return
			}
			_ = c.Close()
			if !hasLeft(err) {
				d.refused.Add(1)
			}
		}()
	}
}

// hasLeft reports whether the other end has gone by itself: that may be a rank that has died.
func hasLeft(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

func (d *door) enter(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.proving) == provingMost {
		_ = d.proving[0].Close()
		d.refused.Add(1)
		d.proving = slices.Delete(d.proving, 0, 1)
	}
	d.proving = append(d.proving, c)
}

// clear ends what is still proving: all who were waited for have come. These are not counted: one may be from a rank
// that came again when the network lost too much.
func (d *door) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.proving {
		_ = c.Close()
	}
	d.proving = nil
}

// leave ends the proving of a connection, unless enter or clear have.
func (d *door) leave(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.Index(d.proving, c)
	if i >= 0 {
		d.proving = slices.Delete(d.proving, i, i+1)
	}
	return i >= 0
}
