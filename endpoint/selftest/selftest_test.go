package selftest

import (
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/stretchr/testify/require"
)

// lines runs the checks on a device.
func lines(t *testing.T, cfg regs.Config, limit time.Duration) (all []Line, err error) {
	d, err := regs.New(cfg)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	err = Run(d.Path(0), limit, func(l Line) {
		t.Logf("%-4v %-24s %s", l.Result, l.Check, l.Text)
		all = append(all, l)
	})
	return all, err
}

func TestModel(t *testing.T) {
	all, err := lines(t, regs.Config{Nodes: []regs.Node{{ID: 3, PDIDs: []uint32{1, 1, 2}}}}, time.Minute)
	require.NoError(t, err)
	for _, l := range all {
		require.Equal(t, OK, l.Result, l.Check)
	}
}
