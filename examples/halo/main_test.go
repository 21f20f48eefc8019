package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

const size, tolerance = 13, 0.01

// plate returns the points of the whole plate, and the steps that it took, with some number of ranks.
func plate(t *testing.T, ranks int) (points [size][size]float64, steps int) {
	type part struct {
		Row, Column, Columns, Steps int
		Points                      []float64
	}
	require.NoError(t, mpi.Run(ranks, func(world *mpi.Comm) error {
		b, err := newBlock(world, size)
		if err != nil {
			return err
		}
		mine := part{Row: b.row, Column: b.column, Columns: b.columns}
		if mine.Steps, err = b.relax(tolerance); err != nil {
			return err
		}
		for i := 1; i <= b.rows; i++ {
			mine.Points = append(mine.Points, b.now[i*b.width+1:][:b.columns]...)
		}
		parts, err := mpi.GatherValue(world, mine, 0)
		for _, p := range parts {
			steps = p.Steps
			for i, v := range p.Points {
				points[p.Row+i/p.Columns][p.Column+i%p.Columns] = v
			}
		}
		return err
	}))
	return points, steps
}

// The plate is the same, to the bit, on any number of ranks.
func TestHalo(t *testing.T) {
	alone, steps := plate(t, 1)
	require.Greater(t, alone[0][size/2], alone[size-1][size/2])
	require.Greater(t, alone[size-1][size/2], 0.)
	for _, ranks := range []int{2, 3, 4, 6, size} { // the last: blocks of one row
		points, n := plate(t, ranks)
		assert.Equal(t, steps, n)
		assert.Equal(t, alone, points, "%d ranks", ranks)
	}
	err := mpi.Run(size+1, func(world *mpi.Comm) error {
		_, err := newBlock(world, 1)
		return err
	})
	require.ErrorContains(t, err, "too small")
}
