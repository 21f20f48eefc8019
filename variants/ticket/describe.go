package ticket

import (
	"fmt"

	"github.com/exanet-mpi/exanet/variants"
)

// Waiting implements variants.Protocol.
func (p *Protocol) Waiting(f func(line string)) {
	p.EachPosted(func(r *variants.Request) { f(fmt.Sprintf("%s: %s", variants.Describe(r), stateOf(r))) })
	p.Unqueued(f)
}

func stateOf(r *variants.Request) string {
	switch {
	case r.Cancelling && r.Recv:
		return "waits for the sender's answer to its cancelling"
	case r.Advertised:
		return "RTR sent, no send has answered"
	case r.Recv:
		return "no message has arrived"
	case r.Delivered:
		return "EnvDS sent, no receive has matched"
	case r.Copy:
		return "complete, no receive has taken its copy"
	default:
		return "RTS sent, no receive has answered"
	}
}
