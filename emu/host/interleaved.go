//go:build interleave

package host

import (
	"fmt"
	"unsafe"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/test/interleave"
)

// Interleaved makes a job of n ranks with small rings, those of some pairs, for tests that try every interleaving.
// The header of a message but for its first word, and the payload of a cell behind its first, get from one rank to
// the other as that does. Unless the headers are asked for they are left out: the receiver finds zeros there.
func Interleaved(m *interleave.Memory, n int, cells, bulk uint64, headers bool, pairs ...[2]int) []*Fabric {
	j := &Job{ranks: n, geo: geometryOf(cells, bulk)}
	var area0 int
	j.controlStep, j.ring0, j.ringStep, area0 = layout(n, j.geo)
	b := mem.Bytes(make([]uint64, area0/8))
	j.mapped, j.head, j.control0 = b, mem.Struct[header](b, 0), unsafe.Pointer(&b[headerSize])
	m.Share("header", j.head)
	fabrics := make([]*Fabric, n)
	for i := range fabrics {
		m.Share(fmt.Sprintf("control %d", i), j.control(i))
		at := headerSize + i*j.controlStep
		m.ShareBytes(fmt.Sprintf("opened %d", i), b[at+controlSize:at+j.controlStep])
		fabrics[i] = NewFabric(&Member{job: j, me: i, self: j.control(i)}, int(bulk)/4)
		fabrics[i].fenced = false
	}
	for _, p := range pairs {
		r := j.ringOf(p[0], p[1])
		m.Share(fmt.Sprintf("ring %d-%d", p[0], p[1]), r.head)
		for i := range cells {
			c := r.cell(&j.geo, i)
			m.Share(fmt.Sprintf("ring %d-%d cell %d word", p[0], p[1], i), &c.header[0])
			if headers {
				m.ShareBytes(fmt.Sprintf("ring %d-%d cell %d header", p[0], p[1], i), mem.Bytes(c.header[1:]))
			}
			m.ShareBytes(fmt.Sprintf("ring %d-%d cell %d payload", p[0], p[1], i), c.payload[:8])
		}
		m.ShareBytes(fmt.Sprintf("ring %d-%d bulk", p[0], p[1]), r.bulkBytes(&j.geo, 0, int(bulk)))
	}
	return fabrics
}

// Opened tells the receiver of the ring to a rank that there is one, as the first message does.
func (f *Fabric) Opened(to int) { f.open(f.job.ringOf(f.me, to), to) }

// SendFenced makes this rank send with a fence, or not, and take the others to do the same.
func (f *Fabric) SendFenced(fenced bool) { f.fenced = fenced }
