//go:build linux && cgo

package fastc_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// No message is written over before it has been read, however far the consumer is behind, until cells or bulk space run
// out.
func TestNothingUnreadIsWrittenOver(t *testing.T) {
	sizes := [][]int{{200}, {600}}
	for long := 2300; long < limit; long += 20 {
		// They take more than there is for so many as there are cells.
		sizes = append(sizes, []int{600, long, long, long, long, long, long})
	}
	cells := int(leased(t)[0].table.Rings.Cells)
	for _, sizes := range sizes {
		for _, behind := range []int{0, cells / 2, cells - 1} {
			ps := leased(t)
			a, b := ps[0], ps[1]
			data := func(i int) []byte { return bytes.Repeat([]byte{byte(i) | 1}, sizes[i%len(sizes)]) }
			sent, in := 0, make([]byte, limit)
			for read := range 8 * cells {
				for ok := true; ok && sent-read <= behind; { // until there is no room
					a.port.Unmatched, b.port.Consumed = 0, 0 // and credit at any time
					a.path.Prefetch(a.port)
					if ok = a.path.Send(handle, data(sent), int32(b.me), 0); ok {
						sent++
					}
				}
				n, ok := b.path.Receive(handle, in, int32(a.me), 0)
				require.True(t, ok)
				require.True(t, bytes.Equal(data(read), in[:n]),
					fmt.Sprintf("%v, %d behind, message %d", sizes, behind, read))
			}
		}
	}
}
