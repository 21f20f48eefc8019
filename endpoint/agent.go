package endpoint

import (
	"encoding/binary"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

var _ rdmaeng.Reader = (*Endpoint)(nil)

// Fetch implements rdmaeng.Reader: one message to the agent of the node of rank
// from, which starts the write there. It stays in its window until the write has
// ended; if that fails, Refused says why.
func (e *Endpoint) Fetch(from int, src, dst rdmaeng.Window, size int, n rdmaeng.Notification) bool {
	word := func(i int) uint64 { return uint64(uint32(n[i])) | uint64(uint32(n[i+1]))<<32 }
	var b [packetizer.PayloadLimit]byte
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at-packetizer.HeaderSize:], v) }
	put(mmio.AgentSrc, src.Addr)
	put(mmio.AgentDst, dst.Addr)
	put(mmio.AgentNotif, dst.Notify)
	put(mmio.AgentBytes, uint64(size))
	return e.port.TryAsk(from, packetizer.Header{1: word(0), 2: word(2)}, b[:])
}
