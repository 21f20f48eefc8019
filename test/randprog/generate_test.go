package randprog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGenerateIsDeterministic(t *testing.T) {
	for seed := range uint64(50) {
		a, b := Generate(seed, RanksOf(seed), Rules{}), Generate(seed, RanksOf(seed), Rules{})
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
		p := Generate(seed, RanksOf(seed), Rules{})
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
		a, b := op(0, Sendrecv, Op{Dest: 1, Tag: 7, From: 1, RTag: 8}),
			op(1, Sendrecv, Op{Dest: 0, Tag: 8, From: 0, RTag: 7})
		require.False(t, l.admit([]Op{a}))
		require.True(t, l.admit([]Op{a, b}))
	})
}

// Programs for optimistic keep its assumptions and use what they leave.
func TestRules(t *testing.T) {
	p := &Program{Ranks: 2, Threads: []Thread{{0, 0}, {1, 0}}, Rules: Rules{Eager: 40}}
	id := 0
	send := func(tag, size int, cancelable bool) []Op {
		id++
		return []Op{{ID: id, Kind: Isend, Dest: 1, Tag: tag, Size: size, Cancelable: cancelable}}
	}
	recv := func(tag, size int, cancelable bool) []Op {
		id++
		return []Op{{ID: id, Thread: 1, Kind: Irecv, From: 0, RTag: tag, Cap: size, Cancelable: cancelable}}
	}
	t.Run("by count", func(t *testing.T) {
		l := newLedger(p)
		require.True(t, l.admit(send(7, 40, false)))
		require.True(t, l.admit(send(7, 41, false)))
		require.False(t, l.admit(recv(7, 41, false)))
		require.True(t, l.admit(recv(7, 0, false)))
		require.False(t, l.admit(recv(7, 40, false)))
		require.True(t, l.admit(recv(8, 40, false)), "another tag")
		require.True(t, l.admit(recv(7, 100, false)))
		require.True(t, l.admit(recv(7, 100, false)))
		require.False(t, l.admit(send(7, 1, false)))
	})
	t.Run("cancelling", func(t *testing.T) {
		l := newLedger(p)
		require.True(t, l.admit(send(7, 40, true)))
		require.False(t, l.admit(send(7, 41, false)))
		require.False(t, l.admit(recv(7, 41, false)))
		require.True(t, l.admit(send(8, 41, false)))
		require.True(t, l.admit(send(8, 1, false)))
		require.False(t, l.admit(send(8, 1, true)), "the channel has both")
		require.False(t, l.admit(recv(8, 41, true)))
	})
	t.Run("any tag", func(t *testing.T) {
		l := newLedger(p)
		require.True(t, l.admit(send(7, 40, false)))
		require.False(t, l.admit(recv(AnyTag, 41, false)))
		require.True(t, l.admit(recv(AnyTag, 1, false)))
		require.False(t, l.admit(send(8, 41, false)))
		require.False(t, l.admit(recv(8, 41, false)))
	})
	t.Run("what is not there", func(t *testing.T) {
		l := newLedger(p)
		wild := recv(7, 1, false)
		wild[0].From = AnySource
		require.False(t, l.admit(wild))
		require.True(t, l.admit(send(7, 1, false)))
		require.False(t, l.admit([]Op{{Thread: 1, Kind: Probe, From: 0, RTag: 7}}))
		require.False(t, l.admit([]Op{{Thread: 1, Kind: Iprobe, From: 0, RTag: 7, Peek: true}}))
	})
	if underRace {
		return
	}
	for _, counted := range []bool{false, true} {
		kindsSeen := map[Kind]int{}
		anyTag, cancels, long, short, mixed := 0, 0, 0, 0, 0
		for seed := range uint64(400) {
			p := Generate(seed, RanksOf(seed), Rules{Eager: 4096, Counted: counted})
			channels := map[[3]int][2]bool{}
			for i := range p.Ops {
				o := &p.Ops[i]
				kindsSeen[o.Kind]++
				if o.receives() && o.RTag == AnyTag {
					anyTag++
				}
				if o.Kind == Cancel {
					cancels++
				}
				if !o.sends() {
					continue
				}
				channel := [3]int{o.Phase, o.Dest, o.Tag}
				has := channels[channel]
				if p.Rules.long(o.Size) {
					long++
					has[0] = true
				} else {
					short++
					has[1] = true
				}
				if has[0] && has[1] && channels[channel] != has {
					mixed++
				}
				channels[channel] = has
			}
		}
		for k := range kinds {
			if k != Probe && k != Iprobe && k != Cancel {
				require.Greater(t, kindsSeen[k], 100, "kind %d", k)
			}
		}
		require.Greater(t, min(long, short, mixed), 200)
		if counted {
			require.Zero(t, anyTag+cancels)
		} else {
			require.Greater(t, min(anyTag, cancels), 100)
		}
	}
}
