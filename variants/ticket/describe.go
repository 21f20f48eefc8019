package ticket

import (
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Waiting calls f with a line for everything that has not completed: what it
// is, and what it waits for.
func (p *Protocol) Waiting(f func(line string)) {
	for _, c := range p.comms {
		if c.Context == nil {
			continue
		}
		for _, l := range c.in {
			for r := l.posted.Head(); r != nil; r = r.Next() {
				f(fmt.Sprintf("%s: %s", variants.Describe(r), stateOfRecv(r)))
			}
		}
		for r := c.wild.Head(); r != nil; r = r.Next() {
			f(fmt.Sprintf("%s: no message has arrived", variants.Describe(r)))
		}
		for _, l := range c.out {
			for r := l.posted.Head(); r != nil; r = r.Next() {
				what := "RTS sent, no receive has answered"
				if r.Delivered {
					what = "EnvDS sent, no receive has matched"
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
