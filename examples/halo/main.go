// Halo lets a plate cool down: its upper edge is kept at 100 degrees, the others at 0. Each
// rank has a block of the plate, and around it a halo of its neighbours' edges, which
// travel while it computes the inside.
//
//	exanet run -n 4 bin/halo -size 96
package main

import (
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// most points in each direction: the plate, which is there twice, takes 1.6 GB then.
const most = 10000

func main() {
	size := flag.Int("size", 96, "points of the plate in each direction")
	tolerance := flag.Float64("tolerance", 0.001, "stop when no point changes by more in a step, in degrees")
	flag.Parse()
	if flag.NArg() > 0 || *size < 1 || *size > most || !(*tolerance > 0) {
		fmt.Fprintf(os.Stderr, "halo: needs a size from 1 to %d, a tolerance above 0, and no other arguments\n", most)
		os.Exit(2)
	}
	mpi.Main(func(world *mpi.Comm) error {
		b, err := newBlock(world, *size)
		if err != nil {
			return err
		}
		steps, err := b.relax(*tolerance)
		if err != nil {
			return err
		}
		sum, err := mpi.AllreduceValue(b.grid, b.sum(), mpi.Sum)
		if err == nil && b.grid.Rank() == 0 {
			fmt.Printf("%d steps, mean %.4f degrees\n", steps, sum/float64(*size**size))
		}
		return err
	})
}

// block is a rank's part of the plate. Row 0, the last row, and the first and the last
// column are its halo. There is one row after the other.
type block struct {
	grid                  *mpi.Comm
	up, down, left, right int // ranks, or mpi.ProcNull at the edge of the plate
	row, column           int // where the block begins in the plate
	rows, columns, width  int // without the halo; width is a row's with it
	now, next             []float64
	side                  *datatype.Type // a column of the block
}

func newBlock(world *mpi.Comm, size int) (*block, error) {
	dims, err := mpi.Dims(world.Size(), 0, 0)
	if err != nil {
		return nil, err
	}
	grid, err := world.Cart(dims, []bool{false, false}, false)
	if err != nil {
		return nil, err
	}
	b := &block{grid: grid}
	if b.up, b.down, err = grid.CartShift(0, 1); err != nil {
		return nil, err
	}
	if b.left, b.right, err = grid.CartShift(1, 1); err != nil {
		return nil, err
	}
	at, err := grid.CartCoords(grid.Rank())
	if err != nil {
		return nil, err
	}
	b.row, b.column = at[0]*size/dims[0], at[1]*size/dims[1]
	b.rows, b.columns = (at[0]+1)*size/dims[0]-b.row, (at[1]+1)*size/dims[1]-b.column
	if b.rows == 0 || b.columns == 0 {
		return nil, fmt.Errorf("halo: a plate of %d x %d points is too small for %d ranks", size, size, world.Size())
	}
	b.width = b.columns + 2
	b.now, b.next = make([]float64, (b.rows+2)*b.width), make([]float64, (b.rows+2)*b.width)
	if b.up == mpi.ProcNull {
		for j := range b.width {
			b.now[j], b.next[j] = 100, 100
		}
	}
	// rows elements, one of every row.
	b.side, err = datatype.Vector(b.rows, 1, b.width, datatype.Float64)
	return b, err
}

// exchange begins to send the edges of the block to the neighbours, and to receive theirs
// into the halo.
func (b *block) exchange() ([]*mpi.Request, error) {
	row := func(i int) mpi.Data { return mpi.Of(b.now[i*b.width+1:][:b.columns]) }
	column := func(j int) mpi.Data { return mpi.With(b.now[b.width+j:], 1, b.side) }
	var requests []*mpi.Request
	for _, e := range []struct {
		neighbour  int
		edge, halo mpi.Data
	}{
		{b.up, row(1), row(0)},
		{b.down, row(b.rows), row(b.rows + 1)},
		{b.left, column(1), column(0)},
		{b.right, column(b.columns), column(b.columns + 1)},
	} {
		in, err := b.grid.IrecvData(e.halo, e.neighbour, 0)
		if err != nil {
			return nil, err
		}
		out, err := b.grid.IsendData(e.edge, e.neighbour, 0)
		if err != nil {
			return nil, err
		}
		requests = append(requests, in, out)
	}
	return requests, nil
}

// relax makes steps until no point of the plate changes by more than tolerance.
func (b *block) relax(tolerance float64) (steps int, err error) {
	for change := math.Inf(1); change > tolerance; steps++ {
		requests, err := b.exchange()
		if err != nil {
			return 0, err
		}
		change = b.update(2, b.rows-1, 2, b.columns-1) // the inside needs no halo
		if err := mpi.WaitAll(requests...); err != nil {
			return 0, err
		}
		change = max(change, b.update(1, 1, 1, b.columns), b.update(b.rows, b.rows, 1, b.columns),
			b.update(2, b.rows-1, 1, 1), b.update(2, b.rows-1, b.columns, b.columns))
		b.now, b.next = b.next, b.now
		if change, err = mpi.AllreduceValue(b.grid, change, mpi.Max); err != nil {
			return 0, err
		}
	}
	return steps, nil
}

// update sets the points of some rows and columns, bounds included, to the mean of
// their neighbours, and returns the largest change.
func (b *block) update(top, bottom, left, right int) (change float64) {
	for i := top; i <= bottom; i++ {
		for j := left; j <= right; j++ {
			p := i*b.width + j
			b.next[p] = (b.now[p-b.width] + b.now[p+b.width] + b.now[p-1] + b.now[p+1]) / 4
			change = max(change, math.Abs(b.next[p]-b.now[p]))
		}
	}
	return change
}

// sum adds up the points of the block.
func (b *block) sum() (total float64) {
	for i := 1; i <= b.rows; i++ {
		for _, v := range b.now[i*b.width+1:][:b.columns] {
			total += v
		}
	}
	return total
}
