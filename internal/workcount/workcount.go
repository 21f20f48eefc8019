// Package workcount counts what the processor of a rank does for MPI besides the steps of
// the device. The layers that do it count; a simulated device (emu/sim) turns the
// counts into time.
package workcount

// Count is the work of a rank since it began. Who has the rank's lock counts.
type Count struct {
	Locks    uint64 // takings of the rank's lock
	Objects  uint64 // requests and messages put into a queue
	Searched uint64 // elements of queues looked at
	Tickets  uint64 // counters of (communicator, peer, tag) looked up and advanced (thesis 3.5)
	Copied   uint64 // bytes copied in memory, or combined, beside those of the device's messages
}

// Add adds the work of another rank.
func (c *Count) Add(x Count) {
	c.Locks += x.Locks
	c.Objects += x.Objects
	c.Searched += x.Searched
	c.Tickets += x.Tickets
	c.Copied += x.Copied
}
