package board

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// rows are calls that a rank makes, by bits: on the board or by messages.
const calls = 5

func byMessages(row, i int) bool { return row>>i&1 != 0 }

// makes makes the first calls of a row, each a turn if it is on the board, and returns the next turn.
func (b *Board) makes(row, n int) (turn uint64) {
	for k := range n {
		if byMessages(row, k) {
			b.Depart()
			b.Passed()
		} else {
			turn++
		}
	}
	b.done(turn)
	return turn
}

// part is how many calls two rows have in common at their beginning.
func part(a, b int) (n int) {
	for n < calls && byMessages(a, n) == byMessages(b, n) {
		n++
	}
	return n
}

func twoRanks() (me, other *Board) {
	memory := mem.Bytes(make([]uint64, (Fixed(2)+pageSize)/8))
	me, other = Open(memory, 2, 0, 2), Open(memory, 2, 1, 2)
	me.Ring, other.Ring = func(int) {}, func(int) {}
	return me, other
}

// Of all rows of up to five calls which two ranks make, and wherever they are in them: who waits on the board
// finds that the other has strayed where their rows part, and nowhere if they do not.
func TestStrayed(t *testing.T) {
	parted := 0
	for mine := range 1 << calls {
		for theirs := range 1 << calls {
			for i := range calls {
				if byMessages(mine, i) {
					continue
				}
				for j := range calls {
					me, other := twoRanks()
					first := me.makes(mine, i)
					other.makes(theirs, j)
					require.Zero(t, me.head.apart.Load())
					if byMessages(theirs, j) {
						other.Depart()
					}
					got := me.strayed(first)
					w := me.posted(first, 1)
					w.first = first
					require.Equal(t, got < 0, w.Sleep(), "nobody sleeps for what never comes")
					w.Wake()
					switch n := part(mine, theirs); {
					case n > max(i, j):
						require.Negative(t, got, "%05b at %d, %d", mine, i, j)
					case n == i && n == j:
						require.Equal(t, 1, got, "%05b at %d, %05b at %d", mine, i, theirs, j)
						parted++
					}
				}
			}
		}
	}
	require.Positive(t, parted)
}

// Who waits finds that another has ended MPI after fewer calls than he has made, wherever he waits, and not if that has made
// his call as well.
func TestEndedMPI(t *testing.T) {
	for row := range 1 << calls {
		for i := range calls {
			for j := range calls + 1 {
				me, other := twoRanks()
				first := me.makes(row, i)
				other.makes(row, j)
				other.Last()
				if byMessages(row, i) {
					me.Depart()
					require.Equal(t, j <= i, me.Deserted(), "%05b at %d, ended after %d", row, i, j)
				} else {
					require.Equal(t, j <= i, me.strayed(first) == 1, "%05b at %d, ended after %d", row, i, j)
				}
				require.Equal(t, byMessages(row, i) && j <= i, me.Broken())
			}
		}
	}
}
