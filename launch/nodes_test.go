package launch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/mpi"
)

func init() { roles["node"] = nodeRole }

// nodeRole prints what the registers say that the rank has inherited.
func nodeRole([]string) int {
	f, err := env.File(env.Registers)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r, err := mmio.Map(f, 0, mmio.PageSize)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	page, err := mmio.Map(f, int64(r.Reg(mmio.DirMailbox).Load()), mmio.PageSize)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("rank", os.Getenv(env.Rank), "node", r.Reg(mmio.RegNode).Load(), "interfaces",
		page.Reg(mmio.RegCount).Load(), "protection ID", page.Reg(mmio.RegPDID).Load())
	return 0
}

// Each rank sees the registers of its own node, whose interfaces have a protection ID that no other job has.
func TestNodes(t *testing.T) {
	var ids []string
	for range 2 {
		cfg := self(5, "node")
		cfg.Nodes = 3
		cfg.Env = append(cfg.Env, "EXANET_DEVICE=registers")
		o := runJob(t, cfg)
		require.NoError(t, o.err, o.errs)
		lines := strings.Split(strings.TrimSpace(o.out), "\n")
		slices.Sort(lines)
		require.Len(t, lines, 5)
		_, id, _ := strings.Cut(lines[0], "protection ID ")
		for rank, want := range []struct{ node, interfaces int }{{0, 2}, {0, 2}, {1, 2}, {1, 2}, {2, 1}} {
			require.Equal(t, fmt.Sprintf("rank %d node %d interfaces %d protection ID %s", rank, want.node,
				want.interfaces, id), lines[rank])
		}
		ids = append(ids, id)
	}
	require.NotContains(t, ids, "0")
	require.NotEqual(t, ids[0], ids[1])
}

// The statistics have what the blocks did: every message of the protocol went through the packetizer.
func TestStatisticsOfTheBlocks(t *testing.T) {
	const ranks = 4
	dir := t.TempDir()
	cfg := self(ranks, "good")
	cfg.Nodes = ranks
	cfg.Env = append(cfg.Env, "EXANET_DEVICE=registers", "EXANET_STATS="+dir)
	o := runJob(t, cfg)
	require.NoError(t, o.err, o.errs)
	for rank := range ranks {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank-%d.json", rank)))
		require.NoError(t, err)
		var s mpi.Stats
		require.NoError(t, json.Unmarshal(b, &s))
		require.NotNil(t, s.Registers, string(b))
		p, m := s.Registers.Packetizer, s.Registers.Mailbox
		require.NotZero(t, p.Messages)
		require.NotZero(t, m.Received)
		require.Zero(t, p.BadRoute+p.Refused+p.Faults+m.Strangers+s.Registers.RDMA.Strangers)
	}
}
