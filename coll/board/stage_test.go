package board

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/internal/mem"
)

// stage gives boards stages of so many bytes altogether, and counts what is read of lent memory.
func stage(bs []*Board, size int) (reads *int) {
	stages := make([]byte, size)
	reads = new(int)
	for _, b := range bs {
		b.Stage(stages)
		b.Read = func(_ int, addr uint64, to []byte) bool {
			*reads++
			copy(to, mem.At(addr, len(to)))
			return true
		}
	}
	return reads
}

// A block that is staged nobody reads where it is, and who lends it need not wait until it has been read. As long as it
// has not, the next one is lent as it is.
func TestStage(t *testing.T) {
	for _, op := range []coll.Collective{coll.Allgather, coll.Allgatherv, coll.Alltoall, coll.Alltoallv} {
		t.Run(op.String(), func(t *testing.T) {
			bs := open(t, memory(2, 1024), 2)
			reads := stage(bs, 2*portions*20_000)
			begin := func(rank int, seed int64) (o *Op, right func()) {
				p := &plan{op: op, n: 5000, direct: op != coll.Alltoallv, seed: seed}
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
			require.Zero(t, *reads)
			zero, right0 = begin(0, 2)
			require.True(t, zero.Step())
			right0()
			require.True(t, one.Step())
			right1()
			require.Equal(t, 1, *reads)
		})
	}
}

// Who lends a block that is longer than a stage waits until the part that is not there has been read.
func TestABlockLongerThanAStage(t *testing.T) {
	bs := open(t, memory(2, 1024), 2)
	reads := stage(bs, 2*portions*4096)
	var ops [2]*Op
	var wants [2][]byte
	for i := range ops {
		ops[i], wants[i] = (&plan{op: coll.Allgather, n: 5000, direct: true, seed: 1}).part(i, 2)
		ops[i].Begin(bs[i])
	}
	require.False(t, ops[0].Step())
	require.False(t, ops[1].Step(), "rank 0 has not read")
	require.True(t, ops[0].Step())
	require.True(t, ops[1].Step())
	for i, o := range ops {
		require.Equal(t, wants[i], o.Recv)
	}
	require.Equal(t, 2, *reads)
}

// Of three ranks each has two stages in turns: in a row of calls none is lent as it is, and none waits for who reads, even if
// one rank is always the last.
func TestTwoStagesInTurns(t *testing.T) {
	const ranks = 3
	bs := open(t, memory(ranks, 1024), ranks)
	reads := stage(bs, 2*ranks*stageSize)
	begin := func(rank int, p *plan) (o *Op, right func()) {
		o, want := p.part(rank, ranks)
		o.Begin(bs[rank])
		return o, func() { require.Equal(t, want, o.Recv) }
	}
	plans := []*plan{{n: 2000}, {n: 3000}, {n: stageSize / ranks}, {n: 5000}, {n: stageSize/ranks + 1}}
	for i, p := range plans {
		p.op, p.direct, p.seed = coll.Alltoall, true, int64(i)
	}
	two, right2 := begin(2, plans[0])
	require.False(t, two.Step())
	for i, p := range plans {
		zero, right0 := begin(0, p)
		require.False(t, zero.Step())
		one, right1 := begin(1, p)
		if i == len(plans)-1 {
			require.False(t, one.Step(), "the others have not read")
			require.NotZero(t, *reads)
			break
		}
		require.True(t, one.Step())
		require.True(t, two.Step())
		right2()
		two, right2 = begin(2, plans[i+1]) // the first to go on, before rank 0 has read
		require.False(t, two.Step())
		require.True(t, zero.Step())
		right0()
		right1()
		require.Zero(t, *reads)
	}
}

// A board has stages if there is room for them beside pieces of full length.
func TestRoomForStages(t *testing.T) {
	const most = 20
	need := func(ranks, stages int) int { return Fixed(most) + slots*ranks*pieceMost + stages*stageSize }
	for _, c := range []struct{ ranks, size, stages int }{
		{2, need(2, 10), 10}, {2, need(2, 10) - 1, 0}, {2, need(8, 16), 10},
		{3, need(3, 6), 6}, {3, need(3, 6) - 1, 0},
		{8, need(8, 16), 16}, {9, need(9, 18), 0},
	} {
		memory := make([]byte, c.size)
		rest, stages := Stages(memory, most, c.ranks)
		require.Len(t, stages, c.stages*stageSize, c)
		require.Len(t, rest, c.size-len(stages))
		if c.stages > 0 {
			require.Same(t, &memory[c.size-1], &stages[len(stages)-1])
		}
	}
}
