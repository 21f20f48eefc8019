package mpi_test

import (
	"fmt"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// fourRanks runs four ranks, as exanet run -n 4 would, and panics at an error.
func fourRanks(main func(c *mpi.Comm) error) {
	if err := mpi.Run(4, main); err != nil {
		panic(err)
	}
}

func ExampleBcast() {
	fourRanks(func(c *mpi.Comm) error {
		parameters := make([]float64, 2)
		if c.Rank() == 0 {
			parameters[0], parameters[1] = 0.5, 100
		}
		if err := mpi.Bcast(c, parameters, 0); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println(parameters)
		}
		return nil
	})
	// Output: [0.5 100]
}

func ExampleGather() {
	fourRanks(func(c *mpi.Comm) error {
		var all []int
		if c.Rank() == 2 {
			all = make([]int, 2*c.Size())
		}
		if err := mpi.Gather(c, []int{c.Rank(), 10 * c.Rank()}, all, 2); err != nil {
			return err
		}
		if c.Rank() == 2 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [0 0 1 10 2 20 3 30]
}

func ExampleScatterv() {
	fourRanks(func(c *mpi.Comm) error {
		counts := []int{1, 2, 0, 3}
		mine := make([]string8, counts[c.Rank()])
		var words []string8
		if c.Rank() == 0 {
			words = []string8{{'a'}, {'b'}, {'c'}, {'d'}, {'e'}, {'f'}}
		}
		if err := mpi.Scatterv(c, words, counts, nil, mine, 0); err != nil {
			return err
		}
		if c.Rank() == 3 {
			for _, w := range mine {
				fmt.Printf("%c ", w[0])
			}
		}
		return nil
	})
	// Output: d e f
}

// string8 is a short text: elements have a fixed size.
type string8 [8]byte

func ExampleAllgatherv() {
	fourRanks(func(c *mpi.Comm) error {
		counts, displs := []int{1, 1, 1, 1}, []int{6, 4, 2, 0} // backwards, with gaps
		all := make([]int, 7)
		if err := mpi.Allgatherv(c, []int{c.Rank() + 1}, all, counts, displs); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Println(all)
		}
		return nil
	})
	// Output: [4 0 3 0 2 0 1]
}

func ExampleAlltoall() {
	fourRanks(func(c *mpi.Comm) error {
		row, column := make([]int, c.Size()), make([]int, c.Size())
		for i := range row {
			row[i] = 10*c.Rank() + i
		}
		if err := mpi.Alltoall(c, row, column); err != nil { // a matrix is transposed
			return err
		}
		if c.Rank() == 3 {
			fmt.Println(column)
		}
		return nil
	})
	// Output: [3 13 23 33]
}

func ExampleAllreduce() {
	fourRanks(func(c *mpi.Comm) error {
		norm := []float64{float64(c.Rank() * c.Rank())}
		if err := mpi.Allreduce(c, nil, norm, mpi.Sum); err != nil { // in place
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(norm[0])
		}
		return nil
	})
	// Output: 14
}

// MinLoc and MaxLoc tell where the smallest and the largest value is.
func ExampleReduce() {
	fourRanks(func(c *mpi.Comm) error {
		heights := []float64{3, 8, 1, 8}
		mine := []mpi.Located[float64]{{Value: heights[c.Rank()], Index: int32(c.Rank())}}
		highest := make([]mpi.Located[float64], 1)
		if err := mpi.Reduce(c, mine, highest, mpi.MaxLoc, 0); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("rank", highest[0].Index, "has", highest[0].Value)
		}
		return nil
	})
	// Output: rank 1 has 8
}

// Operators of the program need not commute: they are applied in the order of
// the ranks.
func ExampleNewOp() {
	type affine [2]int // x -> a*x + b
	after := mpi.NewOp(func(in, inout []affine) {
		for i, f := range in {
			g := inout[i]
			inout[i] = affine{g[0] * f[0], g[0]*f[1] + g[1]} // first f, then g
		}
	}, false)
	fourRanks(func(c *mpi.Comm) error {
		mine, upToMe := []affine{{2, c.Rank()}}, make([]affine, 1)
		if err := mpi.Scan(c, mine, upToMe, after); err != nil {
			return err
		}
		if c.Rank() == 3 {
			fmt.Println(upToMe[0])
		}
		return nil
	})
	// Output: [16 11]
}

func ExampleReduceScatterBlock() {
	fourRanks(func(c *mpi.Comm) error {
		forces, mine := []int{1, 10, 100, 1000}, make([]int, 1)
		if err := mpi.ReduceScatterBlock(c, forces, mine, mpi.Sum); err != nil {
			return err
		}
		if c.Rank() == 2 {
			fmt.Println(mine[0])
		}
		return nil
	})
	// Output: 400
}

// A non-blocking collective goes on while the program computes.
func ExampleIallreduce() {
	fourRanks(func(c *mpi.Comm) error {
		residual := []float64{1}
		q, err := mpi.Iallreduce(c, nil, residual, mpi.Sum)
		if err != nil {
			return err
		}
		work := 0
		for i := range 1000 { // something that does not need the sum
			work += i
		}
		if _, err := q.Wait(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println(residual[0], work)
		}
		return nil
	})
	// Output: 4 499500
}

// A persistent collective is prepared once and started in every iteration.
func ExampleAllreduceInit() {
	fourRanks(func(c *mpi.Comm) error {
		local, global := make([]int, 1), make([]int, 1)
		q, err := mpi.AllreduceInit(c, local, global, mpi.Max)
		if err != nil {
			return err
		}
		for step := range 3 {
			local[0] = step * c.Rank()
			if err := q.Start(); err != nil {
				return err
			}
			if _, err := q.Wait(); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			fmt.Println(global[0])
		}
		return q.Free()
	})
	// Output: 6
}

func ExampleNeighbourAlltoall() {
	fourRanks(func(world *mpi.Comm) error {
		ring, err := world.Cart([]int{4}, []bool{true}, false)
		if err != nil {
			return err
		}
		me := ring.Rank()
		halo := make([]int, 2)
		if err := mpi.NeighbourAlltoall(ring, []int{10 * me, 10*me + 1}, halo); err != nil {
			return err
		}
		if me == 0 {
			fmt.Println(halo) // what 3 sent up, what 1 sent down
		}
		return nil
	})
	// Output: [31 10]
}

// The column of a matrix is data with gaps.
func ExampleComm_AllgatherData() {
	column, err := datatype.Vector(3, 1, 4, datatype.Int32) // 3 rows of 4
	if err != nil {
		panic(err)
	}
	column, err = datatype.Resized(column, 0, 4) // the next begins beside it
	if err != nil {
		panic(err)
	}
	fourRanks(func(c *mpi.Comm) error {
		r := int32(c.Rank())
		mine, matrix := []int32{r, r + 10, r + 20}, make([]int32, 12)
		send := mpi.With(mine, 3, datatype.Int32).View()
		recv := mpi.With(matrix, 1, column).View()
		if err := c.AllgatherData(send, recv).Do(); err != nil {
			return err
		}
		if r == 0 {
			fmt.Println(matrix[:4], matrix[4:8], matrix[8:])
		}
		return nil
	})
	// Output: [0 1 2 3] [10 11 12 13] [20 21 22 23]
}
