package explore

import (
	"iter"
	"math/rand/v2"

	"github.com/exanet-mpi/exanet/check/world"
	"github.com/exanet-mpi/exanet/variants"
)

// Sizes in bytes around the eager limit of 40. Tiny receives are too short for
// eager messages, Large ones for Huge messages.
const (
	Tiny  = 3
	Eager = 8
	Small = 16
	Long  = 48
	Large = 50
	Huge  = 54
)

// An Alphabet is what the operations of enumerated programs are taken from, a
// list for each rank. Peers are written for the rank itself. An operation Cancel
// refers to the newest request of its rank.
type Alphabet struct {
	Name  string
	About string
	Ranks [][]world.Op
}

const (
	anySource = int(variants.AnySource)
	anyTag    = variants.AnyTag
)

func send(peer int, tag int32, size int) world.Op {
	return world.Op{Kind: world.Send, Peer: peer, Tag: tag, Size: size}
}

func ssend(peer int, tag int32, size int) world.Op {
	return world.Op{Kind: world.Send, Sync: true, Peer: peer, Tag: tag, Size: size}
}

func recv(peer int, tag int32, size int) world.Op {
	return world.Op{Kind: world.Recv, Peer: peer, Tag: tag, Size: size}
}

func probe(peer int, tag int32) world.Op {
	return world.Op{Kind: world.Probe, Peer: peer, Tag: tag}
}

func extract(peer int, tag int32, size int) world.Op {
	return world.Op{Kind: world.Extract, Peer: peer, Tag: tag, Size: size}
}

var cancel = world.Op{Kind: world.Cancel, Req: newest}

// in is an operation in another communicator.
func in(comm int, o world.Op) world.Op {
	o.Comm = comm
	return o
}

// newest stands for the newest request before a Cancel.
const newest = -1

// Reduced is the alphabet of which all programs of three operations a rank are
// explored: one rank sends, the other receives.
var Reduced = Alphabet{
	Name:  "reduced",
	About: "one rank sends, the other receives: short, long and synchronous; either wildcard; cancelling",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), ssend(1, 1, Eager), cancel},
		{recv(0, 1, Small), recv(0, 1, Large), recv(0, anyTag, Large), recv(anySource, 1, Large), cancel},
	},
}

// TwoComms is the reduced alphabet over two communicators.
var TwoComms = Alphabet{
	Name:  "two communicators",
	About: "the reduced alphabet over two communicators",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), ssend(1, 1, Eager), in(1, send(1, 1, Eager)), in(1, send(1, 1, Long)),
			cancel},
		{recv(0, 1, Small), recv(0, 1, Large), recv(0, anyTag, Large), recv(anySource, 1, Large),
			in(1, recv(0, 1, Small)), in(1, recv(0, 1, Large)), in(1, recv(0, anyTag, Large)),
			in(1, recv(anySource, 1, Large)), cancel},
	},
}

// Reused has communicators that are freed and opened again under their ids.
var Reused = Alphabet{
	Name:  "reused",
	About: "one rank sends, the other receives, both free the communicator and open the next with its id",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), {Kind: world.Free}},
		{recv(0, 1, Large), cancel, {Kind: world.Free}},
	},
}

// Sized has what package optimistic must recognise: one rank sends, the other
// receives, short and long.
var Sized = Alphabet{
	Name:  "sized",
	About: "one rank sends, the other receives: short, long and synchronous, two tags, no wildcards",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), ssend(1, 1, Eager), ssend(1, 1, Long), send(1, 2, Long)},
		{recv(0, 1, Small), recv(0, 1, Large), recv(0, 2, Small)},
	},
}

// SizedAndCancelled is Sized with cancelling.
var SizedAndCancelled = Alphabet{
	Name:  "sized, cancelling",
	About: "one rank sends, the other receives: short, long and synchronous, cancelling",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), ssend(1, 1, Eager), cancel},
		{recv(0, 1, Small), recv(0, 1, Large), cancel},
	},
}

