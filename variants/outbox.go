package variants

import (
	"github.com/exanet-mpi/exanet/packetizer"
)

// CreditWindow is how many bytes of eager messages, envelopes included, a rank
// lets a peer have unmatched. It bounds the unexpected queue; a send beyond it
// goes by rendezvous.
const CreditWindow = 8 << 20

// cost of an eager message against the window.
func cost(payload int) int { return packetizer.HeaderSize + payload }

// Peer is the state towards one other rank of the job.
type Peer struct {
	Failed  bool
	Writing int // writes under way that no later message may overtake, see Core.WriteAlone

	awaited bool // see Core.Await

	*Account // which a fast path may count in too
	backlog  []held
	flushed  int // of backlog
}

func (p *Peer) backlogged() bool { return p.flushed < len(p.backlog) }

// Backlogged reports whether messages wait for the device, which a write must not overtake.
func (p *Peer) Backlogged() bool { return p.backlogged() }

// reopen lets a fast path send again, if nothing must go before.
func (p *Peer) reopen() {
	if !p.Failed && p.Writing == 0 && !p.backlogged() {
		p.Shut = 0
	}
}

// held is a message that the device has refused for now.
type held struct {
	h    packetizer.Header
	body body
	n    int
	data []byte // instead of body, where that is too small
}

func (m *held) payload() []byte {
	if m.data != nil {
		return m.data
	}
	return m.body[:m.n]
}

// Outbox sends the messages of a rank. What the device does not take now waits
// in a backlog of its peer, in order: control messages, each of which belongs to
// a request of one side or the other, and as many eager messages as the peer's
// credit allows. So outstanding requests and credit bound the backlogs.
type Outbox struct {
	me      int32
	port    packetizer.Port
	reader  reader // the port, if it is one
	count   *Counters
	peers   map[int32]*Peer
	account func(world int32) *Account // makes one
	window  int64                      // of each peer, in bytes
	waiting []*Peer                    // those with a backlog
	// of the message being sent, if it has none that lasts: one on the stack would be allocated for the port
	header packetizer.Header
	body   body     // and what it carries
	spare  [][]byte // for the data of held messages
}

// spareHeld bounds the buffers kept for data of held messages, each of which is as
// long as an eager message may be.
const spareHeld = 128

// NewOutbox makes the outbox of rank me of the job, which sends through port
// and counts what it sends in count.
func NewOutbox(me int32, port packetizer.Port, count *Counters) *Outbox {
	r, _ := port.(reader)
	return &Outbox{me: me, port: port, reader: r, count: count, peers: make(map[int32]*Peer), account: newAccount,
		window: CreditWindow}
}

func newAccount(world int32) *Account { return &Account{World: world} }

// Peer returns the state towards a rank of the job.
func (o *Outbox) Peer(world int32) *Peer {
	p := o.peers[world]
	if p == nil {
		p = &Peer{Account: o.account(world)}
		o.peers[world] = p
	}
	return p
}

// MoveAccounts has the accounts of all peers, of those to come too, where account returns them.
func (o *Outbox) MoveAccounts(account func(world int32) *Account) {
	o.account = account
	for p := range InOrder(o.peers) {
		a := account(p.World)
		*a = *p.Account
		p.Account = a
	}
}

// Control sends a control message with a payload of at most five words.
func (o *Outbox) Control(p *Peer, e Envelope, words ...uint64) {
	o.count.Control[e.Kind]++
	if p.Failed {
		return
	}
	e.Src = o.me
	payload := o.body.words(words)
	o.send(p, e.Pack(), payload)
}

func (o *Outbox) send(p *Peer, h packetizer.Header, payload []byte) {
	o.header = h
	if !o.pass(p, &o.header, payload) {
		o.hold(p, h, payload)
	}
}

// pass gives a message to the device, if nothing must go before it.
func (o *Outbox) pass(p *Peer, h *packetizer.Header, payload []byte) bool {
	switch {
	case p.backlogged() || p.Writing > 0:
		return false
	case o.reader != nil:
		return o.reader.TrySendAt(int(p.World), h, payload)
	}
	return o.port.TrySend(int(p.World), *h, payload)
}

