package board

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// A block that is staged nobody reads where it is, and who lends it need not wait until it has been read. As long as it
// has not, the next one is lent as it is.
func TestStage(t *testing.T) {
	for _, op := range []coll.Collective{coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Alltoallv} {
		t.Run(op.String(), func(t *testing.T) {
			bs := open(t, memory(2, 1024), 2)
			stages, reads := make([]byte, 40_000), 0
			for _, b := range bs {
				b.Stage(stages)
				b.Read = func(rank int, addr uint64, to []byte) bool {
					reads++
					copy(to, mem.At(addr, len(to)))
					return true
				}
			}
			begin := func(rank int, seed int64) (o *Op, right func()) {
				p := &plan{op: op, n: 9000, direct: op != coll.Alltoallv, seed: seed}
				o, want := p.part(rank, 2)
				o.Begin(bs[rank])
				return o, func() {
					require.Equal(t, want, o.Recv)
					clear(o.Send) // the program may use it again
				}
			}
			zero, right0 := begin(0, 1)
			require.False(t, zero.Step())
			one, right1 := begin(1, 1)
			require.True(t, one.Step(), "rank 0 has not read")
			right1()

			one, right1 = begin(1, 2)
			require.False(t, one.Step())
			require.True(t, zero.Step())
			right0()
			require.Zero(t, reads)
			zero, right0 = begin(0, 2)
			require.True(t, zero.Step())
			right0()
			require.True(t, one.Step())
			right1()
			require.Equal(t, 1, reads)
		})
	}
}
