package world

import (
	"fmt"
	"strings"

	"github.com/exanet-mpi/exanet/variants"
	"github.com/exanet-mpi/exanet/variants/ticket"
)

// Protocol is a protocol that worlds can be made of.
type Protocol struct {
	Name string
	Make Make

	NoProbe, NoAnySource bool // see Config
}

// Protocols are the protocols there are, the default first.
var Protocols = []Protocol{
	{Name: "ticket", Make: func(me int, dev variants.Device) variants.Protocol { return ticket.New(me, dev) }},
}

// Config returns a world of the protocol with so many ranks.
func (p Protocol) Config(ranks int) Config {
	return Config{Ranks: ranks, Make: p.Make, NoProbe: p.NoProbe, NoAnySource: p.NoAnySource}
}

// ProtocolNamed returns the protocol with a name.
func ProtocolNamed(name string) (Protocol, error) {
	var names []string
	for _, p := range Protocols {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Protocol{}, fmt.Errorf("there is no protocol %q (there are: %s)", name, strings.Join(names, ", "))
}
