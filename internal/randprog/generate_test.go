package randprog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerateIsDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		a, b := Generate(seed, RanksOf(seed)), Generate(seed, RanksOf(seed))
		require.Equal(t, a, b)
		require.Equal(t, a.Listing(), b.Listing())
	}
}

// Programs contain every kind of operation, every mode and every size that the
// protocols distinguish, and keep the rules that the model relies on.
func TestGenerateCovers(t *testing.T) {
	kindsSeen, modesSeen, sizesSeen, ranksSeen := map[Kind]int{}, map[Mode]int{}, map[int]int{}, map[int]int{}
	wildSources, wildTags, selfSends, nullsSeen := 0, 0, 0, map[int]int{}
	if underRace {
		t.Skip("Generate is not concurrent, and slow under the race detector")
	}
	for seed := range uint64(3000) {
		p := Generate(seed, RanksOf(seed))
		ranksSeen[p.Ranks]++
		for i := range p.Ops {
			o := &p.Ops[i]
			require.Equal(t, i, o.ID)
			kindsSeen[o.Kind]++
			if o.sends() {
				modesSeen[o.Mode]++
				sizesSeen[o.Size]++
				if p.Threads[o.Dest].Rank == p.Threads[o.Thread].Rank {
					selfSends++
				}
			}
			if o.receives() && o.From == AnySource {
				wildSources++
			}
			if o.receives() && o.RTag == AnyTag {
				wildTags++
				require.True(t, p.single(o.Thread))
			}
			if o.Kind == Null {
				nullsSeen[o.Tag]++
			}
			if o.Part == prepost {
				require.Equal(t, Irecv, o.Kind)
			}
		}
	}
	for k := range kinds {
		require.Greater(t, kindsSeen[k], 300, "kind %d", k)
	}
	for m := range modes {
		require.Greater(t, modesSeen[m], 300, "mode %d", m)
	}
	for _, s := range sizes {
		require.Greater(t, sizesSeen[s], 5, "size %d", s)
	}
	for k := range nulls {
		require.Greater(t, nullsSeen[k], 30)
	}
	require.Len(t, ranksSeen, maxRanks-1)
	require.Greater(t, min(wildSources, wildTags, selfSends), 1000)
}

// The ledger refuses what may not end.
func TestLedger(t *testing.T) {
	p := &Program{Ranks: 2, Threads: []Thread{{0, 0}, {1, 0}}}
	id := 0
	op := func(thread int, kind Kind, o Op) Op {
		o.Thread, o.Kind, o.ID, o.Part = thread, kind, id, exchange
		id++
		return o
	}
	to1 := Op{Dest: 1, Tag: 7}
	from0 := Op{From: 0, RTag: 7}
	wild := Op{From: AnySource, RTag: AnyTag}
	on := func(reqs ...int) Op { return Op{Reqs: reqs, Sure: reqs[0]} }
	loosely := func(o Op) Op { o.Cancelable = true; return o }
	as := func(o Op, m Mode) Op { o.Mode = m; return o }

	t.Run("a blocking send needs a receive for it alone", func(t *testing.T) {
		l := newLedger(p)
		require.False(t, l.admit([]Op{op(0, Send, to1)}))
		require.True(t, l.admit([]Op{op(0, Send, as(to1, Buffered))})) // takes the first receive
		require.True(t, l.admit([]Op{op(1, Irecv, from0)}))
		require.False(t, l.admit([]Op{op(0, Send, to1)}))
		require.True(t, l.admit([]Op{op(1, Irecv, wild)}))
		require.False(t, l.admit([]Op{op(0, Send, to1)}))
		require.True(t, l.admit([]Op{op(1, Irecv, loosely(from0))}))
		require.False(t, l.admit([]Op{op(0, Send, to1)}))
		require.True(t, l.admit([]Op{op(1, Irecv, from0)}))
		require.False(t, l.admit([]Op{op(0, Send, as(to1, Ready))}), "not posted before the barrier")
		require.True(t, l.admit([]Op{op(0, Send, to1)}))
		require.False(t, l.admit([]Op{op(0, Send, to1)}))
	})
	t.Run("a blocking receive needs a message that no earlier receive can take", func(t *testing.T) {
		l := newLedger(p)
		require.False(t, l.admit([]Op{op(1, Recv, from0)}))
		l.admit([]Op{op(0, Isend, loosely(to1))})
		require.False(t, l.admit([]Op{op(1, Recv, from0)}))

		l = newLedger(p)
		require.True(t, l.admit([]Op{op(0, Isend, to1)}))
		require.True(t, l.admit([]Op{op(1, Iprobe, wild)}))
		require.False(t, l.admit([]Op{op(1, Recv, from0)}))
		require.False(t, l.admit([]Op{op(1, Probe, wild)}))
		require.True(t, l.admit([]Op{op(0, Isend, to1)}))
		require.True(t, l.admit([]Op{op(1, Probe, wild)}))
		require.False(t, l.admit([]Op{op(1, Recv, from0)}))
	})
	t.Run("no receive after a probe of what may be cancelled", func(t *testing.T) {
		l := newLedger(p)
		require.True(t, l.admit([]Op{op(0, Isend, loosely(to1))}))
		require.False(t, l.admit([]Op{op(1, Iprobe, wild)}))
		require.True(t, l.admit([]Op{op(1, Iprobe, Op{From: 0, RTag: 8})}))
		require.True(t, l.admit([]Op{op(1, Iprobe, Op{From: 0, RTag: 7, Peek: true})}))
		require.False(t, l.admit([]Op{op(0, Isend, Op{Dest: 1, Tag: 8, Cancelable: true})}))
	})
	t.Run("requests", func(t *testing.T) {
		l := newLedger(p)
		r := op(1, Irecv, loosely(from0))
		s := op(0, Isend, to1)
		require.True(t, l.admit([]Op{r}))
		require.False(t, l.admit([]Op{op(1, Wait, on(r.ID))}))
		require.False(t, l.admit([]Op{op(1, WaitAny, on(r.ID))}))
		require.False(t, l.admit([]Op{op(0, Wait, on(r.ID))}), "of another thread")
		require.True(t, l.admit([]Op{s}))
		require.False(t, l.admit([]Op{op(0, Wait, on(s.ID))}), "the receive may be cancelled")
		require.True(t, l.admit([]Op{op(1, Wait, on(r.ID))}))
		require.True(t, l.admit([]Op{op(1, Cancel, on(r.ID))}))
		require.False(t, l.admit([]Op{op(1, Cancel, on(r.ID))}), "twice")
		require.False(t, l.admit([]Op{op(0, Cancel, on(s.ID))}), "not cancelable")
	})
	t.Run("a ring of Sendrecv needs only itself", func(t *testing.T) {
		l := newLedger(p)
		a, b := op(0, Sendrecv, Op{Dest: 1, Tag: 7, From: 1, RTag: 8}), op(1, Sendrecv, Op{Dest: 0, Tag: 8, From: 0, RTag: 7})
		require.False(t, l.admit([]Op{a}))
		require.True(t, l.admit([]Op{a, b}))
	})
}
