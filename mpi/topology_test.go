package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

func TestGrid(t *testing.T) {
	onEveryProtocol(t, 7, func(c *mpi.Comm) error {
		dims, err := mpi.Dims(6, 0, 0)
		require.NoError(t, err)
		require.Equal(t, []int{3, 2}, dims)
		g, err := c.Cart(dims, []bool{false, true}, false)
		if err != nil {
			return err
		}
		if c.Rank() == 6 {
			require.Nil(t, g)
			return nil
		}
		require.Equal(t, mpi.CartTopology, g.Topology())
		_, periods, at, err := g.CartGet()
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, periods)
		require.Equal(t, []int{g.Rank() / 2, g.Rank() % 2}, at)
		back, err := g.CartRank(at[0], at[1]+2)
		require.NoError(t, err)
		require.Equal(t, g.Rank(), back)

		up, down, err := g.CartShift(0, 1)
		require.NoError(t, err)
		got := []int{-1}
		if _, err := mpi.Sendrecv(g, []int{g.Rank()}, down, 0, got, up, 0); err != nil {
			return err
		}
		require.Equal(t, max(g.Rank()-2, -1), got[0])
		from, to, err := g.Neighbours()
		require.NoError(t, err)
		require.Equal(t, []int{up, down, g.Rank() ^ 1, g.Rank() ^ 1}, from)
		require.Equal(t, from, to)

		column, err := g.CartSub(true, false)
		if err != nil {
			return err
		}
		require.Equal(t, 3, column.Size())
		if err := sum(column, g.Rank(), 6+3*at[1]); err != nil {
			return err
		}
		sub, _, where, err := column.CartGet()
		require.NoError(t, err)
		require.Equal(t, []int{3}, sub)
		require.Equal(t, at[:1], where)

		d, err := g.Dup()
		if err != nil {
			return err
		}
		require.Equal(t, mpi.CartTopology, d.Topology(), "a duplicate has the topology")

		_, err = g.CartRank(3, 0)
		require.ErrorIs(t, err, mpi.ErrArg)
		_, err = g.CartCoords(6)
		require.ErrorIs(t, err, mpi.ErrRank)
		_, _, err = g.CartShift(2, 1)
		require.ErrorIs(t, err, mpi.ErrArg)
		_, err = g.CartSub(true)
		require.ErrorIs(t, err, mpi.ErrDims)
		_, err = g.GraphNeighbours(0)
		require.ErrorIs(t, err, mpi.ErrTopology)
		return nil
	})
}

func TestGraphs(t *testing.T) {
	require.NoError(t, mpi.Run(5, func(c *mpi.Comm) error {
		index, edges := []int{2, 3, 4, 6}, []int{1, 3, 0, 3, 0, 2}
		g, err := c.Graph(index, edges, true)
		if err != nil {
			return err
		}
		if c.Rank() == 4 {
			require.Nil(t, g)
		} else {
			want := [][]int{{1, 3}, {0}, {3}, {0, 2}}[g.Rank()]
			n, err := g.GraphNeighbours(g.Rank())
			require.NoError(t, err)
			require.Equal(t, want, n)
			from, to, err := g.Neighbours()
			require.NoError(t, err)
			require.Equal(t, want, from)
			require.Equal(t, want, to)
			i, e, err := g.GraphGet()
			require.NoError(t, err)
			require.Equal(t, index, i)
			require.Equal(t, edges, e)
			require.Equal(t, mpi.GraphTopology, g.Topology())
		}

		next, prev := (c.Rank()+1)%5, (c.Rank()+4)%5
		ring, err := c.DistGraphAdjacent(mpi.Edges{Sources: []int{prev}, Dests: []int{next}}, false)
		if err != nil {
			return err
		}
		from, to, err := ring.Neighbours()
		require.NoError(t, err)
		require.Equal(t, []int{prev}, from)
		require.Equal(t, []int{next}, to)
		require.Equal(t, mpi.DistGraphTopology, ring.Topology())

		// Rank 2 knows the whole star, rank 3 one more edge.
		var mine []mpi.Edge
		switch c.Rank() {
		case 2:
			for r := range 5 {
				mine = append(mine, mpi.Edge{From: 0, To: r, Weight: 10 + r})
			}
		case 3:
			mine = []mpi.Edge{{From: 4, To: 0, Weight: 99}}
		}
		star, err := c.DistGraph(mine, true, false)
		if err != nil {
			return err
		}
		e, err := star.Edges()
		require.NoError(t, err)
		switch c.Rank() {
		case 0:
			require.Equal(t, mpi.Edges{Sources: []int{0, 4}, SourceWeights: []int{10, 99}, Dests: []int{0, 1, 2, 3, 4},
				DestWeights: []int{10, 11, 12, 13, 14}}, e)
		case 4:
			require.Equal(t, mpi.Edges{Sources: []int{0}, SourceWeights: []int{14}, Dests: []int{0},
				DestWeights: []int{99}}, e)
		default:
			require.Equal(t, []int{0}, e.Sources)
			require.Empty(t, e.Dests)
		}

		_, _, err = c.Neighbours()
		require.ErrorIs(t, err, mpi.ErrTopology)
		_, err = c.Graph([]int{1}, nil, false)
		require.ErrorIs(t, err, mpi.ErrArg)
		_, err = c.Cart([]int{3, 2}, []bool{true, true}, false)
		require.ErrorIs(t, err, mpi.ErrDims)
		_, err = c.DistGraphAdjacent(mpi.Edges{Dests: []int{5}}, false)
		require.ErrorIs(t, err, mpi.ErrArg)
		mine = nil
		if c.Rank() == 3 {
			mine = []mpi.Edge{{From: 0, To: 5}}
		}
		_, err = c.DistGraph(mine, false, false)
		require.ErrorIs(t, err, mpi.ErrArg, "on all ranks")
		_, err = mpi.Dims(7, 2, 0)
		require.ErrorIs(t, err, mpi.ErrDims)
		return nil
	}))
}
