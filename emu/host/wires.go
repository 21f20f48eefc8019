package host

import "github.com/exanet-mpi/exanet/internal/mem"

// What the express lane (package express) must know to move the messages of this
// rank by itself, under the rank's lock as all others.

// Geometry returns the cells of a ring, the logarithm of their number, the bytes of
// its bulk space, and those before the first cell.
func (f *Fabric) Geometry() (cells, shift, bulk uint32, head uint64) {
	g := &f.job.geo
	return uint32(g.cells), uint32(g.shift), uint32(g.bulk), uint64(headSize)
}

// Wires returns the addresses of the rings to a rank and from it, and that of the
// flags of its bells.
func (f *Fabric) Wires(peer int) (out, in, bell uint64) {
	return mem.Ref(f.job.ringOf(f.me, peer).head), mem.Ref(f.job.ringOf(peer, f.me).head), mem.Ref(&f.job.control(peer).flags)
}

// Attached returns the process id of a rank whose memory this one reaches, else 0.
func (f *Fabric) Attached(peer int) int32 {
	if f.within(peer) || !f.Reaches(peer) {
		return 0
	}
	return int32(f.job.control(peer).pid.Load())
}

// Berths returns the address of rank 0's bell and the bytes from one rank's to the next:
// type doorbell, which is the beginning of control.
func (m *Member) Berths() (first uint64, step uint32) {
	return mem.Ref(m.job.control(0)), uint32(m.job.controlStep)
}

// Ring rings the bell of a rank whose flags were found up after a message had been
// published. It may be called at any time.
func (m *Member) Ring(to int) {
	if flags := m.job.control(to).flags.Load(); flags&bellMessages != 0 {
		m.job.ring(to, flags)
	}
}

// Announced implements rdmaeng.Lender. The express lane of a rank that computes may have noted
// the receive, and nobody would look whether its message comes otherwise.
func (m *Member) Announced(to int) {
	c := m.job.control(to)
	// The addition of nothing is a fence behind the message, as what raises the flag is before
	// the look at the ring.
	if c.flags.Add(0)&bellAnnounced != 0 {
		c.flags.And(^bellAnnounced)
		m.job.wake(to, bellBackground)
	}
}

// Refill tells a rank that had run out of room in its ring to this one that there is
// some again. It may be called at any time.
func (m *Member) Refill(from int) {
	// The producer may be between its last look and its sleep, or asleep
	// in the background: count up both bells.
	m.job.nudge(from)
}
