package virtual_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

// Messages that fill their receives or are shorter, whose last byte is often that which was there before, and either
// side first: what arrives is right, and of the writes those are not notified whose end can be seen.
func TestWritesWithoutANotification(t *testing.T) {
	m := sim.Prototype()
	const messages = 300
	rng := rand.New(rand.NewPCG(1, 2))
	want := make([][]byte, messages)
	room := make([]int, messages)
	before := make([]byte, messages) // what the last byte of the buffer was
	late := make([]int, messages)
	seen := uint64(0)
	for i := range want {
		room[i] = 41 + rng.IntN(200)
		want[i] = make([]byte, room[i]-max(0, rng.IntN(20)-10))
		for k := range want[i] {
			want[i][k] = byte(rng.IntN(3))
		}
		before[i], late[i] = byte(rng.IntN(2)), rng.IntN(2)
		if late[i] == 0 && len(want[i]) == room[i] && want[i][room[i]-1] != before[i] {
			seen++
		}
	}
	for _, variant := range []string{"customized", "ticket"} {
		r, err := virtual.Run(virtual.Config{Machine: m, Placement: m.SameQFDB(), Variant: variant},
			func(c *mpi.Comm) error {
				for i := range want {
					moment := time.Duration(i+1) * time.Millisecond
					if c.Rank() == late[i] {
						moment += 100 * time.Microsecond
					}
					c.Compute(moment - c.Now())
					if c.Rank() == 0 {
						if err := mpi.Send(c, want[i], 1, 7); err != nil {
							return err
						}
						continue
					}
					buf := bytes.Repeat([]byte{before[i]}, room[i])
					st, err := mpi.Recv(c, buf, 0, 7)
					if err != nil {
						return err
					}
					n := len(want[i])
					rest := bytes.Repeat([]byte{before[i]}, room[i]-n)
					if st.Bytes() != n || st.Tag != 7 || st.Source != 0 || !bytes.Equal(buf[:n], want[i]) ||
						!bytes.Equal(buf[n:], rest) {
						return fmt.Errorf("message %d of %d bytes came wrong: %v", i, n, st)
					}
				}
				return nil
			})
		require.NoError(t, err)
		if variant == "ticket" {
			seen = 0
		}
		require.Equal(t, seen, r.Counters.Elided, variant)
	}
}
