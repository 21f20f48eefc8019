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
				f(fmt.Sprintf("%s: %s", name(r), stateOfRecv(r)))
			}
		}
		for r := c.wild.Head(); r != nil; r = r.Next() {
			f(fmt.Sprintf("%s: no message has arrived", name(r)))
		}
		for _, l := range c.out {
			for r := l.posted.Head(); r != nil; r = r.Next() {
				what := "RTS sent, no receive has answered"
				if r.Delivered {
					what = "EnvDS sent, no receive has matched"
				}
				f(fmt.Sprintf("%s: %s", name(r), what))
			}
		}
	}
	for _, r := range p.slots {
		if r != nil && !r.Queued {
			f(fmt.Sprintf("%s: matched, waits for rank %d to write", name(r), r.Status.Source))
		}
	}
	for _, r := range p.active {
		f(fmt.Sprintf("%s: %d bytes written", name(r), r.Transfer.Done))
	}
	for _, peer := range p.out.Waiting() {
		f(fmt.Sprintf("control messages to rank %d of the job: its mailbox is full", peer.World))
	}
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

func name(r *variants.Request) string {
	kind, where := "send", fmt.Sprintf("to rank %d", r.Peer)
	if r.Recv {
		kind, where = "receive", fmt.Sprintf("from rank %d", r.Peer)
		if r.Peer == variants.AnySource {
			where = "from any source"
		}
	}
	tag := fmt.Sprintf("tag %d", r.Tag)
	if r.Tag == variants.AnyTag {
		tag = "any tag"
	}
	return fmt.Sprintf("%s %s, %s, %d bytes", kind, where, tag, len(r.Buf))
}
