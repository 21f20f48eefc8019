package ticket

import (
	"github.com/exanet-mpi/exanet/internal/workcount"
	"github.com/exanet-mpi/exanet/variants"
)

// Unexpected messages are in the queue of their channel, for receives that name
// source and tag, and in that of their communicator, for wildcards.

func (c *comm) keep(l *inChannel, m *variants.Message) {
	l.unexpected.Push(&m.InChannel, m)
	c.arrived.Keep(m)
}

func (c *comm) drop(l *inChannel, m *variants.Message) {
	l.unexpected.Remove(&m.InChannel)
	c.arrived.Drop(m)
}

// oldest returns the message that a receive with these arguments would take.
func (c *comm) oldest(w *workcount.Count, src, tag int32) *variants.Message {
	if wild(src, tag) {
		return c.arrived.Find(w, src, tag)
	}
	if l := c.in[key(src, tag)]; l != nil {
		return l.unexpected.First()
	}
	return nil
}
