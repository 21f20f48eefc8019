package channels

import "github.com/exanet-mpi/exanet/variants"

// A program may use a fresh tag for every message, so the channels of old ones must
// go, at both ends. But a channel holds a count that both must agree on, and a
// missing channel means none: neither end may forget alone.
//
// The receiver asks. When it has more channels than it keeps, it names some that
// are idle to their sender, with its count, and the sender, if its own count is
// the same and nothing is under way on its side, drops them and says yes. Then
// both begin at zero again. If it has sent more, the answer is no: there is
// something on the way. Messages of a pair stay in order, so question and answer
// leave nothing of the old numbering behind: RTRs are before the question, and
// RTSs before the answer, or the answer is no.
//
// Between question and answer the receiver does not know which numbers come
// next. Receives posted meanwhile have no ticket, as under a wildcard, and get
// theirs with the answer; messages match them all the same. So nobody waits.
//
// A channel at the sender has one at the receiver, as soon as its first message has
// arrived. So the bound holds for both.

const (
	// Kept is how many channels to receive on a communicator has before it
	// begins to forget. One takes about 250 bytes.
	Kept       = 1024
	askedMost  = 5   // channels that a question names: what fits the smallest message
	seenMost   = 16  // channels that are looked at to find them
	sparesMost = 256 // forgotten channels of either side that wait for new ones
)

// idle reports whether nothing is under way on the receiver's side of a channel.
// What has matched does not need it any more.
func (l *In) idle() bool {
	return !l.Forgetting && !l.held && l.Posted.Head() == nil && l.unexpected.First() == nil && len(l.skip) == 0
}

// idle reports whether nothing is under way on the sender's side.
func (l *Out) idle() bool {
	return l.Posted.Head() == nil && len(l.RTRs) == 0 && len(l.skip) == 0
}

// note adds a new channel to those that may be forgotten, and asks for others if
// they are too many.
func (t *Table) note(c *Comm, l *In) {
	l.at = len(c.channels)
	c.channels = append(c.channels, l)
	if len(c.channels)-c.asked > t.kept {
		t.forget(c, l)
	}
}

// forget asks one peer about some idle channels, but for one that is about to be
// used. Those that were used last are as good as any: to ask costs little.
func (t *Table) forget(c *Comm, used *In) {
	var words [askedMost]uint64
	var peer *variants.Peer
	n := 0
	for seen := 0; seen < min(seenMost, len(c.channels)) && n < askedMost; seen++ {
		if c.hand >= len(c.channels) {
			c.hand = 0
		}
		l := c.channels[c.hand]
		if l.Granted {
			t.lessee.Revoke(&l.Lease)
		}
		if l != used && l.idle() && l.Landing.Over() {
			if l.Peer.Failed {
				c.remove(l) // another takes its place under the hand
				continue
			}
			if peer != nil && peer != l.Peer {
				break
			}
			peer = l.Peer
			l.Forgetting = true
			c.asked++
			words[n] = uint64(uint32(l.Tag)) | uint64(l.Next)<<32
			n++
		}
		c.hand++
	}
	if n > 0 {
		t.Out.Control(peer, c.Envelope(variants.Forget, 0, 0), words[:n]...)
	}
}

// Tidy drops a channel that its sender has not got either, if it is idle.
func (c *Comm) Tidy(l *In) {
	if l.idle() {
		c.remove(l)
	}
}

// remove drops an idle channel to receive.
func (c *Comm) remove(l *In) {
	last := c.channels[len(c.channels)-1]
	c.channels[l.at], last.at = last, l.at
	c.channels[len(c.channels)-1] = nil
	c.channels = c.channels[:len(c.channels)-1]
	delete(c.in, key(l.Src, l.Tag))
	if c.lastIn == l {
		c.lastIn = nil
	}
	c.spareIn.put(l)
}

// RemoveOut drops a channel to send, which is idle or whose receiver has died.
func (c *Comm) RemoveOut(l *Out) {
	delete(c.out, key(l.Dst, l.Tag))
	if c.lastOut == l {
		c.lastOut = nil
	}
	c.spareOut.put(l)
}

// spares are forgotten channels that wait for new ones.
type spares[T any] struct{ list []*T }

// get returns a channel, to be filled in.
func (s *spares[T]) get() *T {
	n := len(s.list)
	if n == 0 {
		return new(T)
	}
	l := s.list[n-1]
	s.list = s.list[:n-1]
	return l
}

func (s *spares[T]) put(l *T) {
	if len(s.list) < sparesMost {
		s.list = append(s.list, l)
	}
}

// OnForget answers which channels this rank has forgotten.
func (t *Table) OnForget(c *Comm, e variants.Envelope, payload []byte) {
	var words [askedMost]uint64
	n := min(len(payload)/8, askedMost)
	for i := range n {
		w := variants.Word(payload, i)
		tag, count := int32(uint32(w)), uint32(w>>32)
		words[i] = uint64(uint32(tag))
		if t.forgets(c, e.Src, tag, count) {
			words[i] |= 1 << 32
		}
	}
	t.Out.Control(t.Out.Peer(c.World(e.Src)), c.Envelope(variants.Forgotten, 0, 0), words[:n]...)
}

// forgets drops the channel to dst if its receiver has counted as many sends as
// this rank. A channel that is not there has had none.
func (t *Table) forgets(c *Comm, dst, tag int32, count uint32) bool {
	l := c.out[key(dst, tag)]
	if l == nil {
		return count == 0
	}
	if l.Granted {
		t.lessee.Revoke(&l.Lease)
	}
	l.drop()
	if l.Next != count || !l.idle() {
		return false
	}
	c.RemoveOut(l)
	return true
}

// OnForgotten takes the answer: channels go if they are still idle, or begin anew.
func (t *Table) OnForgotten(c *Comm, e variants.Envelope, payload []byte) {
	var channels [askedMost]*In
	for i := range min(len(payload)/8, askedMost) {
		w := variants.Word(payload, i)
		l := c.in[key(e.Src, int32(uint32(w)))]
		l.Forgetting = false
		c.asked--
		if w>>32 != 0 {
			l.Next = 0 // until a lift below gives it out
			channels[i] = l
		}
	}
	if len(c.held) > 0 && c.anySource == 0 {
		t.lift(c)
	}
	for _, l := range channels {
		if l != nil {
			c.Tidy(l)
		}
	}
}
