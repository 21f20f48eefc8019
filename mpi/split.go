package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/exanet-mpi/exanet/coll"
	"github.com/exanet-mpi/exanet/group"
	"github.com/exanet-mpi/exanet/mpi/internal/commid"
)

// Split makes a communicator of all ranks of c that pass the same colour, in
// the order of their keys, of their ranks in c where keys are equal
// (MPI_Comm_split). All ranks of c call it. Colours are 0 or more; a rank that
// passes Undefined gets nil.
func (c *Comm) Split(color, key int) (*Comm, error) { return c.split("Split", color, key) }

// SplitKind says what the ranks of a communicator of SplitType share.
type SplitKind int

// SplitShared: memory, that is, a host (MPI_COMM_TYPE_SHARED). On the device network each
// rank counts as a host of its own, unless the job has been started on several.
const SplitShared SplitKind = 1

// SplitType makes a communicator of the ranks of c that share what kind says, in
// the order of their keys (MPI_Comm_split_type). A rank that passes Undefined
// gets nil.
func (c *Comm) SplitType(kind SplitKind, key int) (*Comm, error) {
	color := -1 // of an unknown kind: refused
	switch kind {
	case SplitShared:
		if c.usable("SplitType") == nil { // else split says what is wrong
			color = c.rank.host(c.members.World(int32(c.Rank())))
		}
	case Undefined:
		color = Undefined
	}
	return c.split("SplitType", color, key)
}

// host is a number of the host that a rank of the job is on.
func (k *rank) host(world int32) int {
	if k.Hosts == nil {
		return 0
	}
	return k.Hosts.Host(int(world))
}

// here reports whether a rank is on this rank's host.
func (c *Comm) here(i int) bool {
	return c.rank.host(c.members.World(int32(i))) == c.rank.host(int32(c.rank.fab.Rank()))
}

// onOneHost reports whether all ranks are.
func (c *Comm) onOneHost() bool {
	for i := range c.size {
		if !c.here(i) {
			return false
		}
	}
	return true
}

// hostsOf says where the members of a communicator are; nil: it does not matter to collectives.
func (k *rank) hostsOf(members *group.Group) *coll.Hosts {
	if k.Hosts == nil {
		return nil
	}
	var hosts []int
	for world := range members.All() {
		hosts = append(hosts, k.host(world))
	}
	return coll.NewHosts(hosts)
}

// vote is what a rank says in Split.
type vote struct{ color, key, id, rank int64 }

const voteWords = 3

func (c *Comm) split(op string, color, key int) (*Comm, error) {
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	defer c.rank.timed(op, 0).end()
	// Each rank might lead, so each proposes an ID.
	k := c.rank
	mine, err := c.propose(op)
	if err == nil && color < 0 && color != Undefined {
		k.withdraw(mine)
		err = c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: colour or kind %d", ErrArg, color),
			"pass 0 or more, or Undefined")
	}
	proposed := err == nil
	t := c.everybody(op, 0)
	all, err := t.Everyone([]int64{int64(color), int64(key), mine.Word()}, err)
	var part []vote
	if err == nil && color != Undefined {
		part = sameColor(all, int64(color))
	}
	leads := len(part) > 0 && part[0].rank == int64(c.Rank())
	if proposed && !leads && !errors.Is(err, ErrProcFailed) { // else others may have taken it
		k.withdraw(mine)
	}
	if err != nil {
		return nil, err
	}
	var n *Comm
	if len(part) > 0 {
		ranks := make([]int, len(part))
		for i, v := range part {
			ranks[i] = int(v.rank)
		}
		members, err := c.members.Incl(ranks)
		if err != nil {
			return nil, c.fail(op, noValue, noValue, noValue, err, "")
		}
		n = c.derive(commid.FromWord(part[0].id), members, slices.Index(ranks, c.Rank()))
	}
	// All of c confirm, not each part by itself: the IDs have come down this
	// tree, and a rank that they have not reached is missed only here.
	if _, err := t.Everyone(nil, nil); err != nil {
		n.abandon()
		return nil, err
	}
	return n, nil
}

// sameColor returns the votes of a colour in the order of the communicator that
// they make.
func sameColor(all []int64, color int64) (part []vote) {
	for i := 0; i < len(all); i += voteWords {
		if all[i] == color {
			part = append(part, vote{all[i], all[i+1], all[i+2], int64(i / voteWords)})
		}
	}
	slices.SortStableFunc(part, func(a, b vote) int { return cmp.Compare(a.key, b.key) })
	return part
}

// Create makes a communicator of the group g of ranks of c (MPI_Comm_create).
// All ranks of c call it. Those that are not in the group they pass get nil, and
// ranks may pass different groups if these have no member in common.
func (c *Comm) Create(g *Group) (*Comm, error) { return c.create("Create", g, tagMaking) }

// CreateGroup is Create, but only the ranks of the group call it
// (MPI_Comm_create_group). Calls that run at the same time on one communicator,
// from different goroutines, need different tags.
func (c *Comm) CreateGroup(g *Group, tag int) (*Comm, error) {
	if err := c.usable("CreateGroup"); err != nil {
		return nil, err
	}
	if tag < 0 || tag > MaxTag {
		return nil, c.fail("CreateGroup", noValue, tag, noValue, ErrTag, "tags are 0 to "+itoa(MaxTag))
	}
	return c.create("CreateGroup", g, tagOf(tag))
}

// create lets the members of a group agree on an ID among themselves.
func (c *Comm) create(op string, g *Group, tag int) (*Comm, error) {
	if err := c.usableWithin(op); err != nil {
		return nil, err
	}
	defer c.rank.timed(op, 0).end()
	if g == nil {
		return nil, c.fail(op, noValue, noValue, noValue, fmt.Errorf("%w: nil", ErrGroup),
			"use what Comm.Group and the methods of Group return")
	}
	if g.rank != c.rank {
		return nil, c.fail(op, noValue, noValue, noValue,
			fmt.Errorf("%w: it was made by another rank, or in another world", ErrGroup),
			"make it of the communicator's group")
	}
	if group.Difference(g.set, c.members).Size() > 0 {
		return nil, c.fail(op, noValue, noValue, noValue,
			fmt.Errorf("%w: it has members that the communicator has not", ErrGroup),
			"make it of the communicator's group")
	}
	me := g.Rank()
	if me == Undefined {
		return nil, nil
	}
	t := c.team(op, c.coll, tag, g.Size(), me, func(i int) int { return int(c.members.Rank(g.set.World(int32(i)))) })
	d, err := t.agree(nil)
	if err != nil {
		return nil, err
	}
	return t.found(d, g.set, me)
}
