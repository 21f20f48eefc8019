// Package customized is the protocol of Small and Yuan, "Maximizing MPI point-to-point communication performance on
// RDMA-enabled clusters with customized protocols" (ICS 2009). Who comes first decides how a message goes, and its
// size:
//
//	sent size            the sender first   the receiver first
//	to Bands.Eager       EAGER              EAGER
//	to Bands.Hybrid      HYBRID             RECV_RNDV
//	above                SEND_RNDV          RECV_RNDV
//
// RECV_RNDV is the receiver's initiation of package ticket: RTR, write. SEND_RNDV is the sender's: RTS, CTS, write.
// EAGER is EnvD. What the paper adds is HYBRID: the sender copies its data, announces them by an RTS, and goes on; the
// receiver reads the copy where the engine can (rdmaeng.Lender), else the sender writes from it when the CTS is there.
//
// Nobody measures time. A sender looks for an RTR when the send is posted: if there is none it takes itself for the
// first. Announcements that cross need no acknowledgement: the tickets tell which receive an RTS or an RTR is for, so
// the sender writes on the RTR, from its copy if it has left one, and the receiver drops the RTS.
//
// FIN, the paper's message after a write, is the write's notification here. On a device that promises
// rdmaeng.LastByteLast it is left out as the paper has it (variants/elide.go).
//
// The code is ticket's (hybrid.go there) and variants/copies.go; here are the sizes. What the paper's figure 6 gets
// wrong cannot happen so: a size of exactly the threshold (the receiver need not know the band), calls that cross
// before either waits (every call carries on all requests), a named receive behind a wildcard (it has no ticket, and
// does not advertise).
package customized

// Bands are the sizes in bytes up to which messages go in one way, both inclusive.
type Bands struct {
	Eager  int // 0, or more than the device's messages hold: what they hold
	Hybrid int
}

// Paper are those of the paper, which were best for ping-pong on its cluster.
var Paper = Bands{Eager: 12 << 10, Hybrid: 40 << 10}
