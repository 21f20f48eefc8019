package ticket

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
// theirs with the answer; messages match them all the same. So nobody waits for
// the answer.
//
// A channel at the sender has one at the receiver, as soon as its first message has
// arrived. So the bound holds for both.

const (
	// channelsKept is how many channels to receive on a communicator has before it
	// begins to forget. One takes about 250 bytes.
	channelsKept = 1024
	// channelsAsked is how many channels a question names: what fits the smallest
	// message.
	channelsAsked = 5
	// channelsSeen bounds how many channels are looked at to find them.
	channelsSeen = 16
	// channelsSpare bounds the forgotten channels of either side that wait for new ones.
	channelsSpare = 256
)

// idle reports whether nothing is under way on the receiver's side of a channel.
// What has matched does not need it any more.
func (l *inChannel) idle() bool {
	return !l.forgetting && !l.held && l.posted.Head() == nil && l.unexpected.First() == nil && len(l.skip) == 0
}

// idle reports whether nothing is under way on the sender's side.
func (l *outChannel) idle() bool {
	return l.posted.Head() == nil && len(l.rtrs) == 0 && len(l.skip) == 0
}

// note adds a new channel to those that may be forgotten, and asks for others if
// they are too many.
func (p *Protocol) note(c *comm, l *inChannel) {
	l.at = len(c.channels)
	c.channels = append(c.channels, l)
	if len(c.channels)-c.asked > p.keep {
		p.forget(c, l)
	}
}

// forget asks one peer about some idle channels, but for one that is about to be
// used. Those that were used last are as good as any: to ask costs little.
func (p *Protocol) forget(c *comm, used *inChannel) {
	var words [channelsAsked]uint64
	var peer *variants.Peer
	n := 0
	for seen := 0; seen < min(channelsSeen, len(c.channels)) && n < channelsAsked; seen++ {
		if c.hand >= len(c.channels) {
			c.hand = 0
		}
		l := c.channels[c.hand]
		if l.Granted {
			p.lessee.Revoke(&l.Lease)
		}
		if l != used && l.idle() && l.landing == nil {
			if l.peer.Failed {
				c.remove(l) // another takes its place under the hand
				continue
			}
			if peer != nil && peer != l.peer {
				break
			}
			peer = l.peer
			l.forgetting = true
			c.asked++
			words[n] = uint64(uint32(l.tag)) | uint64(l.Next)<<32
			n++
		}
		c.hand++
	}
	if n > 0 {
		p.Out.Control(peer, c.Envelope(variants.Forget, 0, 0), words[:n]...)
	}
}

// tidy drops a channel that its sender has not got either, if it is idle.
func (c *comm) tidy(l *inChannel) {
	if l.idle() {
		c.remove(l)
	}
}

// remove drops an idle channel to receive.
func (c *comm) remove(l *inChannel) {
	last := c.channels[len(c.channels)-1]
	c.channels[l.at], last.at = last, l.at
	c.channels[len(c.channels)-1] = nil
	c.channels = c.channels[:len(c.channels)-1]
	delete(c.in, key(l.src, l.tag))
	if c.lastIn == l {
		c.lastIn = nil
	}
	if len(c.spareIn) < channelsSpare {
		c.spareIn = append(c.spareIn, l)
	}
}

// removeOut drops an idle channel to send.
func (c *comm) removeOut(l *outChannel) {
	delete(c.out, key(l.dst, l.tag))
	if c.lastOut == l {
		c.lastOut = nil
	}
	if len(c.spareOut) < channelsSpare {
		c.spareOut = append(c.spareOut, l)
	}
}

// newIn returns a channel to receive, to be filled in.
func (c *comm) newIn() *inChannel {
	n := len(c.spareIn)
	if n == 0 {
		return new(inChannel)
	}
	l := c.spareIn[n-1]
	c.spareIn = c.spareIn[:n-1]
	return l
}

// newOut returns a channel to send, to be filled in.
func (c *comm) newOut() *outChannel {
	n := len(c.spareOut)
	if n == 0 {
		return new(outChannel)
	}
	l := c.spareOut[n-1]
	c.spareOut = c.spareOut[:n-1]
	return l
}

// onForget answers which channels this rank has forgotten.
func (p *Protocol) onForget(c *comm, e variants.Envelope, payload []byte) {
	var words [channelsAsked]uint64
	n := min(len(payload)/8, channelsAsked)
	for i := range n {
		w := variants.Word(payload, i)
		tag, count := int32(uint32(w)), uint32(w>>32)
		words[i] = uint64(uint32(tag))
		if p.forgets(c, e.Src, tag, count) {
			words[i] |= 1 << 32
		}
	}
	p.Out.Control(p.Out.Peer(c.World(e.Src)), c.Envelope(variants.Forgotten, 0, 0), words[:n]...)
}

// forgets drops the channel to dst if its receiver has counted as many sends as
// this rank. A channel that is not there has had none.
func (p *Protocol) forgets(c *comm, dst, tag int32, count uint32) bool {
	l := c.out[key(dst, tag)]
	if l == nil {
		return count == 0
	}
	if l.Granted {
		p.lessee.Revoke(&l.Lease)
	}
	l.drop()
	if l.Next != count || !l.idle() {
		return false
	}
	c.removeOut(l)
	return true
}

// onForgotten takes the answer: channels go if they are still idle, or begin anew.
func (p *Protocol) onForgotten(c *comm, e variants.Envelope, payload []byte) {
	var channels [channelsAsked]*inChannel
	for i := range min(len(payload)/8, channelsAsked) {
		w := variants.Word(payload, i)
		l := c.in[key(e.Src, int32(uint32(w)))]
		l.forgetting = false
		c.asked--
		if w>>32 != 0 {
			l.Next = 0 // until a lift below gives it out
			channels[i] = l
		}
	}
	if len(c.held) > 0 && c.anySource == 0 {
		p.lift(c)
	}
	for _, l := range channels {
		if l != nil {
			c.tidy(l)
		}
	}
}
