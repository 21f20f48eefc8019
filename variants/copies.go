package variants

import "github.com/exanet-mpi/exanet/datatype"

// A send that has come first can leave a copy of its data and complete, as the protocol HYBRID of Small and Yuan has it
// (ICS 2009, section 3). A request of the library's own, the stand-in, then carries the message on: it waits for the
// receive in the place of the send, and what the engine reads is the copy.
//
// Copies are bounded: beyond copyRoom a send waits for its receive.

// copyRoom is how many bytes of copies a rank has at most, and how many it keeps for reuse: memory that is new costs a
// fault for each page, more than the copy does.
const copyRoom = 4 << 20

// copiesKept is how many stand-ins a rank keeps for reuse.
const copiesKept = 256

// copies are those of a rank.
type copies struct {
	held  int // bytes of copies whose receives have not taken them
	spare [][]byte
	kept  int        // bytes in spare
	over  []*Request // stand-ins to be used again
}

// StandIn copies the data of a standard send, which has its Ticket and which Begin has noted, completes it, and
// returns the request that carries the message on. It returns nil, having done nothing, if there is no room for a copy.
func (c *Core) StandIn(r *Request) *Request {
	n := r.Len()
	if c.copies.held+n > copyRoom {
		return nil
	}
	c.Count.Copies++
	s := c.copies.standIn()
	*s = Request{Ctx: r.Ctx, Peer: r.Peer, Tag: r.Tag, Ticket: r.Ticket, Slot: -1, Copy: true}
	s.Buf = c.copies.take(n)
	source := r.View
	if source.Type == nil {
		source = datatype.Bytes(r.Buf)
	}
	source.Pack(s.Buf, 0)
	c.Done.Copied += uint64(n)
	c.Begin(s)
	c.Complete(r, nil)
	return s
}

// standIn returns a request that nobody uses.
func (c *copies) standIn() *Request {
	last := len(c.over) - 1
	if last < 0 {
		return new(Request)
	}
	s := c.over[last]
	c.over[last] = nil
	c.over = c.over[:last]
	return s
}

// take returns memory for a copy of n bytes.
func (c *copies) take(n int) []byte {
	c.held += n
	if last := len(c.spare) - 1; last >= 0 && cap(c.spare[last]) >= n {
		b := c.spare[last]
		c.spare[last] = nil
		c.spare, c.kept = c.spare[:last], c.kept-cap(b)
		return b[:n]
	}
	return make([]byte, n)
}

// end takes back what belongs to a stand-in that has completed, and it: whoever completes it uses it no more.
func (c *copies) end(s *Request) {
	c.give(s.Buf)
	s.Buf = nil
	if len(c.over) < copiesKept {
		c.over = append(c.over, s)
	}
}

// give takes the memory of a copy back that nobody reads any more.
func (c *copies) give(b []byte) {
	c.held -= len(b)
	if c.kept+cap(b) <= copyRoom {
		c.spare, c.kept = append(c.spare, b), c.kept+cap(b)
	}
}