// hold puts a message behind the backlog.
func (o *Outbox) hold(p *Peer, h packetizer.Header, payload []byte) {
	if !p.backlogged() {
		o.waiting = append(o.waiting, p)
		p.Shut = 1
	}
	if n := p.flushed; len(p.backlog) == cap(p.backlog) && n > len(p.backlog)/2 {
		rest := copy(p.backlog, p.backlog[n:])
		clear(p.backlog[rest:])
		p.backlog, p.flushed = p.backlog[:rest], 0
	}
	m := held{h: h, n: len(payload)}
	if len(payload) > len(m.body) {
		m.data = append(o.buffer(), payload...)
	} else {
		copy(m.body[:], payload)
	}
	p.backlog = append(p.backlog, m)
}

// buffer returns an empty one for the data of a held message.
func (o *Outbox) buffer() []byte {
	n := len(o.spare)
	if n == 0 {
		return nil
	}
	b := o.spare[n-1]
	o.spare[n-1] = nil
	o.spare = o.spare[:n-1]
	return b
}

// Insist sends a message with data that must not go any other way, whatever
// the peer's credit.
func (o *Outbox) Insist(p *Peer, e Envelope, payload []byte) {
	o.count.Control[e.Kind]++
	p.Unmatched += int64(cost(len(payload)))
	if !p.Failed {
		e.Src = o.me
		o.send(p, e.Pack(), payload)
	}
}

// Eager sends a message with data and reports whether the peer's credit allows
// it. If the device does not take it now, copied says whether to keep a copy or
// to give up.
func (o *Outbox) Eager(p *Peer, e Envelope, payload []byte, copied bool) bool {
	o.header = o.Pack(e)
	return o.EagerPacked(p, e.Kind, &o.header, payload, copied)
}

// Pack makes the header of a message from this rank.
func (o *Outbox) Pack(e Envelope) packetizer.Header {
	e.Src = o.me
	return e.Pack()
}

// EagerPacked is Eager for a header that Pack has made, some time ago at best: to copy one whose words
// have just been stored takes the processor as long as the rest.
func (o *Outbox) EagerPacked(p *Peer, k Kind, h *packetizer.Header, payload []byte, copied bool) bool {
	if p.Failed || o.OutOfCredit(p, len(payload)) {
		return false
	}
	if !o.pass(p, h, payload) {
		if !copied {
			return false
		}
		o.hold(p, *h, payload)
	}
	p.Unmatched += int64(cost(len(payload)))
	o.count.Control[k]++
	return true
}

// OutOfCredit reports whether the peer's credit, not the device, refuses an
// eager message of n bytes.
func (o *Outbox) OutOfCredit(p *Peer, n int) bool {
	return p.Unmatched+int64(cost(n)) > o.window
}

// Consumed notes that an eager message of n bytes from p has been matched, and
// tells p from time to time.
func (o *Outbox) Consumed(p *Peer, n int) {
	p.Consumed += int64(cost(n))
	if p.Consumed >= o.window/4 {
		o.Control(p, Envelope{Kind: Credit}, uint64(p.Consumed))
		p.Consumed = 0
	}
}

// credited takes a Credit message.
func (o *Outbox) credited(e Envelope, payload []byte) {
	o.Peer(e.Src).Unmatched -= int64(Word(payload, 0))
}

// Backlogged reports whether messages wait for the device.
func (o *Outbox) Backlogged() bool { return len(o.waiting) > 0 }

// Waiting returns the peers that messages wait for.
func (o *Outbox) Waiting() []*Peer { return o.waiting }

// Flush sends what the device takes now and returns how many messages it took.
func (o *Outbox) Flush() (sent int) {
	keep := o.waiting[:0]
	for _, p := range o.waiting {
		for p.backlogged() {
			m := &p.backlog[p.flushed]
			if !p.Failed && (p.Writing > 0 || !o.port.TrySend(int(p.World), m.h, m.payload())) {
				break
			}
			if m.data != nil && len(o.spare) < spareHeld {
				o.spare = append(o.spare, m.data[:0])
			}
			m.data = nil
			p.flushed++
			sent++
		}
		if p.backlogged() {
			keep = append(keep, p)
		} else {
			p.backlog, p.flushed = p.backlog[:0], 0
			p.reopen()
		}
	}
	o.waiting = keep
	return sent
}
