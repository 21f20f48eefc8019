package host

import "github.com/exanet-mpi/exanet/internal/mem"

// What the fast path (package fastpath) must know to move the messages of this
// rank by itself, under the rank's lock as all others.

// Geometry returns the cells of a ring, the logarithm of their number, and the bytes of
// its bulk space.
func (f *Fabric) Geometry() (cells, shift, bulk uint32) {
	g := &f.job.geo
	return uint32(g.cells), uint32(g.shift), uint32(g.bulk)
}

// Wires returns the addresses of the rings to a rank and from it.
func (f *Fabric) Wires(peer int) (out, in uint64) {
	return mem.Ref(f.job.ringOf(f.me, peer).head), mem.Ref(f.job.ringOf(peer, f.me).head)
}

// Inward returns the address of the ring from rank 0 to this rank and the bytes from one rank's to the next.
func (f *Fabric) Inward() (first uint64, step uint32) {
	return mem.Ref(f.job.ringOf(0, f.me).head), uint32(f.job.ringStep)
}

// Doorbells returns the address of rank 0's doorbell and the bytes from one rank's to the next.
func (m *Member) Doorbells() (first uint64, step uint32) {
	return mem.Ref(&m.job.control(0).doorbell), uint32(m.job.controlStep)
}

// Ring rings the bell of a rank whose flags were found up after a message had been
// published. It may be called at any time.
func (m *Member) Ring(to int) {
	if flags := m.job.control(to).flags.Load(); flags&bellMessages != 0 {
		m.job.ring(to, flags)
	}
}

// Refill tells a rank that had run out of room in its ring to this one that there is
// some again. It may be called at any time.
func (m *Member) Refill(from int) {
	// The producer may be between its last look and its sleep, or asleep
	// in the background: count up both bells.
	m.job.nudge(from)
}
