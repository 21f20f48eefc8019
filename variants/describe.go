package variants

import "fmt"

// Describe names a request in words.
func Describe(r *Request) string {
	kind, where := "send", fmt.Sprintf("to rank %d", r.Peer)
	if r.Recv {
		kind, where = "receive", fmt.Sprintf("from rank %d", r.Peer)
		if r.Peer == AnySource {
			where = "from any source"
		}
	}
	if r.Tag >= 0 && int(r.Tag) < len(r.Ctx.Tags) {
		return fmt.Sprintf("%s: %s %s, %d bytes", r.Ctx.Tags[r.Tag], kind, where, r.Len())
	}
	if r.Tag < AnyTag {
		return fmt.Sprintf("making a communicator: %s %s, %d bytes", kind, where, r.Len())
	}
	tag := fmt.Sprintf("tag %d", r.Tag)
	if r.Tag == AnyTag {
		tag = "any tag"
	}
	return fmt.Sprintf("%s %s, %s, %d bytes", kind, where, tag, r.Len()-r.Ctx.Extra)
}

// Unqueued calls f with a line for everything under way that is in none of the
// protocol's queues.
func (c *Core) Unqueued(f func(line string)) {
	for _, r := range c.slots {
		if r != nil && r.Recv && !r.Queued {
			f(fmt.Sprintf("%s: matched, waits for rank %d to write", Describe(r), r.Status.Source))
		}
	}
	for _, r := range c.active {
		f(fmt.Sprintf("%s: %d bytes written", Describe(r), max(0, r.Transfer.Done-r.Ctx.Extra)))
	}
	for _, p := range c.Out.Waiting() {
		why := "its mailbox is full"
		if p.Writing > 0 {
			why = "a write to it must be complete first"
		}
		f(fmt.Sprintf("messages to rank %d of the job: %s", p.World, why))
	}
}
