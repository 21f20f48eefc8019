package ticket

import (
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	for c := range p.comms.All() {
		for _, l := range c.in {
			for r := range l.posted.All() {
				f(fmt.Sprintf("%s: %s", variants.Describe(r), stateOfRecv(r)))
			}
		}
		for r := range c.wild.All() {
			f(fmt.Sprintf("%s: no message has arrived", variants.Describe(r)))
		}
		for _, l := range c.out {
			for r := range l.posted.All() {
				what := "RTS sent, no receive has answered"
				switch {
				case r.Delivered:
					what = "EnvDS sent, no receive has matched"
				case r.Copy:
					what = "complete, no receive has taken its copy"
				}
				f(fmt.Sprintf("%s: %s", variants.Describe(r), what))
			}
		}
	}
	p.Unqueued(f)
}

func stateOfRecv(r *variants.Request) string {
	switch {
	case r.Cancelling:
		return "waits for the sender's answer to its cancelling"
	case r.Advertised:
		return "RTR sent, no send has answered"
	default:
		return "no message has arrived"
	}
}
