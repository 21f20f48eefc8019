package host

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func on(cores ...int) (s cpuSet) {
	for _, c := range cores {
		s[c/64] |= 1 << (c % 64)
	}
	return s
}

func TestWhoSharesCores(t *testing.T) {
	both := on(0, 1)
	for name, c := range map[string]struct {
		ranks []affinity
		want  []occupancy
	}{
		"alone":            {[]affinity{{both, 7}}, []occupancy{dedicated}},
		"as many as cores": {[]affinity{{both, 1}, {both, 2}}, []occupancy{dedicated, dedicated}},
		"more than cores": {[]affinity{{both, 1}, {both, 1}, {both, 1}},
			[]occupancy{yielding, yielding, yielding}},
		"each in a group": {[]affinity{{both, 1}, {both, 2}, {both, 3}},
			[]occupancy{sleeping, sleeping, sleeping}},
		"one in another group": {[]affinity{{both, 1}, {both, 1}, {both, 3}},
			[]occupancy{sleeping, sleeping, sleeping}},
		"bound to a core each": {[]affinity{{on(0), 1}, {on(1), 2}, {on(700), 3}},
			[]occupancy{dedicated, dedicated, dedicated}},
		"two bound to one core": {[]affinity{{on(0), 1}, {on(0), 1}, {on(1), 3}},
			[]occupancy{yielding, yielding, dedicated}},
		"a full socket": {[]affinity{{both, 1}, {both, 1}, {both, 2}, {on(2, 3), 3}, {on(2, 3), 3}},
			[]occupancy{sleeping, sleeping, sleeping, dedicated, dedicated}},
		"bound and not bound": {[]affinity{{on(0), 1}, {on(0), 1}, {on(0, 1, 2, 3), 2}},
			[]occupancy{yielding, yielding, dedicated}},
		"oversubscribed by those who meet": {[]affinity{{on(0), 1}, {on(1), 1}, {both, 1}},
			[]occupancy{yielding, yielding, yielding}},
	} {
		var got []occupancy
		for _, v := range classify(c.ranks) {
			got = append(got, v.occupancy)
		}
		require.Equal(t, c.want, got, name)
	}
}

// Whatever the affinities, a rank that is told that it has a core for itself is not one
// of more ranks than there are cores for them, and the order of the ranks is nothing.
func TestClassifyAgainstCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) affinity {
			return affinity{on(rapid.SliceOfN(rapid.IntRange(0, 5), 1, 6).Draw(t, "cores")...),
				rapid.Uint64Range(1, 2).Draw(t, "group")}
		}), 1, 8).Draw(t, "ranks")
		classes := classify(ranks)
		for i, r := range ranks {
			inside, all := 0, true
			for _, o := range ranks {
				if o.cpus.within(&r.cpus) {
					inside++
				}
				all = all && o.cpus == r.cpus
			}
			v := classes[i]
			if v.occupancy == dedicated {
				require.LessOrEqual(t, inside, r.cpus.count())
			} else {
				require.Greater(t, v.sharers, v.cores)
			}
			if all {
				require.Equal(t, len(ranks) > r.cpus.count(), v.occupancy != dedicated)
			}
		}
		last := len(ranks) - 1
		turned := make([]affinity, len(ranks))
		for i := range ranks {
			turned[last-i] = ranks[i]
		}
		for i, v := range classify(turned) {
			require.Equal(t, classes[last-i], v)
		}
	})
}

// Where ranks sleep in C, as so many share a core or only sleeping hands it over, who stores does so with a fence,
// whichever cores the others have.
func TestASleeperFences(t *testing.T) {
	for name, c := range map[string]struct {
		here, elsewhere int  // ranks on core 0, and on core 1
		groups          bool // each has one of its own
		fence           uint32
	}{
		"as many as can take turns":  {turnsMost, 1, false, 0},
		"one more":                   {turnsMost + 1, 1, false, 1},
		"one more, elsewhere":        {1, turnsMost + 1, false, 1},
		"a core each":                {1, 1, true, 0},
		"two that cannot take turns": {2, 1, true, 1},
		"two such, elsewhere":        {1, 2, true, 1},
	} {
		j := NewLocalJob(c.here + c.elsewhere)
		j.head.fence.Store(0)
		for i := range j.ranks {
			core := on(0)
			if i >= c.here {
				core = on(1)
			}
			for w := range core {
				j.control(i).cpus[w].Store(core[w])
			}
			if c.groups {
				j.control(i).group.Store(uint64(i))
			}
		}
		j.assess()
		require.Equal(t, c.fence, j.head.fence.Load(), name)
	}
}

// A rank that dies when it has joined, and has not told all how they stand, leaves the others as they were.
func TestARankThatDiesBeforeItTells(t *testing.T) {
	j, err := NewJob(2)
	require.NoError(t, err)
	defer j.Close()
	m, err := j.join(0, "")
	require.NoError(t, err)
	j.MarkDead(1)
	require.NoError(t, m.WaitJoined())
	require.Positive(t, m.cores)
	require.Positive(t, m.sharers)
	require.Positive(t, m.PerCore())
}

// Only where ranks are elsewhere can one have been lost there.
func TestNoPeerIsLostWhereAllAreHere(t *testing.T) {
	j, err := NewJob(2)
	require.NoError(t, err)
	defer j.Close()
	m, err := j.join(0, "")
	require.NoError(t, err)
	m.Miss()
	require.False(t, j.LostPeer(0))
	j.control(1).elsewhere.Store(1)
	require.True(t, j.LostPeer(0))
}
