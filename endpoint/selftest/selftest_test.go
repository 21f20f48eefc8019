package selftest

import (
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/endpoint"
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

// A device that does what it should passes every check.
func TestModel(t *testing.T) {
	for name, n := range map[string]regs.Node{
		"virtual":    {ID: 3},
		"window":     {ID: 255, Window: 2 << 20},
		"small":      {Window: 256 << 10},
		"incoherent": {ID: 1, Window: 4 << 20, Incoherent: true},
	} {
		t.Run(name, func(t *testing.T) {
			n.PDIDs = []uint32{1, 1, 2}
			all, err := lines(t, regs.Config{Nodes: []regs.Node{n}}, time.Minute)
			require.NoError(t, err)
			for _, l := range all {
				require.Equal(t, OK, l.Result, l.Check)
			}
		})
	}
}

// Whoever has no free interface is told one thing to do.
func TestAllInterfacesAreTaken(t *testing.T) {
	d, err := regs.New(regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{7}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	blocks, err := endpoint.Locate(d.Path(0))
	require.NoError(t, err)
	e, err := endpoint.Attach(blocks, 0)
	require.NoError(t, err)
	defer e.Close()
	said := ""
	require.Error(t, Run(d.Path(0), time.Minute, func(l Line) {
		if l.Check == "pages" {
			said = l.Text
		}
	}))
	require.Equal(t, "attach "+d.Path(0)+": all pages are in use (1 pages in the block); end what else uses the "+
		"device, or start fewer processes", said)
}

// Where there is one interface, what needs two is not tried, and nothing fails.
func TestOneInterface(t *testing.T) {
	all, err := lines(t, regs.Config{Nodes: []regs.Node{{PDIDs: []uint32{7}}}, Depth: 3}, time.Minute)
	require.NoError(t, err)
	var not []string
	for _, l := range all {
		if l.Result == NotTried {
			not = append(not, l.Check)
		}
	}
	require.Equal(t, []string{"message to nobody", "write protection", "write to nobody"}, not)
}
