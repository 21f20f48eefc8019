package explore

import (
	"fmt"
	"iter"
	"slices"

	"github.com/exanet-mpi/exanet/check/world"
)

// Part is a set of programs of a Plan, and the world they run in.
type Part struct {
	Name     string
	Ranks    int
	Pieces   int   // in which writes land
	Capacity int   // of the mailboxes; 0: no limit
	Doubts   bool  // who waits may ask at any moment (package optimistic)
	Window   int64 // bytes of credit; 0: as ever
	Room     int   // buffers that a rank can expose at a time; 0: any number
	Mortal   int   // ranks of which one dies
	Broken   bool  // programs that break the assumption of package optimistic
	Programs iter.Seq[Family]
}

func (p Part) configure(cfg world.Config) world.Config {
	cfg.Ranks, cfg.Pieces, cfg.Capacity = p.Ranks, p.Pieces, p.Capacity
	cfg.Mortal, cfg.Broken = p.Mortal, p.Broken
	cfg.Doubts, cfg.Window, cfg.Room = p.Doubts, p.Window, p.Room
	return cfg
}

// Plan is what is explored of a protocol: the samples first, since they reach
// furthest, then everything small.
func Plan(p world.Protocol, short, deep bool) []Part {
	cfg := p.Config(2)
	reduced, full, mixed, two := Reduced.Without(cfg), Full.Without(cfg), Mixed.Without(cfg), TwoComms.Without(cfg)
	sample := func(a Alphabet, n, count int, seed uint64) iter.Seq[Family] {
		return Singles(Allowed(cfg, a.Sample(n, count, seed)))
	}
	times := 1
	if deep {
		times = 20
	}
	many := times
	if cfg.SizesMatch {
		many *= 50 // few of the programs of two ranks are allowed
	}
	some := 10 * times // of which there are many orders: fewer where each operation can go on in several ways
	if p.Leased {
		some = 2 * times
	}
	parts := []Part{
		{Name: "all of 2, reduced", Ranks: 2, Pieces: 2, Programs: reduced.Programs(cfg, 2)},
		{Name: "all of 2, reduced, mailboxes of 1", Ranks: 2, Pieces: 1, Capacity: 1,
			Programs: reduced.Programs(cfg, 2)},
		{Name: "all of 2, reduced, credit for one message", Ranks: 2, Pieces: 1, Window: 40,
			Programs: reduced.Programs(cfg, 2)},
		{Name: "all of 2, communicators freed and reopened", Ranks: 2, Pieces: 1,
			Programs: Reused.Without(cfg).Programs(cfg, 2)},
		{Name: "all of 1, full", Ranks: 2, Pieces: 2, Programs: full.Programs(cfg, 1)},
		{Name: "sample of 3, full, writes in 2 pieces", Ranks: 2, Pieces: 2, Programs: sample(full, 3, 200*many, 1)},
		{Name: "sample of 4, full, mailboxes of 2", Ranks: 2, Pieces: 1, Capacity: 2,
			Programs: sample(full, 4, 20*many, 2)},
		{Name: "sample of 2, 3 ranks", Ranks: 3, Pieces: 1, Programs: sample(mixed, 2, 500*times, 3)},
		{Name: "sample of 3, 3 ranks", Ranks: 3, Pieces: 1, Programs: sample(mixed, 3, 20*times, 4)},
	}
	parts = append(parts,
		Part{Name: "sample of 3, reduced", Ranks: 2, Pieces: 1, Programs: sample(reduced, 3, 50*some, 10)},
		Part{Name: "sample of 3, reduced, credit for two, mailboxes of 2", Ranks: 2, Pieces: 1, Window: 80, Capacity: 2,
			Programs: sample(reduced, 3, 5*some, 11)},
		Part{Name: "all of 2, two communicators", Ranks: 2, Pieces: 1, Programs: two.Programs(cfg, 2)},
		Part{Name: "all of 1, full, either rank dies", Ranks: 2, Pieces: 2, Mortal: 2, Programs: full.Programs(cfg, 1)},
		Part{Name: "all of 2, reduced, either rank dies", Ranks: 2, Pieces: 1, Mortal: 2,
			Programs: reduced.Programs(cfg, 2)},
		Part{Name: "sample of 2, 3 ranks, one dies", Ranks: 3, Pieces: 1, Mortal: 1,
			Programs: sample(mixed, 2, 20*some, 7)})
	if p.Bounded {
		parts = slices.Insert(parts, 0, Part{Name: "all of 2, reduced, room for one buffer", Ranks: 2, Pieces: 1,
			Room: 1, Programs: reduced.Programs(cfg, 2)})
	}
	if !p.Leased {
		parts = append(parts, Part{Name: "all of 3, communicators freed and reopened", Ranks: 2, Pieces: 1,
			Programs: Reused.Without(cfg).Programs(cfg, 3)})
	}
	if cfg.SizesMatch {
		all := cfg
		all.SizesMatch = false
		parts = append(parts,
			Part{Name: "all of 2, reduced, who waits asks", Ranks: 2, Pieces: 1, Doubts: true,
				Programs: reduced.Programs(cfg, 2)},
			Part{Name: "sample of 2, full, who waits asks", Ranks: 2, Pieces: 1, Doubts: true,
				Programs: sample(full, 2, 10*many, 8)},
			Part{Name: "sample of 3, one short and one long", Ranks: 2, Pieces: 1, Doubts: true, Broken: true,
				Programs: Singles(Sized.Sample(3, times, 9))},
			Part{Name: "all of 2, one short and one long, cancelling", Ranks: 2, Pieces: 1, Doubts: true, Broken: true,
				Programs: SizedAndCancelled.Programs(all, 2)},
			Part{Name: "all of 2, one short and one long, 2 pieces", Ranks: 2, Pieces: 2, Doubts: true, Broken: true,
				Programs: Sized.Programs(all, 2)})
	}
	if p.Standing {
		own := []Part{{Name: "three sent, any tag received", Ranks: 2, Pieces: 1, Programs: Singles(overtaking)},
			{Name: "all of 2, standing, both directions", Ranks: 2, Pieces: 1, Programs: Standing.Programs(cfg, 2)}}
		if p.Leased { // the rest as without
			parts = append(own, parts[:4]...)
		} else {
			parts = append(append(own, parts...),
				Part{Name: "all of 2, standing, both directions, mailboxes of 1", Ranks: 2, Pieces: 1, Capacity: 1,
					Programs: Standing.Programs(cfg, 2)},
				Part{Name: "all of 2, standing, either rank dies", Ranks: 2, Pieces: 1, Mortal: 2,
					Programs: Standing.Programs(cfg, 2)},
				Part{Name: "sample of 4, streams", Ranks: 2, Pieces: 1, Programs: sample(Streams, 4, some, 17)},
				Part{Name: "sample of 3, streams, either rank dies", Ranks: 2, Pieces: 1, Mortal: 2,
					Programs: sample(Streams, 3, some, 18)})
		}
	}
	if p.Tickets && !p.Leased {
		parts = append(parts, Part{Name: "three cancelled, in each order", Ranks: 2, Pieces: 1,
			Programs: Singles(threeCancelled)})
	}
	if p.Same { // otherwise it is as the protocol whose writes are all notified
		filling := Filling.Without(cfg)
		parts = []Part{
			{Name: "all of 2, filling, writes in 2 pieces", Ranks: 2, Pieces: 2, Programs: filling.Programs(cfg, 2)},
			{Name: "all of 2, filling, mailboxes of 1", Ranks: 2, Pieces: 1, Capacity: 1,
				Programs: filling.Programs(cfg, 2)},
			{Name: "all of 2, filling, either rank dies", Ranks: 2, Pieces: 1, Mortal: 2,
				Programs: filling.Programs(cfg, 2)},
			{Name: "sample of 3, filling", Ranks: 2, Pieces: 1, Programs: sample(filling, 3, 20*times, 17)},
		}
		if p.Order == 0 { // the other one's device promises more
			parts = parts[:1]
		}
	}
	if p.Forgetful { // otherwise it is as the protocol that keeps its channels
		if parts = parts[5:9:9]; !p.Tickets {
			parts = nil
		}
		parts = append(parts, Part{Name: "sample of 4, tags", Ranks: 2, Pieces: 1,
			Programs: sample(Tags, 4, 5*many, 5)},
			Part{Name: "all of 2, tags, mailboxes of 1", Ranks: 2, Pieces: 1, Capacity: 1,
				Programs: Tags.Programs(cfg, 2)},
			Part{Name: "all of 2, tags, either rank dies", Ranks: 2, Pieces: 1, Mortal: 2,
				Programs: Tags.Programs(cfg, 2)},
			Part{Name: "sample of 2, 3 ranks, one dies", Ranks: 3, Pieces: 1, Mortal: 1,
				Programs: sample(mixed, 2, 20*times, 7)})
		if !short {
			parts = append(parts, Part{Name: "sample of 3, tags", Ranks: 2, Pieces: 1,
				Programs: sample(Tags, 3, 200*times, 16)})
		}
		short, deep = true, false
	}
	switch {
	case short || p.Brief:
	case p.Leased: // of what the same protocol without leases does altogether
		parts = append(parts,
			Part{Name: "sample of 2, full", Ranks: 2, Pieces: 1, Programs: sample(full, 2, 20_000, 14)},
			Part{Name: "sample of 3, reduced", Ranks: 2, Pieces: 1, Programs: sample(reduced, 3, 1_000, 15)})
	default:
		parts = append(parts,
			Part{Name: "all of 2, full", Ranks: 2, Pieces: 1, Programs: full.Programs(cfg, 2)},
			Part{Name: "all of 3, reduced", Ranks: 2, Pieces: 1, Programs: reduced.Programs(cfg, 3)})
	}
	if deep && !p.Brief {
		parts = append(parts,
			Part{Name: "all of 2, full, writes in 2 pieces", Ranks: 2, Pieces: 2, Programs: full.Programs(cfg, 2)},
			Part{Name: "all of 3, reduced, writes in 2 pieces", Ranks: 2, Pieces: 2,
				Programs: reduced.Programs(cfg, 3)})
	}
	for i := range parts {
		parts[i].Name = fmt.Sprintf("%s: %s", p.Name, parts[i].Name)
	}
	return parts
}
