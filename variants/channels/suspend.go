package channels

import "github.com/exanet-mpi/exanet/variants"

// Wildcards suspend receiver initiation: of a communicator while a receive from
// any source is posted (thesis 3.1, figs. 3.3 and 3.4), and of one source while
// a receive from it of any tag is (3.6.3). Receives posted meanwhile have no
// ticket; messages match them in posting order as in the read-based protocol.
//
// When the last wildcard of the scope has matched or is gone, the receives that
// are still without a ticket get theirs in posting order and advertise. So at
// any time the receives of a channel that have tickets come before those that have
// not, and a newer receive never overtakes an older one by its RTR.

func (c *Comm) suspends(src int32) bool {
	return c.anySource > 0 || len(c.anyTag) > 0 && c.anyTag[src] > 0
}

// suspended reports whether receives of a channel get no ticket now: a wildcard
// is posted, or the sender is forgetting the channel (forget.go).
func (l *In) suspended(c *Comm) bool { return l.Forgetting || c.suspends(l.Src) }

// hold notes that the newest receive of a channel has no ticket.
func (c *Comm) hold(l *In) {
	if l.unticketed == 0 && !l.held {
		l.held = true
		c.held = append(c.held, l)
	}
	l.unticketed++
}

// PostWild posts a receive with a wildcard.
func (t *Table) PostWild(c *Comm, r *variants.Request) {
	t.revokeIn()
	c.order++
	r.Order = c.order
	c.wild.Push(r)
	if r.Peer == variants.AnySource {
		c.anySource++
	} else {
		c.anyTag[r.Peer]++
	}
}

// removeWild takes a wildcard receive out and lifts the suspension if it was
// the last.
func (t *Table) removeWild(c *Comm, r *variants.Request) {
	c.wild.Remove(r)
	if r.Peer == variants.AnySource {
		c.anySource--
	} else if c.anyTag[r.Peer]--; c.anyTag[r.Peer] == 0 {
		delete(c.anyTag, r.Peer)
	}
	if len(c.held) > 0 && c.anySource == 0 {
		t.lift(c)
	}
}

func (t *Table) lift(c *Comm) {
	keep := c.held[:0]
	for _, l := range c.held {
		if l.suspended(c) {
			keep = append(keep, l)
			continue
		}
		l.held = false
		for r := range l.Posted.All() {
			if !r.Ticketed {
				t.Count.Lifted++
				t.assign(l, r)
				t.ticketed(c, l, r)
			}
		}
		l.unticketed = 0
	}
	clear(c.held[len(keep):])
	c.held = keep
}

// firstWild returns the oldest wildcard receive that takes a message.
func (c *Comm) firstWild(src, tag int32) *variants.Request {
	for r := range c.wild.All() {
		if variants.Takes(r.Peer, r.Tag, src, tag) {
			return r
		}
	}
	return nil
}
