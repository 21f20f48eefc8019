// Package auto has the choices of the protocol auto, which is package ticket with more forms: how a long message goes
// depends on how those before it went. The thesis proposes that in its section 6.2; the forms to choose from are its
// own and HYBRID of Small and Yuan (package customized).
//
//	who chooses              the form it begins with   the other   when
//	the receiver, posting    RTR, then the write       silence     eager messages have made its RTRs stale
//	the sender, if it        RTS, CTS, write           a copy,     the receive has always been posted much later, and
//	comes first              (SEND_RNDV)               HYBRID      the message is no longer than Bands say
//
// What is chosen is a pure function of counted events, for each communicator, peer and size. The two ends need not
// agree, since each message says itself how it goes. A channel changes slowly: how many events that takes is Default.
//
// A receiver chooses whether to advertise a receive. An RTR is wasted if an eager message takes its receive. To be
// silent saves it; but if a long message comes, an RTS and a CTS go instead of the one RTR. So silence is earned: a
// silent receive costs as much as Rule.Silence wasted RTRs, and an eager message that takes it gives that back. Hence
// there is never more than one message too many for so many that ticket would have wasted as well, as far as mailboxes
// have room: what a full one delays may come after a receive rather than before it.
//
// A sender that comes first chooses whether to leave a copy and go on. That is worth it only if the receive is posted
// much later. The sender counts up with every send that a CTS has answered, whose receive was posted after its RTS had
// arrived, and down with the others; at Rule.Late it begins to copy, and at zero it ends.
//
//	auto.go    what package ticket asks and tells
//	counts.go  the rule
//	lines.go   what it has come to, in words
package auto

import (
	"maps"
	"math/bits"

	"github.com/exanet-mpi/exanet/variants"
)

// Rule says how many events change a choice.
type Rule struct {
	Silence int // wasted RTRs for a silent receive
	Late    int // sends that came first, less those that did not
	Crossed int // what an RTS that crossed an RTR takes from these
}

// Default is the rule of auto. A silent receive is wrong at most once for 50 RTRs that it has followed, so what it
// costs is at most two in 100 of the control messages.
var Default = Rule{Silence: 50, Late: 16, Crossed: 4}

// Choices are those of a rank. A protocol that does not choose has nil.
type Choices struct {
	rule     Rule
	sends    map[class]*sends
	receives map[class]*receives
}

// New makes the choices of a rank, which has counted nothing.
func New(rule Rule) *Choices {
	return &Choices{rule: rule, sends: make(map[class]*sends), receives: make(map[class]*receives)}
}

// class is a kind of long messages: of a communicator, of a peer, and of sizes with so many bits.
type class struct {
	id, gen uint32
	peer    int32
	bits    int
}

func classOf(r *variants.Request) class {
	return class{r.Ctx.ID, r.Ctx.Gen, r.Peer, bits.Len(uint(max(r.Len(), 1) - 1))}
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

// Silent decides whether a receive that could be advertised is not.
func (h *Choices) Silent(r *variants.Request) bool {
	return h != nil && seen(h.receives, classOf(r)).beSilent(&h.rule)
}

// TookEager counts a receive that an eager message has taken.
func (h *Choices) TookEager(r *variants.Request) {
	if h == nil || !r.Advertised && !r.Silent {
		return
	}
	if s := seen(h.receives, classOf(r)); r.Silent {
		s.spared(&h.rule)
	} else {
		s.wasted(&h.rule)
	}
}

// Copies decides whether a send that comes first leaves a copy, if it may: without choices it does.
func (h *Choices) Copies(r *variants.Request) bool {
	if h == nil {
		return true
	}
	s := h.sends[classOf(r)]
	return s != nil && s.copies
}

// Who came first, as the sender of a message learns.

// ReceiverFirst counts a send that has found an RTR.
func (h *Choices) ReceiverFirst(r *variants.Request) {
	if h != nil {
		s := seen(h.sends, classOf(r))
		s.count(&h.rule, &s.first, -1)
	}
}

// SenderFirst counts a send whose RTS has been answered.
func (h *Choices) SenderFirst(r *variants.Request) {
	if h != nil {
		s := seen(h.sends, classOf(r))
		s.count(&h.rule, &s.last, 1)
	}
}

// BothAtOnce counts a send whose RTS has crossed an RTR.
func (h *Choices) BothAtOnce(r *variants.Request) {
	if h != nil {
		s := seen(h.sends, classOf(r))
		s.count(&h.rule, &s.crossed, -h.rule.Crossed)
	}
}

// Close forgets a communicator.
func (h *Choices) Close(ctx *variants.Context) {
	if h != nil {
		over := func(k class) bool { return k.id == ctx.ID && k.gen == ctx.Gen }
		maps.DeleteFunc(h.sends, func(k class, _ *sends) bool { return over(k) })
		maps.DeleteFunc(h.receives, func(k class, _ *receives) bool { return over(k) })
	}
}
