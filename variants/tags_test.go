package variants_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/variants"
)

// A program that uses a fresh tag for every message, in both directions, short
// and long, whoever comes first, leaves nothing behind.
func TestFreshTagsLeaveMemoryFlat(t *testing.T) {
	tags := int32(2_000_000)
	if testing.Short() {
		tags = 100_000
	}
	everyProtocol(t, limit, func(t *testing.T, p pair) {
		var buf, out [2][]byte
		for i := range 2 {
			buf[i], out[i] = make([]byte, long), make([]byte, long)
		}
		var r, s [2]*variants.Request
		message := func(tag int32) {
			size := 8
			if tag%3 == 0 {
				size = long
			}
			for i := range 2 {
				first := func() { r[i] = p.Recv(i, tag, buf[i][:size]) }
				second := func() { s[1-i] = p.Send(1-i, tag, out[1-i][:size]) }
				if (tag>>1)%2 == 0 {
					first, second = second, first
				}
				first()
				if tag%5 == 0 {
					p.Poll(0)
					p.Poll(1)
				}
				second()
			}
			out[0][0], out[1][0] = byte(tag), byte(tag+1)
			ok := p.Settle(r[0], r[1], s[0], s[1])
			if !ok || r[0].Err != nil || r[1].Err != nil || r[0].Status.Tag != tag || r[1].Status.Size != size {
				require.FailNow(t, "a message has not arrived", "tag %d", tag)
			}
		}
		for tag := range int32(20_000) {
			message(tag)
		}
		before := heap()
		for tag := int32(20_000); tag < tags; tag++ {
			message(tag)
		}
		require.Less(t, heap(), before+256<<10, "bytes of heap")
		for tag := range int32(100) {
			message(tag) // tags of long ago
		}
	})
}