// Tags is for protocols that keep something for each tag.
var Tags = Alphabet{
	Name:  "tags",
	About: "one rank sends, the other receives: two tags, any tag, cancelling",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), send(1, 2, Eager), cancel},
		{recv(0, 1, Large), recv(0, 2, Small), recv(0, anyTag, Large), cancel},
	},
}

// Filling has messages that fill their receives, and others.
var Filling = Alphabet{
	Name:  "filling",
	About: "one rank sends, the other receives: messages as long as the receive and shorter, cancelling",
	Ranks: [][]world.Op{
		{send(1, 1, Eager), send(1, 1, Long), send(1, 1, Large), ssend(1, 1, Large), cancel},
		{recv(0, 1, Long), recv(0, 1, Large), recv(0, anyTag, Large), cancel},
	},
}

// Standing is for protocols whose receivers give buffers: long messages in both directions, and what could overtake
// them or be overtaken.
var Standing = Alphabet{
	Name:  "standing",
	About: "both ranks send and receive: long messages of two tags, short ones, any tag, two sizes, probes, cancelling",
	Ranks: [][]world.Op{standingOps(1), standingOps(0)},
}

func standingOps(peer int) []world.Op {
	return []world.Op{send(peer, 1, Long), send(peer, 2, Eager), recv(peer, 1, Large), recv(peer, anyTag, Large),
		recv(peer, 1, Huge), probe(peer, anyTag), extract(peer, 1, Large), {Kind: world.Take}, cancel,
		{Kind: world.Free}}
}

// Streams are long programs of Standing, in which buffers are used again.
var Streams = Alphabet{
	Name:  "streams",
	About: "both ranks send and receive long messages of two tags, and short ones, and receive any tag",
	Ranks: [][]world.Op{streamOps(1), streamOps(0)},
}

func streamOps(peer int) []world.Op {
	return []world.Op{send(peer, 1, Long), send(peer, 1, Long), send(peer, 2, Long), send(peer, 2, Eager),
		recv(peer, 1, Large), recv(peer, 1, Large), recv(peer, 2, Large), recv(peer, anyTag, Large)}
}

// overtaking are programs in which a message of a buffer that stands could overtake another, or be overtaken: three are
// sent, the first receive gives the buffers, and the next takes any tag.
func overtaking(yield func(world.Program) bool) {
	sends := []world.Op{send(1, 1, Long), send(1, 2, Long), send(1, 2, Eager)}
	for i := range 27 {
		for _, o := range []world.Op{recv(0, anyTag, Large), probe(0, anyTag), extract(0, anyTag, Large)} {
			p := world.Program{{sends[i%3], sends[i/3%3], sends[i/9]}, {recv(0, 1, Large), o}}
			if !yield(p) {
				return
			}
		}
	}
}

// threeCancelled are programs in which three receives are cancelled, in each order.
func threeCancelled(yield func(world.Program) bool) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		ops := []world.Op{recv(0, 1, Large), recv(0, 1, Large), recv(0, 1, Large)}
		for _, n := range order {
			ops = append(ops, world.Op{Kind: world.Cancel, Req: n})
		}
		if !yield(world.Program{{send(1, 1, Eager)}, ops}) {
			return
		}
	}
}

// Full is the alphabet with everything, in both directions.
var Full = Alphabet{
	Name: "full",
	About: "both ranks send and receive: sizes on both sides of every limit, two tags, all wildcards, modes, probes, " +
		"cancelling",
	Ranks: [][]world.Op{full(1), full(0)},
}

// Mixed has everything, among three ranks, and is sampled.
var Mixed = Alphabet{
	Name:  "mixed",
	About: "the full alphabet among three ranks, and messages to oneself",
	Ranks: [][]world.Op{
		mixed(), mixed(), mixed(),
	},
}

