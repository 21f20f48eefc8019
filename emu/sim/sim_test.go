package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// What is reserved never overlaps, begins when it is asked for or later, and no
// earlier beginning would have fitted.
func TestReservationsFillTheGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var v server
		var now Time
		var all []span
		free := func(from, to Time) bool {
			for _, s := range all {
				if from < s.to && s.from < to {
					return false
				}
			}
			return true
		}
		var sum Time
		for range rapid.IntRange(1, 60).Draw(t, "reservations") {
			now += Time(rapid.IntRange(0, 5).Draw(t, "passes"))
			at := now + Time(rapid.IntRange(0, 30).Draw(t, "ahead"))
			length := Time(rapid.IntRange(0, 6).Draw(t, "length"))
			start := v.reserve(now, at, length)
			if length == 0 {
				require.Equal(t, at, start)
				continue
			}
			require.GreaterOrEqual(t, start, at)
			require.True(t, free(start, start+length), "overlap")
			for earlier := at; earlier < start; earlier++ {
				require.False(t, free(earlier, earlier+length), "a gap at %d was left", earlier)
			}
			all = append(all, span{start, start + length})
			sum += length
		}
		require.Equal(t, sum, v.load.Busy)
	})
}

func TestEventsComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda
		var last event
		n := int32(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") || len(a.heap) == 0 {
				a.push(last.at+Time(rapid.IntRange(0, 9).Draw(t, "ahead")), depart, n, 0)
				n++
				continue
			}
			require.Equal(t, a.heap[0].at, a.next())
			e := a.pop()
			require.True(t, e.at > last.at || e.at == last.at && e.seq > last.seq || last.seq == 0)
			require.Equal(t, depart, e.kind())
			last = e
		}
		for a.next() != never {
			e := a.pop()
			require.GreaterOrEqual(t, e.at, last.at)
			last = e
		}
	})
}

func TestRoutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Torus{rapid.IntRange(1, 6).Draw(t, "x"), rapid.IntRange(1, 5).Draw(t, "y"),
			rapid.IntRange(1, 4).Draw(t, "z")}
		from, to := int32(rapid.IntRange(0, x.Nodes()-1).Draw(t, "from")),
			int32(rapid.IntRange(0, x.Nodes()-1).Draw(t, "to"))
		links := x.route(from, to, nil)
		at := from
		outside := 0
		for _, k := range links {
			a, b, inside := x.ends(k)
			require.Equal(t, at, a, "the links of %v follow each other", links)
			require.Equal(t, inside, a/PerQFDB == b/PerQFDB && a != b)
			if !inside {
				outside++
			}
			at = b
		}
		require.Equal(t, to, at)
		around := func(a, b, n int) int { d := (b - a + n) % n; return min(d, n-d) }
		a, b := int(from)/PerQFDB, int(to)/PerQFDB
		want := around(a%x.X, b%x.X, x.X) + around(a/x.X%x.Y, b/x.X%x.Y, x.Y) + around(a/x.X/x.Y, b/x.X/x.Y, x.Z)
		require.Equal(t, want, outside, "the shortest way")
	})
}

func TestPrototype(t *testing.T) {
	m := Prototype()
	require.Equal(t, 128, m.Torus.Nodes(), "thesis 2.5")
	most := 0
	for n := range int32(128) {
		if n%PerQFDB == 0 {
			most = max(most, m.Hops(0, n))
		}
	}
	require.Equal(t, 5, most, "the longest distance that ch. 4 speaks of")
	require.Equal(t, 1, m.Hops(m.SameQFDB()[0], m.SameQFDB()[1]))
	for hops := 1; hops <= 5; hops++ {
		p, err := m.Apart(hops)
		require.NoError(t, err)
		require.Equal(t, hops, m.Hops(p[0], p[1]))
	}
	_, err := m.Apart(6)
	require.ErrorContains(t, err, "6 hops apart")
}

func TestPlacements(t *testing.T) {
	m := Prototype()
	for _, bad := range [][2]int{{0, 1}, {129, 1}, {513, 4}, {4, 0}, {4, 5}} {
		_, err := m.Ordered(bad[0], bad[1])
		require.Error(t, err, bad)
		_, err = m.Shuffled(bad[0], bad[1], 1)
		require.Error(t, err, bad)
	}
	all, err := m.Ordered(512, 4)
	require.NoError(t, err)
	require.EqualValues(t, 127, all[511])
	rapid.Check(t, func(t *rapid.T) {
		perNode := rapid.IntRange(1, Cores).Draw(t, "per node")
		n := rapid.IntRange(1, 128*perNode).Draw(t, "ranks")
		seed := rapid.Uint64().Draw(t, "seed")
		p, err := m.Shuffled(n, perNode, seed)
		require.NoError(t, err)
		again, _ := m.Shuffled(n, perNode, seed)
		require.Equal(t, p, again)
		count := make(map[int32]int)
		for _, node := range p {
			count[node]++
		}
		require.Len(t, count, (n+perNode-1)/perNode)
		for _, k := range count {
			require.LessOrEqual(t, k, perNode)
		}
	})
}

