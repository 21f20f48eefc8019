//go:build cgo

package lanec_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// The cells of later messages are made the producer's own as long as nothing unread is in them, however
// far the consumer is behind (TestOwnCells of package host is about the same in Go).
func TestCellsThatAreOwnedHaveBeenRead(t *testing.T) {
	const n, laps = 200, 3
	cells := int(lent(t)[0].table.Cells)
	for behind := range cells {
		ps := lent(t)
		a, b := ps[0], ps[1]
		sent, in := 0, make([]byte, n)
		for read := range laps * cells {
			for ok := true; ok && sent-read <= behind; { // until there is no cell
				a.port.Unmatched, b.port.Consumed = 0, 0 // and credit at any time
				if ok, _ = a.lane.Send(handle, bytes.Repeat([]byte{byte(sent)}, n), int32(b.me), 0); ok {
					sent++
				}
			}
			_, ok, _ := b.lane.Receive(handle, in, int32(a.me), 0)
			require.True(t, ok)
			require.Equal(t, bytes.Repeat([]byte{byte(read)}, n), in)
		}
	}
}
