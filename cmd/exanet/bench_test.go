package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/bench/floor"
)

func TestInSwitches(t *testing.T) {
	// 100 us are 50 switches of 2 us on one core and 100 on two: 6.25 for
	// each of 16 ranks.
	f := inSwitches(100, 2, 16, 2)
	require.Equal(t, switchFigures{Switch: 2, Cores: 2, Switches: 50, PerRank: 6.25}, f)
	// More cores than ranks cannot all be used.
	require.Equal(t, 4, inSwitches(1, 1, 4, 64).Cores)
}

func TestSameCommandKeepsTheFlagsThatAreSet(t *testing.T) {
	root := &cobra.Command{Use: "exanet"}
	group := benchCommand()
	root.AddCommand(group)
	var got []string
	cmd, _, err := root.Find([]string{"bench", "latency"})
	require.NoError(t, err)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { got = sameCommand(cmd); return nil }
	root.SetArgs([]string{"bench", "latency", "-n", "3", "--sizes", "1,2", "--json"})
	require.NoError(t, root.Execute())
	require.Equal(t, []string{"bench", "latency"}, got[:2])
	require.ElementsMatch(t, []string{"--ranks=3", "--sizes=1,2", "--json=true"}, got[2:])
}

func TestFloorOutput(t *testing.T) {
	table := &floor.Table{Lines: []floor.Line{
		{Name: floor.CacheLineName, Unit: "ns", Value: 125, Note: "one way", Repeats: []float64{125}},
		{Name: floor.AttachStreamName, Unit: "MB/s",
			Refused: "cross-memory attach is refused: operation not permitted"},
	}}
	latency, bw := comparables()["latency"], comparables()["bw"]
	latency.Repeats, bw.Repeats = []float64{0.25, 9, 0.2}, []float64{20000}
	latency.compare(table)
	bw.compare(table)
	require.InDelta(t, 2.0, latency.Ratio, 1e-9)
	require.Zero(t, bw.Ratio)

	var out strings.Builder
	require.NoError(t, writeFloor(&out, "title", table, []*comparison{latency, bw}))
	require.Equal(t, ""+
		"# title\n"+
		"cache line, core to core          125.00 ns    one way\n"+
		"process_vm_writev 4 MiB                - MB/s  cross-memory attach is refused: operation not permitted\n"+
		"MPI latency, 8 B                    0.25 us    2.00 times: cache line, core to core\n"+
		"MPI bandwidth, 4 MiB            20000.00 MB/s  no figure to compare with: process_vm_writev 4 MiB\n",
		out.String())
}
