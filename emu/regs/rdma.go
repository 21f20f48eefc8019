package regs

import (
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// chunk is what one descriptor moves before the next has its turn, in bytes:
// large enough that system calls do not count, small enough for a second-level
// cache.
const chunk = 128 << 10

// channel is the hardware's side of an RDMA channel.
type channel struct {
	page   mmio.Region
	pdid   uint32
	node   *node
	writes [mmio.Descriptors]write

	refused uint64 // writes with other protection IDs
}

// write is a descriptor being carried out. The registers are read once, when
// it is taken: what the process does to them later changes nothing.
type write struct {
	submit   uint64 // SUBMIT when taken
	active   bool
	src      uint64
	dst      uint64
	notif    uint64
	data     [2]uint64
	size     uint64
	moved    uint64
	from, to end
	told     end // whose notification word notif is
	result   uint64
}

// end is memory that a write reads or writes: the process that held a channel
// when the write began.
type end struct {
	memory  Memory
	channel int
	owner   uint64
}

func (e end) read(addr uint64, b []byte) uint64  { return e.memory.Read(e.channel, e.owner, addr, b) }
func (e end) write(addr uint64, b []byte) uint64 { return e.memory.Write(e.channel, e.owner, addr, b) }

// engine is the hardware's side of all RDMA channels.
type engine struct {
	d       *Device
	fetches []*fetch // that agents carry out
	before  write    // the one that was notified last, for NotifiedTwice
	bounce  []byte
	word    []byte // one notification
	fence   atomic.Uint32
}

// runEngine carries out descriptors, a chunk of each in turn.
func (d *Device) runEngine() {
	e := engine{d: d, bounce: make([]byte, chunk), word: make([]byte, 16)}
	var p pace
	for !d.stop.Load() {
		worked := e.runAgents()
		for _, n := range d.nodes {
			for i := range n.channels {
				for k := range mmio.Descriptors {
					if e.step(n, i, k) {
						worked = true
					}
				}
			}
		}
		p.wait(worked)
	}
}

// step carries descriptor k of channel i of a node one chunk further and
// reports whether there was something to do.
func (e *engine) step(n *node, i, k int) bool {
	c := &n.channels[i]
	w := &c.writes[k]
	base := mmio.DescBase + k*mmio.DescSize
	submit := c.page.Reg(base + mmio.DescSubmit).Load() // acquire: the descriptor is filled
	if !w.active {
		if submit == w.submit {
			return false
		}
		e.take(c, i, c.page.Words(base, mmio.DescSubmit/8), w)
		w.submit, w.active = submit, true
	}
	if !e.carry(w) {
		return true
	}
	c.page.Reg(base + mmio.DescError).Store(w.result)
	c.page.Reg(base + mmio.DescDone).Store(w.submit) // release: ERROR is there
	w.active = false
	return true
}

// carry moves a chunk of a write and reports whether it has ended.
func (e *engine) carry(w *write) bool {
	if e.d.fault == NotifiedEarly && w.result == mmio.OK && w.moved == 0 {
		w.result = e.notify(w)
		gap()
	}
	if w.result == mmio.OK && w.moved < w.size {
		w.result = e.move(w)
	}
	if w.result == mmio.OK && w.moved < w.size {
		return false
	}
	if e.d.fault == NotifiedTwice {
		e.repeat(w)
	}
	if w.result == mmio.OK && e.d.fault != NotNotified {
		w.result = e.notify(w)
	}
	if e.d.fault == BadRouteOK && w.result == mmio.BadRoute {
		w.result = mmio.OK
	}
	return true
}

// take reads a descriptor of channel i and finds the two ends of the write.
func (e *engine) take(c *channel, i int, r []uint64, w *write) {
	*w = write{
		src: r[mmio.DescSrc/8], dst: r[mmio.DescDst/8], notif: r[mmio.DescNotif/8], size: r[mmio.DescBytes/8],
		data: [2]uint64{r[mmio.DescData/8], r[mmio.DescData/8+1]},
		from: end{c.node.memory, i, c.page.Reg(mmio.RegOwner).Load()},
	}
	if e.aim(c.pdid, w); w.result == mmio.OK && w.from.owner == 0 {
		w.result = mmio.Gone
	}
}

// aim finds where a write with this protection ID goes.
func (e *engine) aim(pdid uint32, w *write) {
	w.told, w.notif, w.result = e.resolve(pdid, w.notif)
	if w.result == mmio.OK && w.size > 0 {
		w.to, w.dst, w.result = e.resolve(pdid, w.dst)
	}
	if w.result == mmio.OK && w.notif%16 != 0 {
		w.result = mmio.BadAlign
	}
}

// resolve finds the memory and the local address behind an Exanet address, if
// that may be reached with this protection ID.
func (e *engine) resolve(pdid uint32, addr uint64) (to end, local, result uint64) {
	id, index, local := mmio.SplitExanet(addr)
	n := e.d.at[id]
	if n == nil || int(index) >= len(n.channels) {
		return to, 0, mmio.BadRoute
	}
	c := &n.channels[index]
	if c.pdid != pdid && e.d.fault != AnyPDID {
		if e.d.fault != Uncounted {
			c.refused++
		}
		c.page.Reg(mmio.RegRefused).Store(c.refused)
		return to, 0, mmio.BadPDID
	}
	to = end{n.memory, int(index), c.page.Reg(mmio.RegOwner).Load()}
	if to.owner == 0 {
		return to, 0, mmio.Gone
	}
	return to, local, mmio.OK
}

// move copies the next chunk.
func (e *engine) move(w *write) (result uint64) {
	b := e.bounce[:min(w.size-w.moved, chunk)]
	last := w.moved+uint64(len(b)) == w.size
	result = w.from.read(w.src+w.moved, b)
	if result == mmio.OK && !(last && e.d.fault == ChunkLost) {
		result = w.to.write(w.dst+w.moved, b)
	}
	if result == mmio.OK {
		w.moved += uint64(len(b))
	}
	return result
}

// notify delivers the notification: three words, and the third, which the
// receiver polls, last. What one call of Memory writes has no order of its own,
// so the first leaves the third word at -1 and a fence stands between the two.
func (e *engine) notify(w *write) (result uint64) {
	words := mem.Slice[uint64](e.word)
	words[0], words[1] = w.data[0], w.data[1]|0xffffffff
	if result = w.told.write(w.notif, e.word); result != mmio.OK {
		return result
	}
	// A full barrier: release before acquire. One read-modify-write would be none on
	// ARM64 without LSE, such as the prototype's cores.
	e.fence.Store(1)
	e.fence.Load()
	words[1] = w.data[1]
	return w.told.write(w.notif+8, e.word[8:12])
}

// repeat is NotifiedTwice: it notifies of the write before this one again.
func (e *engine) repeat(w *write) {
	if e.before.told.memory != nil {
		_ = e.notify(&e.before)
	}
	e.before = *w
}
