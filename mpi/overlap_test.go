package mpi_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/mpi"
)

// Random programs on overlapping communicators. Every rank has several
// goroutines. Goroutine g of all ranks draws the same numbers, so that all know
// what goroutine g of each rank does next: which communicator of its own it
// uses, and how. Those who are not in it skip the step. So the steps of all
// goroutines with one number are in one order, in which each can end.
//
// Communicators of different goroutines have any ranks in common, and are made
// and freed at the same time.

var overlapSeed = flag.Uint64("overlap", 0, "play the random program with this seed only")

func TestOverlappingCommunicators(t *testing.T) {
	for _, variant := range mpi.Variants() {
		programs, steps := 12, 40
		if variant != "ticket" {
			programs = 4
		}
		if testing.Short() {
			programs /= 2
		}
		t.Run(variant, func(t *testing.T) {
			for seed := range uint64(programs) {
				seed++
				if *overlapSeed != 0 {
					seed = *overlapSeed
				}
				ranks, threads := 2+int(seed%5), 1+int(seed/5%3)
				device := mpi.Devices()[seed/2%2] // every other one has messages of 64 bytes
				err := mpi.Run(ranks, func(c *mpi.Comm) error {
					return overlap(c, seed, threads, steps, variant != "optimistic")
				}, mpi.WithVariant(variant), mpi.WithDevice(device))
				require.NoError(t, err, "seed %d", seed)
			}
		})
	}
}

