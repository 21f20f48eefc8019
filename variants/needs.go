package variants

// Needs is what a protocol needs of whoever drives it, as a set.
type Needs uint8

const (
	// NeedsArrivals: messages that arrive need this rank's attention, although nobody
	// may wait in a call.
	NeedsArrivals Needs = 1 << iota
	// NeedsProgress: there is something to do that no arrival announces. Progress
	// carries it on. What cannot move waits for the ranks that Wake names.
	NeedsProgress
	// NeedsProgressNow: of this something is left to this rank alone, even while it
	// computes.
	NeedsProgressNow
	// NeedsWake: the ranks that Wake names, each once, must look at their mailbox,
	// although they may have nothing to do themselves.
	NeedsWake
	// NeedsReply: before this rank sleeps, or when it has found nothing, the ranks that
	// Wake names must look at their mailbox, since a send waits for their word.
	NeedsReply
)

// Needs implements Protocol.
func (c *Core) Needs() (n Needs) {
	if c.open|len(c.active)|len(c.hurried)|len(c.awaited)|len(c.Out.waiting)|len(c.fetches) == 0 {
		return 0
	}
	if c.open > 0 {
		n = NeedsArrivals
	}
	if len(c.active) > 0 {
		n |= NeedsProgress
	}
	if c.alone > 0 || c.Out.Backlogged() || len(c.fetches) > 0 {
		n |= NeedsArrivals | NeedsProgress | NeedsProgressNow
	}
	if len(c.hurried) > 0 {
		n |= NeedsWake
	}
	if len(c.awaited) > 0 {
		n |= NeedsReply
	}
	return n
}

// Wake implements Protocol.
func (c *Core) Wake(which Needs, f func(world int)) {
	if which&NeedsProgress != 0 {
		c.wakeBlocking(f)
	}
	if which&NeedsWake != 0 {
		for _, w := range c.hurried {
			f(int(w))
		}
		c.hurried = c.hurried[:0]
	}
	if which&NeedsReply != 0 {
		c.wakeAwaited(f)
	}
}

// wakeBlocking calls f for every rank that something waits for which needs progress.
func (c *Core) wakeBlocking(f func(world int)) {
	for _, p := range c.Out.Waiting() {
		f(int(p.World))
	}
	for _, x := range c.fetches {
		f(int(x.agent.World))
	}
	for _, r := range c.active {
		if !r.Transfer.Shared { // else there is nothing left to do, and who does the rest tells
			f(r.Transfer.To)
		}
	}
}

// Await notes that a send cannot complete without a word of a peer which may not be
// listening: its receive, if it is short, does not need it to (needsUs), and it may
// be anywhere but in a call of MPI.
func (c *Core) Await(p *Peer) {
	if !p.awaited {
		p.awaited = true
		c.awaited = append(c.awaited, p)
	}
}

// wakeAwaited calls f for every rank that has been awaited since it was called last, or
// longer if the message could not leave yet.
func (c *Core) wakeAwaited(f func(world int)) {
	kept := c.awaited[:0]
	for _, p := range c.awaited {
		if p.awaited = p.backlogged(); p.awaited {
			kept = append(kept, p)
		} else {
			f(int(p.World))
		}
	}
	c.awaited = kept
}

// Hurry notes that a peer must look at its mailbox although it may have
// nothing to do itself.
func (c *Core) Hurry(p *Peer) { c.hurried = append(c.hurried, p.World) }
