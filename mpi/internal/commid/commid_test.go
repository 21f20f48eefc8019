package commid

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/variants"
)

// IDs in use are different, as are all that a rank has ever given out but those
// returned; none is of a slot that is not vacant; and a rank needs no more slots than it
// uses or waits for at a time.
func TestASupplyAgainstSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		occupied := map[int]bool{} // slots that others have not left yet
		s := NewSupply(77, 4, func(d ID) bool { return !occupied[d.Slot()] })
		var live []ID
		used := map[ID]bool{World: true, Self(77): true}
		most := 0
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			i := rapid.IntRange(-3, len(live)-1).Draw(t, "which")
			if i < 0 {
				d, err := s.Take(WithArea, WithoutArea)
				require.NoError(t, err)
				require.False(t, used[d] || occupied[d.Slot()] || d.Predefined())
				require.Equal(t, 77, d.Leader())
				require.Equal(t, d, FromWord(d.Word()))
				require.Zero(t, d.Number&1)
				used[d] = true
				live = append(live, d)
				most = max(most, len(live)+len(occupied))
				continue
			}
			if rapid.Bool().Draw(t, "unused") {
				s.Return(live[i])
				delete(used, live[i])
			} else {
				if rapid.Bool().Draw(t, "others leave late") {
					occupied[live[i].Slot()] = true
				}
				s.Release(live[i])
			}
			live = slices.Delete(live, i, i+1)
			if rapid.Bool().Draw(t, "others leave") {
				clear(occupied)
			}
		}
		require.LessOrEqual(t, len(s.parts[WithArea].gens)+len(s.parts[WithoutArea].gens), most)
	})
}

// A rank opens the generations of a slot in rising order.
func TestGenerationsOfASlotRise(t *testing.T) {
	s := NewSupply(1, 4, func(ID) bool { return true })
	for gen := range uint32(10) {
		d, err := s.Take(WithArea, WithoutArea)
		require.NoError(t, err)
		require.Equal(t, ID{Number: 1<<16 | 2<<1, Gen: gen}, d)
		s.Release(d)
	}
}

func TestASlotWhoseGenerationsAreUsedUpIsNotUsedAgain(t *testing.T) {
	s := NewSupply(1, 4, func(ID) bool { return true })
	d, err := s.Take(WithArea, WithoutArea)
	require.NoError(t, err)
	s.parts[WithArea].gens[0] = generations - 1
	d.Gen = generations - 1
	s.Release(d)
	e, err := s.Take(WithArea, WithoutArea)
	require.NoError(t, err)
	require.NotEqual(t, d.Slot(), e.Slot())
}

func TestASupplyEnds(t *testing.T) {
	s := NewSupply(65535, 4, func(ID) bool { return true })
	var last ID
	for range slots - 2 {
		d, err := s.Take(WithArea, WithoutArea)
		require.NoError(t, err)
		require.Equal(t, 65535, d.Leader())
		last = d
	}
	_, err := s.Take(WithArea, WithoutArea)
	require.ErrorIs(t, err, ErrTooMany)
	s.Return(last)
	d, err := s.Take(WithArea, WithoutArea)
	require.NoError(t, err)
	require.Equal(t, last, d)
}

var errMine = errors.New("mine")

// theirs are the errors that Fail makes of another member's outcome.
var theirs = map[Outcome]error{
	Died:      fmt.Errorf("a member: %w", variants.ErrPeerDied),
	Misused:   errors.New("another member has passed something wrong"),
	Exhausted: fmt.Errorf("a leader: %w", ErrTooMany),
}

// agree has n members call Everyone, each with its number. Of those that are dead, no
// message leaves, and who waits for one learns that the sender is dead; the others pass
// their errors. It returns what each has got.
func agree(n int, dead []bool, errs []error) (all [][]int64, out []error) {
	type message []int64
	links := make([][]chan message, n)
	for i := range links {
		links[i] = make([]chan message, n)
		for j := range links[i] {
			links[i][j] = make(chan message, 2)
			if dead[i] {
				close(links[i][j])
			}
		}
	}
	all, out = make([][]int64, n), make([]error, n)
	var wg sync.WaitGroup
	for me := range n {
		if dead[me] {
			continue
		}
		tree := Tree{
			Size: n, Me: me,
			Send: func(words []int64, to int) { links[me][to] <- slices.Clone(words) },
			Recv: func(words []int64, from int) error {
				m, alive := <-links[from][me]
				if !alive {
					return variants.ErrPeerDied
				}
				if len(m) != len(words) {
					panic("sizes differ")
				}
				copy(words, m)
				return nil
			},
			Fail: func(v Outcome) error { return theirs[v] },
		}
		wg.Go(func() { all[me], out[me] = tree.Everyone([]int64{int64(me), 7}, errs[me]) })
	}
	wg.Wait()
	return all, out
}

// Whoever lives returns. If all live and none has anything against it, all have all
// entries. Else nobody that the root's word reaches believes that all is well, and each
// keeps its own error.
func TestATreeAgreesOrSaysWhyNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 17).Draw(t, "members")
		dead, errs := make([]bool, n), make([]error, n)
		worst := Fine
		var want []int64
		for i := range n {
			want = append(want, int64(i), 7)
			switch rapid.IntRange(0, 2*n).Draw(t, "member") {
			case 0:
				dead[i] = true
				worst = max(worst, Died)
			case 1:
				errs[i] = errMine
				worst = max(worst, Misused)
			case 2:
				errs[i] = ErrTooMany
				worst = max(worst, Exhausted)
			}
		}
		all, out := agree(n, dead, errs)
		for i := range n {
			switch {
			case dead[i]:
			case worst == Fine:
				require.NoError(t, out[i])
				require.Equal(t, want, all[i])
			case errs[i] != nil:
				require.Equal(t, errs[i], out[i])
			default:
				require.Error(t, out[i])
			}
		}
		if errs[0] == nil && !dead[0] && !slices.Contains(dead, true) && worst != Fine {
			for i := range n {
				if errs[i] == nil {
					require.Equal(t, theirs[worst], out[i])
				}
			}
		}
	})
}
