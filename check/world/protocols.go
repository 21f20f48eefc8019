package world

import (
	"fmt"
	"strings"

	"github.com/exanet-mpi/exanet/check/toy"
	"github.com/exanet-mpi/exanet/optimistic"
	"github.com/exanet-mpi/exanet/variants"
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

	// Lesson says that it is there to be read, and is explored by the short plan alone.
	Lesson bool
}

// Protocols are the protocols there are, the default first, and one to learn from.
var Protocols = []Protocol{
	{Name: "ticket", Tickets: true,
		Make: func(me int, dev Device) variants.Protocol { return ticket.New(me, dev) }},
	{Name: "ticket-leased", Tickets: true, Leased: true, // as in a preloaded program
		Make: func(me int, dev Device) variants.Protocol { return ticket.New(me, dev) }},
	{Name: "ticket-forgetful", Tickets: true, Forgetful: true, Leased: true,
		// as ticket is when a program uses many tags
		Make: func(me int, dev Device) variants.Protocol { return ticket.NewKeeping(me, dev, 0) }},
	{Name: "envless",
		Make: func(me int, dev Device) variants.Protocol { return envless.New(me, dev, false) }},
	{Name: "rtr",
		Make: func(me int, dev Device) variants.Protocol { return rtr.New(me, dev) }},
	{Name: "optimistic", NoProbe: true, NoAnySource: true, SizesMatch: true,
		Make: func(me int, dev Device) variants.Protocol { return optimistic.New(me, dev) }},
	{Name: "optimistic-forgetful", NoProbe: true, NoAnySource: true, SizesMatch: true, Forgetful: true,
		Make: func(me int, dev Device) variants.Protocol { return optimistic.NewCounting(me, dev, 1) }},
	{Name: "readbased",
		Make: func(me int, dev Device) variants.Protocol { return readbased.New(me, dev) }},
	{Name: "toy", Lesson: true, // see docs/adding-a-protocol.md
		Make: func(me int, dev Device) variants.Protocol { return toy.New(me, dev) }},
}

// Config returns a world of the protocol with so many ranks.
func (p Protocol) Config(ranks int) Config {
	return Config{Ranks: ranks, Make: p.Make, NoProbe: p.NoProbe, NoAnySource: p.NoAnySource,
		SizesMatch: p.SizesMatch, Leased: p.Leased, Unleased: p.Forgetful}
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
