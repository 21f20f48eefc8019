package ticket

import (
	"math/bits"

	"github.com/exanet-mpi/exanet/variants"
)

// What package auto goes by: what a rank has counted of the long messages of a size to, or from, a peer on a
// communicator. Every message says itself how it goes, so either end chooses alone, and the other follows.
//
// A receiver chooses whether to advertise a receive. An RTR is wasted if an eager message takes its receive. To be
// silent saves it; but if a long message comes, an RTS and a CTS go instead of the one RTR. So silence is earned: a
// silent receive costs as much as Rule.Silence wasted RTRs, and an eager message that takes it gives that back. Hence
// there is never more than one message too many for so many that ticket would have wasted as well.
//
// A sender that comes first chooses whether to leave a copy and go on (hybrid.go). That is worth it only if the receive
// is posted much later. The sender counts up with every send that a CTS has answered, whose receive was posted after
// its RTS had arrived, and down with the others; at Rule.Late it begins to copy, and at zero it ends.

// Rule says how many events change a choice.
type Rule struct {
	Silence int // wasted RTRs for a silent receive
	Late    int // sends that came first, less those that did not
	Crossed int // what an RTS that crossed an RTR takes from these
}

// class is a kind of messages: of a peer, and of sizes with so many bits.
type class struct {
	peer int32
	bits int
}

func classOf(peer int32, size int) class { return class{peer, bits.Len(uint(max(size, 1) - 1))} }

// sends are the long sends of a class.
type sends struct {
	first, last, crossed uint64 // the receiver came first; last; both at once
	late                 int    // see Rule.Late
	copies               bool
}

// count adds one to n, which is one of its counts, and by to what makes it copy.
func (s *sends) count(rule *Rule, n *uint64, by int) {
	*n++
	s.late = min(max(0, s.late+by), rule.Late)
	switch s.late {
	case rule.Late:
		s.copies = true
	case 0:
		s.copies = false
	}
}

// receives are the long receives of a class that could be advertised.
type receives struct {
	stale, silent uint64 // advertised, but an eager message took it; not advertised
	earned        int    // see Rule.Silence
}

// silenceMost is for how many silent receives at a time a class earns.
const silenceMost = 64

func (s *receives) wasted(rule *Rule) {
	s.stale++
	s.earned = min(s.earned+1, silenceMost*rule.Silence)
}

// beSilent decides about a receive.
func (s *receives) beSilent(rule *Rule) bool {
	if s.earned < rule.Silence {
		return false
	}
	s.earned -= rule.Silence
	s.silent++
	return true
}

// spared is for a silent receive that an eager message has taken.
func (s *receives) spared(rule *Rule) { s.earned += rule.Silence }

// NewAuto is NewHybrid with choices, see package auto.
func NewAuto(me int, dev variants.Device, most int, rule Rule) *Protocol {
	p := NewHybrid(me, dev, most)
	if p.agents {
		rule.Crossed = rule.Late // a copy that is not needed is read all the same, and takes an Ack
	}
	p.rule = &rule
	return p
}

// seen returns what has been counted of a class.
func seen[H any](m map[class]*H, k class) *H {
	h := m[k]
	if h == nil {
		h = new(H)
		m[k] = h
	}
	return h
}

// isSilent decides whether a receive that could be advertised is not.
func (p *Protocol) isSilent(c *comm, r *variants.Request) bool {
	if p.rule == nil || !seen(c.receives, classOf(r.Peer, r.Len())).beSilent(p.rule) {
		return false
	}
	r.Silent = true
	p.Count.Silent++
	return true
}

// tookEager counts a receive that an eager message has taken.
func (p *Protocol) tookEager(c *comm, r *variants.Request) {
	if p.rule == nil || !r.Advertised && !r.Silent {
		return
	}
	if s := seen(c.receives, classOf(r.Peer, r.Len())); r.Silent {
		s.spared(p.rule)
	} else {
		s.wasted(p.rule)
	}
}

// leavesCopy decides whether a send that comes first leaves a copy.
func (p *Protocol) leavesCopy(c *comm, r *variants.Request) bool {
	if r.Mode != variants.Standard || r.Len() > p.hybrid {
		return false
	}
	return p.rule == nil || seen(c.sends, classOf(r.Peer, r.Len())).copies
}

// Who came first, as the sender of a message learns.
func (p *Protocol) receiverFirst(c *comm, r *variants.Request) {
	if p.rule != nil {
		s := seen(c.sends, classOf(r.Peer, r.Len()))
		s.count(p.rule, &s.first, -1)
	}
}

func (p *Protocol) senderFirst(c *comm, r *variants.Request) {
	if p.rule != nil {
		s := seen(c.sends, classOf(r.Peer, r.Len()))
		s.count(p.rule, &s.last, 1)
	}
}

func (p *Protocol) bothAtOnce(c *comm, r *variants.Request) {
	if p.rule != nil {
		s := seen(c.sends, classOf(r.Peer, r.Len()))
		s.count(p.rule, &s.crossed, -p.rule.Crossed)
	}
}