func full(peer int) (ops []world.Op) {
	for _, size := range []int{Eager, Long, Huge} {
		ops = append(ops, send(peer, 1, size))
	}
	ops = append(ops, ssend(peer, 1, Eager), ssend(peer, 1, Long), send(peer, 2, Eager), send(peer, 2, Long))
	for _, tag := range []int32{1, anyTag} {
		for _, from := range []int{peer, anySource} {
			for _, size := range []int{Tiny, Small, Large} {
				ops = append(ops, recv(from, tag, size))
			}
		}
	}
	return append(ops, recv(peer, 2, Small), recv(peer, 2, Large), probe(peer, 1), probe(anySource, anyTag),
		extract(peer, 1, Large), extract(anySource, anyTag, Small), world.Op{Kind: world.Take}, cancel)
}

func mixed() (ops []world.Op) {
	for peer := range 3 {
		ops = append(ops, full(peer)...)
	}
	return ops
}

// Without returns the alphabet without what a protocol does not have.
func (a Alphabet) Without(cfg world.Config) Alphabet {
	b := a
	b.Ranks = nil
	for _, ops := range a.Ranks {
		var keep []world.Op
		for _, o := range ops {
			probes := o.Kind == world.Probe || o.Kind == world.Extract || o.Kind == world.Take
			if probes && cfg.NoProbe || o.Peer == anySource && cfg.NoAnySource {
				continue
			}
			keep = append(keep, o)
		}
		b.Ranks = append(b.Ranks, keep)
	}
	return b
}

// Allowed returns those of the programs that cfg allows: where it says so, of a
// send and a receive that could match either both are short or both are long.
func Allowed(cfg world.Config, programs iter.Seq[world.Program]) iter.Seq[world.Program] {
	if !cfg.SizesMatch {
		return programs
	}
	return func(yield func(world.Program) bool) {
		for p := range programs {
			if sizesMatch(p) && !yield(p) {
				return
			}
		}
	}
}

func sizesMatch(p world.Program) bool {
	for to, ops := range p {
		for _, r := range ops {
			for from, others := range p {
				for _, s := range others {
					if matches(s, from, r, to) && (s.Size <= Small) != (r.Size <= Small) {
						return false
					}
				}
			}
		}
	}
	return true
}

// matches reports whether s, of rank from, is a send that a receive r of rank to
// can take.
func matches(s world.Op, from int, r world.Op, to int) bool {
	return s.Kind == world.Send && r.Kind == world.Recv && s.Peer == to && s.Comm == r.Comm &&
		(r.Peer == anySource || r.Peer == from) && (r.Tag == anyTag || r.Tag == s.Tag)
}

// talks reports whether something in a program can match, or is cancelled: the
// others have nothing to go wrong that shorter ones do not have.
func talks(p world.Program) bool {
	for to, ops := range p {
		for _, r := range ops {
			if r.Kind == world.Cancel {
				return true
			}
			if r.Kind == world.Probe || r.Kind == world.Extract {
				r.Kind = world.Recv
			}
			for from, others := range p {
				for _, s := range others {
					if matches(s, from, r, to) {
						return true
					}
				}
			}
		}
	}
	return false
}

// Sample returns count random programs of n operations a rank. Blocking calls
// occur in them.
func (a Alphabet) Sample(n, count int, seed uint64) iter.Seq[world.Program] {
	return func(yield func(world.Program) bool) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		for made := 0; made < count; {
			p := make(world.Program, len(a.Ranks))
			for r, ops := range a.Ranks {
				reqs := 0
				for len(p[r]) < n {
					o := ops[rng.IntN(len(ops))]
					switch o.Kind {
					case world.Cancel:
						if reqs == 0 {
							continue
						}
						o.Req = rng.IntN(reqs)
					case world.Send, world.Recv:
						o.Block = rng.IntN(4) == 0
						reqs++
					case world.Probe:
						o.Block = rng.IntN(2) == 0
					}
					p[r] = append(p[r], o)
				}
			}
			if !talks(p) {
				continue
			}
			made++
			if !yield(p) {
				return
			}
		}
	}
}
