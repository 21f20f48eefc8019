package world

import (
	"fmt"
	"strings"

	"github.com/exanet-mpi/exanet/check/toy"
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/auto"
	"github.com/exanet-mpi/exanet/variants/envless"
	"github.com/exanet-mpi/exanet/variants/readbased"
	"github.com/exanet-mpi/exanet/variants/rtr"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// Protocol is a protocol that worlds can be made of.
type Protocol struct {
	Name string
	Make Make

	NoProbe, NoAnySource, SizesMatch bool // see Config

	// Tickets says that the number in an envelope counts the sends or receives
	// of a (communicator, peer, tag) from zero, as in thesis 3.5. The other
	// protocols number what they post from one.
	Tickets bool

	// Forgetful says that it forgets what it need not know at once, and is worth
	// a look only where there are several tags.
	Forgetful bool

	// Leased says that it has a fast path, see Config, and is explored together with the
	// same protocol without.
	Leased bool

	// Standing says that it has buffers that stand, see Config.
	Standing bool

	// Bounded says that a receive whose buffer finds no room ends when its message is known, so that it may be explored
	// with little, see Config.Room.
	Bounded bool

	// Hybrid is the size up to which sends may complete with a copy, see Config.
	Hybrid int
	// Order is what the device promises, and Same what is in the buffers before, see Config.
	Order rdmaeng.Order
	Same  bool
	// Brief says that it is explored by the short plan alone: one that is there to be read, or is another one but for
	// one thing.
	Brief bool
}

// Protocols are the protocols there are, the default first, and one to learn from.
var Protocols = []Protocol{
	{Name: "ticket", Tickets: true, Bounded: true,
		Make: func(me int, dev Device) variants.Protocol { return ticket.New(me, dev) }},
	{Name: "ticket-leased", Tickets: true, Leased: true, // as in a preloaded program
		Make: func(me int, dev Device) variants.Protocol { return ticket.New(me, dev) }},
	{Name: "ticket-forgetful", Tickets: true, Forgetful: true, Leased: true,
		// as ticket is when a program uses many tags
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewKeeping(me, dev, 0) }},
	{Name: "customized", Tickets: true, Leased: true, Brief: true, Hybrid: hybrid,
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewHybrid(me, dev, hybrid) }},
	{Name: "customized-read", Tickets: true, Bounded: true, Brief: true, Hybrid: hybrid, // by an agent
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewHybrid(me, dev, hybrid) }},
	{Name: "customized-written", Tickets: true, Brief: true, Hybrid: hybrid, // by a device that has neither
		Make: func(me int, dev Device) variants.Protocol {
			return ticket.NewHybrid(me, struct {
				packetizer.Port
				rdmaeng.Engine
			}{dev, dev}, hybrid)
		}},
	{Name: "auto", Tickets: true, Leased: true, Brief: true, Hybrid: hybrid,
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewAuto(me, dev, hybrid, quick) }},
	{Name: "auto-read", Tickets: true, Brief: true, Hybrid: hybrid, // by an agent
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewAuto(me, dev, hybrid, quick) }},
	{Name: "customized-elided", Tickets: true, Brief: true, Hybrid: hybrid, Same: true, // as customized-read
		Order: rdmaeng.AllOrder | rdmaeng.LastByteLast,
		Make:  func(me int, dev Device) variants.Protocol { return ticket.NewHybrid(me, dev, hybrid) }},
	{Name: "customized-unordered", Tickets: true, Brief: true, Hybrid: hybrid, Same: true, // on a device that does not
		// promise what that needs
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewHybrid(me, dev, hybrid) }},
	{Name: "standing", Tickets: true, Brief: true, Standing: true,
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewStanding(me, dev, standing, 0) }},
	{Name: "standing-leased", Tickets: true, Leased: true, Brief: true, Standing: true,
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewStanding(me, dev, standing, 0) }},
	{Name: "envless", Bounded: true,
		Make: func(me int, dev Device) variants.Protocol { return envless.New(me, dev, false) }},
	{Name: "rtr", Bounded: true,
		Make: func(me int, dev Device) variants.Protocol { return rtr.New(me, dev) }},
	{Name: "optimistic", NoProbe: true, NoAnySource: true, SizesMatch: true,
		Make: func(me int, dev Device) variants.Protocol { return optimistic.New(me, dev) }},
	{Name: "optimistic-forgetful", NoProbe: true, NoAnySource: true, SizesMatch: true, Forgetful: true,
		Make: func(me int, dev Device) variants.Protocol { return optimistic.NewCounting(me, dev, 1) }},
	{Name: "readbased",
		Make: func(me int, dev Device) variants.Protocol { return readbased.New(me, dev) }},
	{Name: "toy", Brief: true, // see docs/adding-a-protocol.md
		Make: func(me int, dev Device) variants.Protocol { return toy.New(me, dev) }},
}

// quick changes the choices of package auto as soon as can be.
var quick = auto.Rule{Silence: 1, Late: 1, Crossed: 1}

// hybrid is the size in bytes of the long messages of most programs.
const hybrid = 48

// standing is the size in bytes up to which receives give their senders buffers: the first that is posted does.
const standing = 128

// Config returns a world of the protocol with so many ranks.
func (p Protocol) Config(ranks int) Config {
	return Config{Ranks: ranks, Make: p.Make, NoProbe: p.NoProbe, NoAnySource: p.NoAnySource,
		SizesMatch: p.SizesMatch, Leased: p.Leased, Unleased: p.Forgetful, Hybrid: p.Hybrid,
		Order: p.Order, Same: p.Same, Standing: p.Standing}
}

// ProtocolNamed returns the protocol with a name.
func ProtocolNamed(name string) (Protocol, error) {
	for _, p := range Protocols {
		if p.Name == name {
			return p, nil
		}
	}
	return Protocol{}, fmt.Errorf("there is no protocol %q (there are: %s)", name, strings.Join(ProtocolNames(), ", "))
}

// ProtocolNames are the names that ProtocolNamed knows.
func ProtocolNames() (names []string) {
	for _, p := range Protocols {
		names = append(names, p.Name)
	}
	return names
}
