package variants

import "github.com/exanet-mpi/exanet/rdmaeng"

// Reads by an agent (rdmaeng.Reader, thesis 2.6): the receiver sends a CTS to the agent beside the sender, which writes
// on the sender's behalf. The sending rank sees nothing of it, until the receiver tells it that the read is over.

// fetch is a CTS that an agent's mailbox has refused for now.
type fetch struct {
	r        *Request
	agent    *Peer
	src, dst rdmaeng.Window
}

// Fetch has the agent of a peer write what src names to a receive that is exposed as dst. The receive has its Status.
func (c *Core) Fetch(p *Peer, r *Request, src, dst rdmaeng.Window) {
	c.Count.Control[CTS]++
	f := fetch{r: r, agent: p, src: src, dst: dst}
	if len(c.fetches) > 0 || !c.ask(f) {
		c.fetches = append(c.fetches, f)
	}
}

// ask sends a CTS to an agent.
func (c *Core) ask(f fetch) bool {
	st := f.r.Status
	if !c.reader.Fetch(int(f.agent.World), f.src, f.dst, st.Size, Notice(st.Size, st.Tag, true)) {
		return false
	}
	c.Count.Writes++
	return true
}

// askAgain sends the CTSs that agents take now, and returns how many.
func (c *Core) askAgain() (n int) {
	for n < len(c.fetches) && (c.fetches[n].r.Done || c.ask(c.fetches[n])) {
		n++
	}
	c.fetches = c.fetches[:copy(c.fetches, c.fetches[n:])]
	return n
}

// Offer lets the agent read what a send has until it completes.
func (c *Core) Offer(r *Request) rdmaeng.Window {
	var slot int
	var w rdmaeng.Window
	if r.View.Type == nil {
		slot, w = c.reader.Offer(r.Buf)
	} else {
		slot, w = c.reader.OfferView(r.View)
	}
	c.Hold(r, slot)
	return w
}
