package launch_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/net"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/mpi"

	"github.com/exanet-mpi/exanet/test/collect"
)

// Ranks that find their registers by a path, and that no launcher of ours has started.

func init() {
	roles["bereaved"] = bereavedRole
}

// model runs nodes of one protection group, with so many interfaces each, until the test ends.
func model(t *testing.T, interfaces ...int) *regs.Device {
	t.Helper()
	var cfg regs.Config
	for i, n := range interfaces {
		cfg.Nodes = append(cfg.Nodes, regs.Node{ID: uint8(i + 1), PDIDs: slices.Repeat([]uint32{7}, n)})
	}
	d, err := regs.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// pathRank is a rank that a test has started.
type pathRank struct {
	*exec.Cmd
	out *bufio.Reader
	err *collect.Buffer
}

// byPath starts ranks of a role that meet at a place and have these devices.
func byPath(t *testing.T, role string, devices []string, env ...string) (ranks []pathRank) {
	t.Helper()
	n := len(devices)
	place, err := net.NewPlace(net.NewSecret(), n, func(int64) {})
	require.NoError(t, err)
	t.Cleanup(place.Close)
	for i, device := range devices {
		p := pathRank{Cmd: exec.Command("/proc/self/exe"), err: new(collect.Buffer)}
		p.Env = append(append(os.Environ(), env...), roleVar+"="+role, "EXANET_DEVICE=registers:"+device,
			"EXANET_RANK="+strconv.Itoa(i), "EXANET_SIZE="+strconv.Itoa(n), "EXANET_MEET="+place.Meet())
		out, err := p.StdoutPipe()
		require.NoError(t, err)
		p.out, p.Stderr = bufio.NewReader(out), p.err
		require.NoError(t, p.Start())
		t.Cleanup(func() { _ = p.Process.Kill() })
		ranks = append(ranks, p)
	}
	return ranks
}

// end is what a rank has still to say, when it has ended.
func (p pathRank) end(t *testing.T) string {
	t.Helper()
	killer := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	defer killer.Stop()
	out, err := io.ReadAll(p.out)
	require.NoError(t, err)
	require.NoError(t, p.Wait(), "%s", p.err)
	return string(out)
}

// Ranks of one node and of several, with every protocol.
func TestRegistersByPath(t *testing.T) {
	for _, nodes := range [][]int{{3}, {1, 1}, {2, 1, 2}} {
		for _, variant := range mpi.Variants() {
			d := model(t, nodes...)
			var devices []string
			for i, n := range nodes {
				devices = append(devices, slices.Repeat([]string{d.Path(i)}, n)...)
			}
			for rank, p := range byPath(t, "launched ", devices, "EXANET_VARIANT="+variant) {
				n := len(devices)
				require.Equal(t, fmt.Sprintf("%d of %d sum %d\n", rank, n, n*(n-1)/2), p.end(t), variant)
			}
		}
	}
}

// paths is the value of EXANET_DEVICE for ranks on all nodes of a model.
func paths(d *regs.Device, nodes int) string {
	var list []string
	for i := range nodes {
		list = append(list, d.Path(i))
	}
	return "EXANET_DEVICE=registers:" + strings.Join(list, ",")
}

// The same under other launchers, ours among them, which share the nodes out.
func TestRegistersByPathUnderALauncher(t *testing.T) {
	const n = 3
	var want []string
	for r := range n {
		want = append(want, fmt.Sprintf("%d of %d sum %d", r, n, n*(n-1)/2))
	}
	same := func(out string) { require.ElementsMatch(t, want, strings.Split(strings.TrimSpace(out), "\n")) }

	cfg := self(n, "launched ")
	cfg.Env = append(cfg.Env, paths(model(t, 2, 1), 2))
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	same(o.out)

	out, err := underHydra(t, n, paths(model(t, 1, 1, 1), 3), "")
	require.NoError(t, err, out)
	same(out)

	said, err := saidUnderHydra(t, n, paths(model(t, 1, 1), 2), "")
	require.Error(t, err)
	require.Contains(t, said, "all pages are in use")
}

// bereavedRole is a rank that says "ready" and waits in a receive from rank 0, and then, if that tells it so, for the
// last rank.
func bereavedRole([]string) int {
	c, err := mpi.Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := c.Barrier(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	last := c.Size() - 1
	_, err = mpi.Recv(c, make([]byte, 1), last, 0)
	var e *mpi.Error
	if !errors.Is(err, mpi.ErrProcFailed) || !errors.As(err, &e) {
		fmt.Fprintln(os.Stderr, "not the error of a death:", err)
		return 1
	}
	fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
	return 0
}

// A rank is killed while the others wait in a receive: each learns which, whatever node it is on.
func TestRegistersDeath(t *testing.T) {
	d := model(t, 2, 2)
	ranks := byPath(t, "bereaved", []string{d.Path(0), d.Path(0), d.Path(1), d.Path(1)}, "EXANET_SILENCE=30s")
	for _, p := range ranks {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err, p.err)
		require.Equal(t, "ready\n", line)
	}
	victim := ranks[len(ranks)-1]
	require.NoError(t, victim.Process.Kill())
	for _, p := range ranks[:len(ranks)-1] {
		require.Contains(t, p.end(t), "peer 3")
	}
	require.Error(t, victim.Wait())
}
