package host

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/datatype"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/test/randtype"
)

// couple is two fabrics that a test polls, and how data get from one to the
// other.
type couple struct {
	a, b *Fabric
	name string
}

// couples makes a couple of every kind: both within this process, one
// reaching the other by cross-memory attach, and not reaching it.
func couples(t require.TestingT) []couple {
	fabs := attachAll(t, 2)
	cs := []couple{{fabs[0], fabs[1], "one process"}}
	for _, attach := range []uint8{attachUnknown, attachRefused} {
		j, f := joined(t)
		j.ringOf(0, 1).head.attach = attach
		cs = append(cs, couple{f[0], f[1], fmt.Sprintf("attach %d", attach)})
	}
	return cs
}

// finish polls until a transfer is complete and returns what the receiver is
// told.
func (c couple) finish(t require.TestingT, x *rdmaeng.Transfer) (slot int, n rdmaeng.Notification) {
	sent := false
	for range 1 << 20 {
		if x != nil && !sent {
			done, err := c.a.Test(x)
			require.NoError(t, err)
			sent = done
		}
		c.a.Next() // the agent
		_, _, ok := c.b.Next()
		require.False(t, ok)
		c.b.Carry()
		if slot, n, ok := c.b.Notified(); ok {
			if x != nil && !sent { // the reader of a shared copy was the last
				done, err := c.a.Test(x)
				require.NoError(t, err)
				require.True(t, done)
			}
			return slot, n
		}
	}
	require.Fail(t, "a transfer does not end")
	return
}

// Whatever the layouts at both ends: the data arrive, nothing beside them is
// written, and what is not sent neither.
func TestAnyLayoutToAnyOther(t *testing.T) {
	paths := map[string]int{}
	missing := func() string {
		for _, p := range []string{"agent", "one process stage 1", "one process stage 4", "attach 0 stage 1",
			"attach 0 stage 4", "attach 2 stage 1", "refused midway"} {
			if paths[p] == 0 {
				return p
			}
		}
		return ""
	}
	// A hundred layouts of each couple come to every path nearly always.
	for round := 0; round == 0 || missing() != "" && round < 10 && !testing.Short(); round++ {
		for _, c := range couples(t) {
			t.Run(c.name, func(t *testing.T) { anyLayouts(t, c, paths) })
		}
	}
	if !testing.Short() { // else they may be too few
		require.Empty(t, missing())
	}
}

func anyLayouts(t *testing.T, c couple, paths map[string]int) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		block := rapid.SampledFrom([]int{1, 8, 100, 5000}).Draw(t, "block")
		kinds := []*datatype.Type{datatype.Byte, datatype.Int32, datatype.Float64}
		elem := rapid.SampledFrom(kinds).Draw(t, "element")
		x, y := randtype.Draw(r, elem, r.IntN(3), block), randtype.Draw(r, elem, r.IntN(3), block)
		most := rapid.SampledFrom([]int{4 << 10, 400 << 10}).Draw(t, "most")
		out := randtype.New(1+r.IntN(1+most/x.Size()), x, r.Uint64())
		size := out.View.Size()
		in := randtype.New((size+y.Size()-1)/y.Size()+r.IntN(2), y, r.Uint64())
		note := rdmaeng.Notification{int32(size), 5, int32(r.IntN(2)), 0}

		slot, w := c.b.ExposeView(in.View)
		if b, ok := in.View.Contiguous(); ok {
			c.b.Withdraw(slot)
			slot, w = c.b.Expose(b)
		}
		tr := &rdmaeng.Transfer{To: 1, View: out.View, Dst: w, Notify: note}
		if b, ok := out.View.Contiguous(); ok && r.IntN(2) == 0 {
			tr.View, tr.Src = datatype.View{}, b
		}
		data := out.Data(size)
		if r.IntN(4) == 0 {
			paths["agent"]++
			from, src := c.a.OfferView(out.View)
			require.True(t, c.b.Fetch(0, src, w, size, note))
			tr = nil
			defer c.a.Withdraw(from)
		} else {
			c.a.Start(tr)
			path := fmt.Sprint(c.name, " stage ", tr.Stage)
			if tr.Stage == stageShare && r.IntN(2) == 0 {
				path = "refused midway"
				require.True(t, c.a.write(tr.To, tr.Dst.Addr, tr.Src[:1+r.IntN(size)]))
				c.a.giveUp(tr)
			}
			paths[path]++
		}
		got, n := c.finish(t, tr)
		require.Equal(t, slot, got)
		require.Equal(t, note, n)
		require.NoError(t, in.Check(data))
		require.NoError(t, out.Check(data))
		c.b.Withdraw(slot)
	})
}
