//go:build linux

package guests

import (
	"io"
	"sync"
)

// keyboard takes what is typed on the console of a guest, and keeps it until all guests have booted: before that
// nobody reads the serial line, and the end of the input would be lost with the rest.
type keyboard struct {
	mu    sync.Mutex
	typed []byte
	guest io.Writer // nil: they boot
}

func (k *keyboard) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.guest != nil {
		return k.guest.Write(b)
	}
	k.typed = append(k.typed, b...)
	return len(b), nil
}

// plug hands over what has been typed, and from now on what is.
func (k *keyboard) plug(guest io.Writer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.guest = guest
	_, _ = guest.Write(k.typed) // a guest that has ended is told of elsewhere
	k.typed = nil
}