func TestParseTorus(t *testing.T) {
	x, err := ParseTorus("8x4x2")
	require.NoError(t, err)
	require.Equal(t, Torus{8, 4, 2}, x)
	require.Equal(t, "8x4x2", x.String())
	for _, bad := range []string{"", "4", "4x4", "4x4x4x4", "0x4x4", "-1x4x4", "4x4x", "axbxc", "100000x100000x100000",
		"4 x4x4"} {
		_, err := ParseTorus(bad)
		require.Error(t, err, "%q", bad)
	}
}

func TestConstants(t *testing.T) {
	c := DefaultCosts()
	names := make(map[string]bool)
	for _, x := range c.Table() {
		require.False(t, names[x.Name], "%s is there twice", x.Name)
		names[x.Name] = true
		require.NotEmpty(t, x.Meaning)
		require.NotEmpty(t, x.Source)
		require.NotEmpty(t, x.Unit)
		*c.Named(x.Name) = 17
		require.Equal(t, 17.0, *x.Value)
	}
	require.Nil(t, c.Named("nosuch"))
}

// No link carries two things at a time, and none more than its rate, whatever the
// ranks send: random messages and writes, without MPI.
func TestNoLinkIsOverCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Prototype()
		m.Torus = Torus{3, 2, 2}
		m.Costs.WriteStart = float64(rapid.SampledFrom([]int{1, 100, 3000}).Draw(t, "write start"))
		ranks := rapid.IntRange(2, 20).Draw(t, "ranks")
		p, err := m.Shuffled(ranks, 1+rapid.IntRange(0, 1).Draw(t, "more"), rapid.Uint64().Draw(t, "placement"))
		require.NoError(t, err)
		s := New(Config{Machine: m, Placement: p})
		spans := make(map[int32][]span)
		s.reserved = func(link int32, from, to Time) {
			spans[link] = append(spans[link], span{from, to})
		}
		windows := make([]rdmaeng.Window, ranks)
		targets := make([][]byte, ranks)
		for i := range ranks {
			targets[i] = make([]byte, 20000)
			_, windows[i] = s.Endpoint(i).Expose(targets[i])
		}
		seed := rapid.Uint64().Draw(t, "traffic")
		const each = 12
		var sent, bytes uint64
		require.True(t, s.Run(func(rank int) {
			e := s.Endpoint(rank)
			r := rand.New(rand.NewPCG(seed, uint64(rank)))
			var open []*rdmaeng.Transfer
			for range each {
				to := r.IntN(ranks)
				if r.IntN(2) == 0 {
					require.True(t, e.TrySend(to, packetizer.Header{}, make([]byte, r.IntN(41))))
					sent++
				} else {
					x := &rdmaeng.Transfer{To: to, Src: make([]byte, r.IntN(20000)), Dst: windows[to]}
					e.Start(x)
					open = append(open, x)
					bytes += uint64(len(x.Src))
				}
				e.Compute(time.Duration(r.IntN(3000)) * time.Nanosecond)
			}
			for len(open) > 0 {
				mark := e.Mark()
				open = slices.DeleteFunc(open, func(x *rdmaeng.Transfer) bool {
					done, err := e.Test(x)
					require.NoError(t, err)
					return done
				})
				e.poll()
				e.Spin(mark)
			}
			for e.poll() || e.Now() < time.Second {
				e.Compute(time.Second)
			}
		}))
		for link, all := range spans {
			slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
			for i := 1; i < len(all); i++ {
				require.LessOrEqual(t, all[i-1].to, all[i].from, "link %d carries two things at a time", link)
			}
		}
		x := s.Totals()
		require.Equal(t, sent, x.Sent)
		require.Equal(t, sent, x.Delivered)
		require.Equal(t, bytes, x.Bytes)
		require.Equal(t, bytes, x.Written)
		require.Equal(t, x.Writes, x.Notices)
		for _, l := range s.Links() {
			require.InDelta(t, float64(l.Bytes)*8/l.Rate, l.Busy.Nanoseconds(),
				float64(l.Messages+l.Bytes/1000+10)*0.001)
			require.LessOrEqual(t, l.Busy, s.Now())
		}
	})
}

// poll takes what is there.
func (e *Endpoint) poll() (found bool) {
	for {
		_, _, ok := e.Next()
		if !ok {
			break
		}
		e.Release()
		found = true
	}
	for {
		_, _, ok := e.Notified()
		if !ok {
			return found
		}
		found = true
	}
}
