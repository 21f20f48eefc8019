package skeleton_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/sim"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/reproduce/skeleton"
	"github.com/exanet-mpi/exanet/reproduce/virtual"
)

// run runs a code on the simulated prototype. The ranks share their buffers: one runs at a time.
func run(t *testing.T, code *skeleton.Code, ranks, iterations int) (*virtual.Result, []skeleton.Times) {
	m := sim.Prototype()
	p, err := m.Ordered(ranks, 1)
	require.NoError(t, err)
	var buffer []byte
	if code.Check(ranks) == nil {
		buffer = make([]byte, code.Buffer(ranks))
	}
	times := make([]skeleton.Times, ranks)
	r, err := virtual.Run(virtual.Config{Machine: m, Placement: p}, func(c *mpi.Comm) (err error) {
		times[c.Rank()], err = code.Run(c, skeleton.Options{Point: 2, Iterations: iterations, Send: buffer,
			Recv: buffer})
		return err
	})
	require.NoError(t, err, "%s on %d ranks", code.Name, ranks)
	return r, times
}

// receives is how many messages an iteration has.
func receives(t *testing.T, code *skeleton.Code, ranks int) int {
	one, _ := run(t, code, ranks, 1)
	two, _ := run(t, code, ranks, 2)
	return int(two.Counters.Receives - one.Counters.Receives)
}

func TestCodesHaveTheMessagesOfTheirDescriptions(t *testing.T) {
	// A wavefront of LU over a grid of x by y ranks crosses its inner borders once for each of 62 planes, twice; the
	// right-hand side has each border's faces both ways.
	require.Equal(t, (62*2+2)*(2*1+1*2), receives(t, skeleton.LU, 4)) // 2 x 2
	// MG on 2 x 1 x 1 ranks exchanges faces in one dimension, both ways: 3 times on each of 8 levels, not on the
	// coarsest two ways down and up, and once more at the end.
	require.Equal(t, 2*2*(7+7+8+1), receives(t, skeleton.MG, 2))
	// SP on q x q ranks: six faces, and three dimensions of q-1 steps to and fro.
	require.Equal(t, 9*(6+3*2*2), receives(t, skeleton.SP, 9))
	// HPCG on 2 x 2 x 2 ranks: each has 7 neighbours, and 1 + 3*3 + 1 halos; three sums by recursive doubling.
	require.Equal(t, 8*7*(1+3*3+1)+3*8*3, receives(t, skeleton.HPCG, 8))
	// LAMMPS on 2 x 2 x 2 ranks: six neighbours; positions, and for EAM three exchanges more.
	require.Equal(t, 8*6*4, receives(t, skeleton.EAM, 8))
}

func TestTheTimeOfACodeIsComputationAndCommunication(t *testing.T) {
	for _, code := range skeleton.Codes() {
		ranks := 4
		_, times := run(t, code, ranks, 1)
		var computed float64
		for _, x := range times {
			require.Positive(t, x.Communication(), code.Name)
			computed += float64(x.Compute)
		}
		require.InEpsilon(t, 2*code.Work(ranks), computed, 0.05, "%s: its points, and what they take", code.Name)
	}
}

func TestCodesRefuseOtherNumbersOfRanks(t *testing.T) {
	for code, ranks := range map[*skeleton.Code]int{skeleton.LU: 6, skeleton.MG: 3, skeleton.IS: 5, skeleton.SP: 8} {
		require.Error(t, mpi.Run(ranks, func(c *mpi.Comm) error {
			_, err := code.Run(c, skeleton.Options{Iterations: 1})
			return err
		}), code.Name)
	}
}
