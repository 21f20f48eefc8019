package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOutputHasTheColumnsOfOSU(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteOSU(&out, "exanet latency", MicrosecondsTitle,
		[]Row{{Size: 0, Value: 0.174}, {Size: 8, Value: 0.176}, {Size: 4194304, Value: 170}}))
	require.Equal(t, ""+
		"# exanet latency\n"+
		"# Size          Latency (us)\n"+
		"0                       0.17\n"+
		"8                       0.18\n"+
		"4194304               170.00\n", out.String())

	out.Reset()
	require.NoError(t, WriteOSU(&out, "exanet bw", BandwidthTitle, []Row{{Size: 1024, Value: 7512.3}}))
	require.Equal(t, ""+
		"# exanet bw\n"+
		"# Size      Bandwidth (MB/s)\n"+
		"1024                 7512.30\n", out.String())

	out.Reset()
	require.NoError(t, WriteOSUBarrier(&out, "exanet barrier", Row{Size: 16, Value: 12.345}))
	require.Equal(t, ""+
		"# exanet barrier\n"+
		"# Avg Latency(us)\n"+
		"            12.35\n", out.String())

	out.Reset()
	require.NoError(t, WriteIdle(&out, "exanet idle", []Blocked{{Call: "Recv", Wall: 1000, CPU: 0.5}}))
	require.Equal(t, ""+
		"# exanet idle\n"+
		"# Call             Wall (ms)          CPU (ms)           CPU (%)\n"+
		"Recv                 1000.00              0.50             0.050\n", out.String())
}

func TestColumnsSideBySide(t *testing.T) {
	var out strings.Builder
	require.NoError(t, WriteColumns(&out, "exanet latency", MicrosecondsTitle, []Column{
		{Name: "rtr", Rows: []Row{{Size: 8, Value: 0.3}, {Size: 65536, Value: 4}}},
		{Name: "ticket", Rows: []Row{{Size: 8, Value: 0.2}, {Size: 65536, Value: 3.456}}},
	}))
	require.Equal(t, ""+
		"# exanet latency\n"+
		"# Latency (us)\n"+
		"# Size                   rtr            ticket\n"+
		"8                       0.30              0.20\n"+
		"65536                   4.00              3.46\n", out.String())
}

// Ratios are those of the values beside them.
func TestRatios(t *testing.T) {
	columns := []Column{
		{Name: "rtr", Rows: []Row{{Size: 8, Value: 6, Repeats: []float64{4, 30, 6}},
			{Size: 65536, Value: 1, Repeats: []float64{1, 1, 1}}}},
		{Name: "readbased", Rows: []Row{{Size: 8, Value: 4, Repeats: []float64{2, 10, 4}},
			{Size: 65536, Value: 4, Repeats: []float64{4, 4, 8}}}},
	}
	var out strings.Builder
	require.NoError(t, WriteRatios(&out, "readbased", columns))
	require.Equal(t, ""+
		"# as a multiple of readbased's\n"+
		"# Size                   rtr         readbased\n"+
		"8                       1.50              1.00\n"+
		"65536                   0.25              1.00\n", out.String())
	out.Reset()
	require.Equal(t, []float64{2, 3, 1.5}, Ratios("readbased", columns)[0].Rows[0].Repeats)
	require.NoError(t, WriteRatios(&out, "ticket", columns))
	require.NoError(t, WriteRatios(&out, "readbased", columns[1:]))
	require.Empty(t, out.String())
}
