//go:build linux && guests

package guests

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs/owners"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/mpi"
	"github.com/exanet-mpi/exanet/test/collect"
)

// limit is what anything in guests may take on a machine that is busy otherwise.
const limit = 10 * time.Minute

// console is that of a guest at which nobody types.
type console struct{ collect.Buffer }

func (*console) Read([]byte) (int, error) { return 0, io.EOF }

// kernel is the folder that make test-guests has filled.
func kernel(t *testing.T) string {
	folder := os.Getenv("GUESTS_KERNEL")
	require.NotEmpty(t, folder, "make test-guests runs these tests")
	return folder
}

// boot boots two guests with some programs, by their names in the guests.
func boot(t *testing.T, memory int, programs map[string]string, more func(*Image)) *Guests {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	dir := t.TempDir()
	require.NoError(t, Build(ctx, dir, First))
	image, err := NewImage(kernel(t), filepath.Join(dir, filepath.Base(First)), "")
	require.NoError(t, err)
	for name, file := range programs {
		require.NoError(t, image.Add(file, "bin/"+name))
	}
	if more != nil {
		more(image)
	}
	file, err := image.File()
	require.NoError(t, err)
	defer file.Close()
	consoles := make([]console, 2)
	g, err := Start(context.Background(), Config{Kernel: kernel(t), Image: file, Nodes: len(consoles), Memory: memory,
		Interfaces: 2, Console: []io.ReadWriter{&consoles[0], &consoles[1]}})
	require.NoError(t, err, "%s%s", &consoles[0], &consoles[1])
	t.Cleanup(func() {
		g.Close()
		if t.Failed() {
			for i := range consoles {
				t.Logf("console of node %d:\n%s", i, &consoles[i])
			}
		}
	})
	return g
}

// job runs a program with so many ranks on each node, and returns what they print.
func job(t *testing.T, g *Guests, perNode int, env []string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out collect.Buffer
	err := g.Run(ctx, perNode, Command{Argv: argv, Env: env, Stdout: &out, Stderr: &out})
	return out.String(), err
}

// Jobs of two nodes, one after the other on the same guests, until one of them is killed.
func TestGuests(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	dir := t.TempDir()
	tests := filepath.Join(dir, "random")
	require.NoError(t, Build(ctx, dir, Module+"/examples/cg", Module+"/cmd/exanet"))
	require.NoError(t, BuildTest(ctx, tests, Module+"/test/randprog"))
	g := boot(t, 256, map[string]string{"cg": filepath.Join(dir, "cg"), "random": tests,
		"exanet": filepath.Join(dir, "exanet")}, nil)

	t.Run("device check", func(t *testing.T) {
		var out collect.Buffer
		p, err := g.Nodes[1].Start(Command{Argv: []string{"exanet", "device", "check"}, Stdout: &out, Stderr: &out})
		require.NoError(t, err)
		require.NoError(t, p.Wait(ctx), "%s", &out)
		require.Contains(t, out.String(), "resource2")
	})

	for _, variant := range mpi.Variants() {
		t.Run("cg/"+variant, func(t *testing.T) {
			out, err := job(t, g, 1, []string{"EXANET_VARIANT=" + variant}, "cg", "-grid", "24", "-iterations", "10")
			require.NoError(t, err, out)
			require.Contains(t, out, "differs from the serial one")
		})
	}
	for _, variant := range mpi.Variants() {
		t.Run("random/"+variant, func(t *testing.T) { random(t, g, 1, variant) })
	}
	t.Run("random/two ranks a node", func(t *testing.T) { random(t, g, 2, mpi.DefaultVariant) })
	// The other rank is told by the hardware, once the agent of the node has freed the registers.
	t.Run("a rank is killed", func(t *testing.T) {
		survivor(t, g, func(ranks []*Program) { require.NoError(t, ranks[1].Signal(syscall.SIGKILL)) })
		out, err := job(t, g, 1, nil, "cg", "-grid", "16", "-iterations", "5") // and the registers are free
		require.NoError(t, err, out)
	})
	t.Run("a guest is killed", func(t *testing.T) {
		survivor(t, g, func([]*Program) { g.Nodes[1].Kill() })
		_, err := g.Nodes[1].Start(Command{Argv: []string{"cg"}})
		require.ErrorIs(t, err, ErrGone)
	})
}

// random runs the tests of random programs as ranks: some from seed 1 on, in one world.
func random(t *testing.T, g *Guests, perNode int, play string) {
	programs := "12"
	if testing.Short() {
		programs = "2"
	}
	out, err := job(t, g, perNode, []string{"EXANET_TEST_ROLE=rank"}, "random", "1", programs, limit.String(), play)
	require.NoError(t, err, out)
	var wrote uint64
	for line := range strings.Lines(out) {
		var r struct{ Counters map[string]uint64 }
		require.NoError(t, json.Unmarshal([]byte(line), &r), out)
		wrote += r.Counters["writes"]
	}
	require.NotZero(t, wrote, "long messages went through the RDMA engines")
}

// survivor runs a job that would not end, ends rank 1 in the middle, and wants rank 0 to say so.
func survivor(t *testing.T, g *Guests, end func(ranks []*Program)) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	before, _ := sent(t, g.Nodes[1])
	var out collect.Buffer
	ranks, err := g.StartJob(1, Command{Stdout: &out, Stderr: &out,
		Argv: []string{"cg", "-grid", "32", "-iterations", "1000000", "-tolerance", "0"}})
	require.NoError(t, err)
	for now := before; now < before+50; now, _ = sent(t, g.Nodes[1]) {
		require.NoError(t, ctx.Err(), "rank 1 sends nothing: %s", &out)
		time.Sleep(10 * time.Millisecond)
	}
	end(ranks)
	var exit *ExitError
	require.ErrorAs(t, ranks[1].Wait(ctx), &exit, "%s", &out)
	exit = nil
	require.ErrorAs(t, ranks[0].Wait(ctx), &exit, "%s", &out)
	require.Positive(t, exit.Code)
	require.Regexp(t, `(rank|peer) 1\b`, out.String())
}

// sent is how many messages and writes have left a node.
func sent(t *testing.T, n *Node) (messages, writes uint64) {
	st, err := n.bar.Stat()
	require.NoError(t, err)
	file, err := mmio.Map(n.bar, 0, int(st.Size()))
	require.NoError(t, err)
	defer file.Close()
	for _, p := range owners.Pages(file) {
		switch uint32(p.Reg(mmio.RegID).Load() >> 32) {
		case mmio.KindPacketizer:
			messages += p.Reg(mmio.RegSend).Load()
		case mmio.KindChannel:
			for i := range mmio.Descriptors {
				writes += p.Reg(mmio.DescBase + i*mmio.DescSize + mmio.DescDone).Load()
			}
		}
	}
	return messages, writes
}
