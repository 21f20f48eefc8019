// Package topo has the arithmetic of virtual topologies: Cartesian grids, the
// choice of their dimensions, and graphs (MPI chapter "Virtual Topologies"). It
// is pure: ranks are numbers, and a missing neighbour is None.
//
//	cart.go   grids: coordinates, ranks, shifts, sub-grids
//	dims.go   dimensions for a number of ranks
//	graph.go  graphs, of which a rank knows all edges or its own
package topo

import (
	"errors"
	"fmt"
	"slices"
)

// None is the neighbour beyond the border of a grid (MPI_PROC_NULL). It is far from every rank, so
// that a mistake such as rank-1 does not make it.
const None = -1 << 30

// Errors of this package.
var (
	// ErrDims: dimensions that no grid can have.
	ErrDims = errors.New("invalid dimensions")
	// ErrCoords: coordinates, or a direction, outside the grid.
	ErrCoords = errors.New("outside the grid")
)

// Cart is a grid. Ranks are numbered row by row: the last coordinate runs
// fastest. A grid of no dimensions has one rank.
type Cart struct {
	Dims    []int
	Periods []bool // by dimension: whether it is a ring
}

// NewCart makes a grid of at most most ranks.
func NewCart(dims []int, periods []bool, most int) (*Cart, error) {
	if len(periods) != len(dims) {
		return nil, fmt.Errorf("%w: %d dimensions, but %d periods", ErrDims, len(dims), len(periods))
	}
	size := 1
	for _, d := range dims {
		if d < 1 {
			return nil, fmt.Errorf("%w: a dimension of %d", ErrDims, d)
		}
		if d > most/size {
			return nil, fmt.Errorf("%w: %v has more than %d ranks", ErrDims, dims, most)
		}
		size *= d
	}
	return &Cart{Dims: slices.Clone(dims), Periods: slices.Clone(periods)}, nil
}

// Size is the number of ranks of the grid.
func (c *Cart) Size() int {
	n := 1
	for _, d := range c.Dims {
		n *= d
	}
	return n
}

// Coords returns the coordinates of a rank (MPI_Cart_coords).
func (c *Cart) Coords(rank int) ([]int, error) {
	if rank < 0 || rank >= c.Size() {
		return nil, fmt.Errorf("%w: rank %d of %d", ErrCoords, rank, c.Size())
	}
	out := make([]int, len(c.Dims))
	for i := len(c.Dims) - 1; i >= 0; i-- {
		out[i] = rank % c.Dims[i]
		rank /= c.Dims[i]
	}
	return out, nil
}

// Rank returns the rank at coordinates (MPI_Cart_rank). In a ring any
// coordinate is valid.
func (c *Cart) Rank(coords []int) (int, error) {
	if len(coords) != len(c.Dims) {
		return 0, fmt.Errorf("%w: %d coordinates for %d dimensions", ErrCoords, len(coords), len(c.Dims))
	}
	rank := 0
	for i, x := range coords {
		x, ok := c.wrap(i, x)
		if !ok {
			return 0, fmt.Errorf("%w: coordinate %d is %d of %d", ErrCoords, i, coords[i], c.Dims[i])
		}
		rank = rank*c.Dims[i] + x
	}
	return rank, nil
}

// wrap brings a coordinate into the grid, if it can.
func (c *Cart) wrap(dim, x int) (int, bool) {
	n := c.Dims[dim]
	if c.Periods[dim] {
		x = (x%n + n) % n
	}
	return x, x >= 0 && x < n
}

// Shift returns whom a rank receives from and whom it sends to when all data
// moves by disp along a dimension (MPI_Cart_shift).
func (c *Cart) Shift(rank, dim, disp int) (source, dest int, err error) {
	if dim < 0 || dim >= len(c.Dims) {
		return 0, 0, fmt.Errorf("%w: direction %d of %d", ErrCoords, dim, len(c.Dims))
	}
	at, err := c.Coords(rank)
	if err != nil {
		return 0, 0, err
	}
	return c.beside(rank, at[dim], dim, -disp), c.beside(rank, at[dim], dim, disp), nil
}

// beside returns the rank disp steps along a dimension from a rank whose
// coordinate there is x.
func (c *Cart) beside(rank, x, dim, disp int) int {
	if c.Periods[dim] {
		disp %= c.Dims[dim]
	}
	to, ok := c.wrap(dim, x+disp)
	if !ok {
		return None
	}
	pitch := 1
	for _, d := range c.Dims[dim+1:] {
		pitch *= d
	}
	return rank + (to-x)*pitch
}

// Neighbours returns the neighbours of a rank in the order of the neighbourhood
// collectives: for each dimension the one before, then the one behind. Beyond a
// border it is None.
func (c *Cart) Neighbours(rank int) ([]int, error) {
	out := make([]int, 0, 2*len(c.Dims))
	at, err := c.Coords(rank)
	if err != nil {
		return nil, err
	}
	for dim, x := range at {
		out = append(out, c.beside(rank, x, dim, -1), c.beside(rank, x, dim, 1))
	}
	return out, nil
}

// Sub returns the sub-grid of a rank that keeps the chosen dimensions, which of
// the sub-grids it is, and the rank's number in it (MPI_Cart_sub).
func (c *Cart) Sub(rank int, keep []bool) (sub *Cart, color, key int, err error) {
	if len(keep) != len(c.Dims) {
		return nil, 0, 0, fmt.Errorf("%w: %d choices for %d dimensions", ErrDims, len(keep), len(c.Dims))
	}
	at, err := c.Coords(rank)
	if err != nil {
		return nil, 0, 0, err
	}
	sub = new(Cart)
	for i, d := range c.Dims {
		if keep[i] {
			sub.Dims = append(sub.Dims, d)
			sub.Periods = append(sub.Periods, c.Periods[i])
			key = key*d + at[i]
		} else {
			color = color*d + at[i]
		}
	}
	return sub, color, key, nil
}
