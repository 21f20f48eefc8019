package mpi_test

import (
	"fmt"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/mpi"
)

// A column of a matrix is sent from where it lies, and received as a row.
func ExampleComm_SendData() {
	err := mpi.Run(2, func(world *mpi.Comm) error {
		const n = 4
		if world.Rank() == 0 {
			m := []float64{
				11, 12, 13, 14,
				21, 22, 23, 24,
				31, 32, 33, 34,
				41, 42, 43, 44,
			}
			column, err := datatype.Vector(n, 1, n, datatype.Float64)
			if err != nil {
				return err
			}
			return world.SendData(mpi.With(m[1:], 1, column), 1, 0)
		}
		row := make([]float64, n)
		st, err := world.RecvData(mpi.Of(row), 0, 0)
		fmt.Println(row, st.CountOf(datatype.Float64))
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [12 22 32 42] 4
}
