package variants

// Cancelling is a question to the other side in every protocol, since only it
// knows whether it has matched the request: may this receive, or send, be taken
// back? What it looks at to answer differs and is in the protocols.
//
// The question is urgent: MPI promises that a cancelled request completes
// without the peer calling MPI, so the peer's background progress must answer.

// Flags of CancelReply. The third flag of an envelope is the protocol's.
const (
	Granted = 1 << iota // it may be taken back
	ForSend             // the answer to CancelSend
)

// AskCancel asks the peer whether r may be taken back, if nobody has asked yet.
// kind and the number in e say what it is about; the first of the words comes
// back with the answer.
func (c *Core) AskCancel(p *Peer, e Envelope, r *Request, words ...uint64) {
	if r.Cancelling {
		return
	}
	r.Cancelling = true
	c.recount(r)
	c.Out.Control(p, e, words...)
	c.Hurry(p)
}

// TakeBack removes the message that a CancelSend asks about, if no receive has
// matched it.
func (c *Core) TakeBack(p *Peer, from *Unmatched, e Envelope) bool {
	x := from.FindNumber(e.Src, e.Ticket)
	if x == nil {
		return false
	}
	from.Drop(x)
	if x.Kind != RTS {
		c.Out.Consumed(p, x.Size)
	}
	c.Recycle(x)
	return true
}

// AnswerCancel answers the question e of a peer.
func (c *Core) AnswerCancel(p *Peer, e Envelope, payload []byte, yes bool) {
	a := e
	a.Kind, a.Flags = CancelReply, 0
	if yes {
		a.Flags |= Granted
	}
	if e.Kind == CancelSend {
		a.Flags |= ForSend
	}
	c.Out.Control(p, a, Word(payload, 0))
}

// CancelAnswered takes the peer's answer about r, nil if it is not waiting any
// more, and reports whether r is to be taken out of its queue, and ended with
// Cancelled.
func (c *Core) CancelAnswered(e Envelope, r *Request) bool {
	if r == nil || !r.Cancelling {
		return false // completed before the answer came
	}
	c.answered(r)
	if e.Flags&Granted == 0 {
		c.Count.CancelsRefused++
		return false
	}
	return true
}

// answered notes that the answer has come, or is of no interest any more.
func (c *Core) answered(r *Request) {
	r.Cancelling = false
	c.recount(r)
}

// Cancelled ends a request that has been taken back.
func (c *Core) Cancelled(r *Request) {
	r.Status = Status{Source: AnySource, Tag: AnyTag, Cancelled: true}
	c.Count.CancelsGranted++
	c.Complete(r, nil)
}

// Cancellable reports whether it makes sense to ask: r has not completed, and is
// in a queue, so it has not been matched.
func (c *Core) Cancellable(r *Request) bool {
	if r.Done || r.Cancelling {
		return false
	}
	if !r.Queued {
		c.Count.CancelsRefused++
	}
	return r.Queued
}
