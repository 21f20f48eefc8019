package board

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Of all rows of up to five calls, on the board or by messages, which two ranks make, and wherever they are
// in them: who waits on the board finds that the other has strayed where their rows part, and nowhere if they do not.
func TestStrayed(t *testing.T) {
	const calls = 5
	byMessages := func(row, i int) bool { return row>>i&1 != 0 }
	// at brings a rank to the i-th call of a row, in which it waits.
	at := func(b *Board, row, i int) (first uint64) {
		for k := range i {
			if byMessages(row, k) {
				b.Passed()
			} else {
				first++
			}
		}
		b.done(first)
		if byMessages(row, i) {
			b.Depart()
		}
		return first
	}
	parted := 0
	for mine := range 1 << calls {
		for theirs := range 1 << calls {
			for i := range calls {
				for j := range calls {
					if byMessages(mine, i) {
						continue
					}
					memory := mem.Bytes(make([]uint64, (Fixed(2)+pageSize)/8))
					me, other := Open(memory, 2, 0, 2), Open(memory, 2, 1, 2)
					me.Ring, other.Ring = func(int) {}, func(int) {}
					first := at(me, mine, i)
					at(other, theirs, j)
					part := 0
					for part < calls && byMessages(mine, part) == byMessages(theirs, part) {
						part++
					}
					got := me.strayed(first)
					switch {
					case part > max(i, j):
						require.Negative(t, got, "%05b at %d, %d", mine, i, j)
					case part == i && part == j:
						require.Equal(t, 1, got, "%05b at %d, %05b at %d", mine, i, theirs, j)
						parted++
					}
				}
			}
		}
	}
	require.Positive(t, parted)
}
