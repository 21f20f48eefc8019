package bench

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// The benchmark in C has the orders of the one in Go.
func TestTheOrdersInCAreThoseInGo(t *testing.T) {
	text, err := os.ReadFile("osu/progress.c")
	require.NoError(t, err)
	braces := func(v [3]float64) string { return fmt.Sprintf("{%g, %g, %g}", v[0], v[1], v[2]) }
	var want strings.Builder
	for _, o := range Orders {
		fmt.Fprintf(&want, "\t{%q, %s, %s},\n", o.Name, braces(o.Sender), braces(o.Receiver))
	}
	require.Contains(t, string(text), "orders[] = {\n"+want.String()+"};\n")
}

// They are those of the paper's text: figures 9a with X from 10 to 50, 9b, 10a and 10b.
func TestTheOrdersAreThePapers(t *testing.T) {
	flat := func(o Order) []float64 { return append(append([]float64{}, o.Sender[:]...), o.Receiver[:]...) }
	want := map[string][]float64{"9b": {0, 20, 0, 5, 5, 20}, "10a": {20, 20, 20, 0, 0, 0},
		"10b": {27, 0, 0, 20, 20, 20}}
	for x := 10; x <= 50; x += 10 {
		want[fmt.Sprintf("9a-%d", x)] = []float64{0, 0, 60, float64(x), 0, 0}
	}
	require.Len(t, Orders, len(want))
	for _, o := range Orders {
		require.Equal(t, want[o.Name], flat(o), o.Name)
	}
}

func TestProgressIsBetweenTwoRanks(t *testing.T) {
	err := mpi.Run(3, func(c *mpi.Comm) error {
		_, err := Progress(c, Sweep{Sizes: []int{8}}, Orders, 0)
		return err
	})
	require.ErrorContains(t, err, "two ranks, not 3")
}

func TestASeriesHasTheMediansOfItsSweeps(t *testing.T) {
	var c Column
	for _, v := range []float64{3, 1, 2} {
		c.Add([]Row{{Size: 8, Value: v, Repeats: []float64{v}}})
	}
	require.Equal(t, []Row{{Size: 8, Value: 2, Repeats: []float64{3, 1, 2}}}, c.Rows)
}