func overlap(world *mpi.Comm, seed uint64, threads, steps int, wildcards bool) error {
	players := make([]*player, threads)
	for g := range players {
		d, err := world.Dup()
		if err != nil {
			return err
		}
		all := make([]int, world.Size())
		for r := range all {
			all[r] = r
		}
		players[g] = &player{
			me: world.Rank(), rand: rand.New(rand.NewPCG(seed, uint64(g))), wildcards: wildcards,
			known: []known{{d, all}},
		}
	}
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for g, p := range players {
		wg.Go(func() {
			for s := range steps {
				if err := p.step(); err != nil {
					errs[g] = fmt.Errorf("goroutine %d, step %d: %w", g, s, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// known is a communicator that a goroutine knows: nil if its rank is not in it.
type known struct {
	comm    *mpi.Comm
	members []int // ranks in the world
}

type player struct {
	me        int
	rand      *rand.Rand
	wildcards bool
	steps     int
	known     []known
}

func (p *player) step() error {
	p.steps++
	i := p.rand.IntN(len(p.known))
	k := p.known[i]
	// All numbers are drawn before anything depends on being a member.
	what, a, b := p.rand.IntN(10), p.rand.IntN(1000), p.rand.IntN(1000)
	order := p.rand.Perm(len(k.members))
	switch {
	case what < 2:
		return p.exchange(k, order, a, b)
	case what < 5:
		return p.collective(k, a, b)
	case what == 5 && i > 0:
		p.known = slices.Delete(p.known, i, i+1)
		if k.comm == nil {
			return nil
		}
		return k.comm.Free()
	case what == 6:
		return p.dup(k, a)
	case what == 7:
		return p.split(k, a%3+1, b)
	case what == 8 && len(k.members) > 1:
		return p.bridge(k, 1+a%(len(k.members)-1), b%2 == 0)
	default:
		return p.create(k, order[:1+a%len(order)], b%2 == 0)
	}
}

// learn remembers a communicator and checks what it says of itself.
func (p *player) learn(c *mpi.Comm, members []int) error {
	p.known = append(p.known, known{c, members})
	if want := slices.Index(members, p.me); (c == nil) != (want < 0) || c != nil &&
		(c.Rank() != want || c.Size() != len(members)) {
		return fmt.Errorf("communicator of %v: %v", members, c)
	}
	return nil
}

// dup duplicates a communicator, sometimes while another duplicate and a sum are
// on their way.
func (p *player) dup(k known, kind int) (err error) {
	if k.comm == nil {
		return p.learn(nil, k.members)
	}
	if kind%2 == 0 {
		d, err := k.comm.Dup()
		if err != nil {
			return err
		}
		return p.learn(d, k.members)
	}
	d, q, err := k.comm.Idup()
	if err != nil {
		return err
	}
	n := []int{0}
	s, err := mpi.Iallreduce(k.comm, []int{1}, n, mpi.Sum)
	if err != nil {
		return err
	}
	e, r, err := k.comm.Idup()
	if err != nil {
		return err
	}
	if err := mpi.WaitAll(q, r, s); err != nil || n[0] != len(k.members) {
		return fmt.Errorf("%d of %d members: %w", n[0], len(k.members), err)
	}
	if err := e.Free(); err != nil {
		return err
	}
	return p.learn(d, k.members)
}

// split gives rank r of the communicator the colour (r*salt)%colors, and a key
// that reverses the order if salt is odd.
func (p *player) split(k known, colors, salt int) (err error) {
	for color := range colors {
		var part []int
		for r, w := range k.members {
			if r*salt%colors == color {
				part = append(part, w)
			}
		}
		if salt%2 == 1 {
			slices.Reverse(part)
		}
		if len(part) == 0 {
			continue
		}
		var c *mpi.Comm
		if r := slices.Index(k.members, p.me); r >= 0 && r*salt%colors == color {
			if c, err = k.comm.Split(color, r*(1-salt%2*2)); err != nil {
				return err
			}
		}
		if err := p.learn(c, part); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) create(k known, ranks []int, all bool) error {
	members := make([]int, len(ranks))
	for i, r := range ranks {
		members[i] = k.members[r]
	}
	if k.comm == nil {
		return p.learn(nil, members)
	}
	g, err := k.comm.Group().Incl(ranks...)
	if err != nil {
		return err
	}
	make := (*mpi.Comm).Create
	if !all {
		if g.Rank() == mpi.Undefined {
			return p.learn(nil, members)
		}
		make = func(c *mpi.Comm, g *mpi.Group) (*mpi.Comm, error) { return c.CreateGroup(g, len(ranks)) }
	}
	c, err := make(k.comm, g)
	if err != nil {
		return err
	}
	return p.learn(c, members)
}

// bridge joins the first ranks of a communicator and the others, sends through
// the joint, and merges them again.
func (p *player) bridge(k known, first int, high bool) error {
	merged := slices.Clone(k.members)
	if high { // the lower group comes last
		merged = append(merged[first:], merged[:first]...)
	}
	if k.comm == nil {
		return p.learn(nil, merged)
	}
	low := k.comm.Rank() < first
	half, inter, err := twoGroups(k.comm, first)
	if err != nil {
		return err
	}
	if low && inter.Rank() == 0 {
		if err := mpi.Send(inter, []int{p.me}, inter.RemoteSize()-1, 1); err != nil {
			return err
		}
	}
	if !low && inter.Rank() == inter.Size()-1 {
		got := []int{-1}
		if _, err := mpi.Recv(inter, got, 0, 1); err != nil || got[0] != k.members[0] {
			return fmt.Errorf("through the joint of %v: %d, %w", k.members, got[0], err)
		}
	}
	c, err := inter.Merge(low == high)
	if err != nil {
		return err
	}
	if err := errors.Join(inter.Free(), half.Free()); err != nil {
		return err
	}
	return p.learn(c, merged)
}

// exchange sends from rank order[i] to rank order[i+1] of the communicator, and
// around.
func (p *player) exchange(k known, order []int, size, kind int) error {
	if k.comm == nil {
		return nil
	}
	if size%3 == 0 {
		size *= 40
	}
	at := slices.Index(order, k.comm.Rank())
	to, from := order[(at+1)%len(order)], order[(at+len(order)-1)%len(order)]
	source, tag := from, p.steps // a tag of its own: others may be a step ahead
	if p.wildcards && kind%4 == 0 {
		source = mpi.AnySource
	}
	in := make([]int, size)
	q, err := mpi.Irecv(k.comm, in, source, tag)
	if err != nil {
		return err
	}
	out := make([]int, size)
	for i := range out {
		out[i] = p.me*1000 + i
	}
	if err := mpi.Send(k.comm, out, to, tag); err != nil {
		return err
	}
	st, err := q.Wait()
	if err != nil {
		return err
	}
	for i, v := range in {
		if v != k.members[from]*1000+i || st.Source != from {
			return fmt.Errorf("exchange on %v: %d from %d at %d", k.members, v, st.Source, i)
		}
	}
	return nil
}

func (p *player) collective(k known, kind, root int) error {
	if k.comm == nil {
		return nil
	}
	root %= len(k.members)
	got := []int{p.me, 1}
	want := []int{0, len(k.members)}
	for _, w := range k.members {
		want[0] += w
	}
	var err error
	switch kind % 4 {
	case 0:
		want = got
		err = k.comm.Barrier()
	case 1:
		err = mpi.Allreduce(k.comm, got, got, mpi.Sum)
	case 2:
		want = []int{k.members[root], 1}
		err = mpi.Bcast(k.comm, got, root)
	case 3:
		if k.comm.Rank() != root {
			want = got
		}
		err = mpi.Reduce(k.comm, slices.Clone(got), got, mpi.Sum, root)
	}
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("collective %d on %v: %v instead of %v", kind%4, k.members, got, want)
	}
	return err
}
