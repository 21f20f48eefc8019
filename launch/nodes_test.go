package launch_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/internal/env"
	"github.com/exanet-mpi/exanet/internal/mmio"
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
