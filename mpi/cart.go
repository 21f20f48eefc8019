package mpi

import (
	"errors"
	"fmt"

	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/topo"
)

// Dims returns the dimensions of a grid of n ranks (MPI_Dims_create). Those given
// as 0 are chosen: as close to each other as any choice is, the largest first.
func Dims(n int, given ...int) ([]int, error) {
	d, err := topo.Dims(n, given)
	if err != nil {
		return nil, (*Comm)(nil).fail("Dims", noValue, noValue, noValue, because(ErrDims, err),
			"give 0 for each dimension that is to be chosen, and others whose product divides the number of ranks")
	}
	return d, nil
}

// Cart makes a communicator whose first ranks form a grid (MPI_Cart_create).
// Dimension i has dims[i] ranks and is a ring if periods[i]. All ranks of c call
// it; those beyond the grid get nil. Ranks keep their order, whether or not
// reorder allows another.
func (c *Comm) Cart(dims []int, periods []bool, reorder bool) (*Comm, error) {
	const op = "Cart"
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	grid, err := topo.NewCart(dims, periods, c.size)
	if err != nil {
		return nil, c.fail(op, noValue, noValue, noValue, because(ErrDims, err),
			"give dimensions of 1 or more, a period for each, and at most as many ranks as the communicator has")
	}
	return c.first(op, grid.Size(), grid)
}

// first makes a communicator of the first n ranks, with a topology.
func (c *Comm) first(op string, n int, topology any) (*Comm, error) {
	defer c.rank.timed(op, 0).end()
	var members *group.Group
	var err error
	switch {
	case n == c.size:
		members = c.members
	case c.Rank() < n:
		if members, err = c.members.RangeIncl([]group.Range{{First: 0, Last: n - 1, Stride: 1}}); err != nil {
			return nil, c.fail(op, noValue, noValue, noValue, err, "")
		}
	}
	t := c.everybody(op, 0)
	d, err := t.agree(nil)
	if err != nil {
		return nil, err
	}
	out, err := t.found(d, members, c.Rank())
	if out != nil {
		out.topology = topology
	}
	return out, err
}

// grid returns the grid of a communicator that Cart or CartSub has made.
func (c *Comm) grid(op string) (*topo.Cart, error) {
	if err := c.usable(op); err != nil {
		return nil, err
	}
	g, ok := c.topology.(*topo.Cart)
	if !ok {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: it is no grid", ErrTopology),
			"use a communicator that Cart has made")
	}
	return g, nil
}

// gridError is the error of a call that asks for what the grid has not.
func (c *Comm) gridError(op string, err error) error {
	sentinel := ErrArg
	if errors.Is(err, topo.ErrDims) {
		sentinel = ErrDims
	}
	g := c.topology.(*topo.Cart)
	return c.fail(op, noValue, noValue, noValue, because(sentinel, err),
		fmt.Sprintf("the grid is %v, of which %v are rings", g.Dims, g.Periods))
}

// CartCoords returns the coordinates of a rank of the grid (MPI_Cart_coords).
func (c *Comm) CartCoords(rank int) ([]int, error) {
	g, err := c.grid("CartCoords")
	if err != nil {
		return nil, err
	}
	at, err := g.Coords(rank)
	if err != nil {
		return nil, c.fail("CartCoords", rank, noValue, noValue, because(ErrRank, err),
			"ranks of this communicator are 0 to "+itoa(c.size-1))
	}
	return at, nil
}

// CartRank returns the rank at coordinates (MPI_Cart_rank). In a ring every
// coordinate is valid.
func (c *Comm) CartRank(coords ...int) (int, error) {
	g, err := c.grid("CartRank")
	if err != nil {
		return 0, err
	}
	r, err := g.Rank(coords)
	if err != nil {
		return 0, c.gridError("CartRank", err)
	}
	return r, nil
}

// CartShift returns from whom the caller receives and to whom it sends when data
// moves by disp along a dimension (MPI_Cart_shift): ProcNull beyond a border.
func (c *Comm) CartShift(dim, disp int) (source, dest int, err error) {
	g, err := c.grid("CartShift")
	if err != nil {
		return 0, 0, err
	}
	source, dest, err = g.Shift(c.Rank(), dim, disp)
	if err != nil {
		return 0, 0, c.gridError("CartShift", err)
	}
	return source, dest, nil
}

// CartSub makes a communicator of each sub-grid that has the dimensions which
// keep chooses (MPI_Cart_sub). All ranks of c call it.
func (c *Comm) CartSub(keep ...bool) (*Comm, error) {
	g, err := c.grid("CartSub")
	if err != nil {
		return nil, err
	}
	sub, color, key, err := g.Sub(c.Rank(), keep)
	if err != nil {
		return nil, c.gridError("CartSub", err)
	}
	out, err := c.split("CartSub", color, key)
	if err != nil {
		return nil, err
	}
	out.topology = sub
	return out, nil
}

// CartGet returns the dimensions of the grid, which of them are rings, and the
// caller's coordinates (MPI_Cart_get).
func (c *Comm) CartGet() (dims []int, periods []bool, coords []int, err error) {
	g, err := c.grid("CartGet")
	if err != nil {
		return nil, nil, nil, err
	}
	coords, err = c.CartCoords(c.Rank())
	return append([]int(nil), g.Dims...), append([]bool(nil), g.Periods...), coords, err
}
