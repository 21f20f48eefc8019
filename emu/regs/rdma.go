package regs

import (
	"errors"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"golang.org/x/sys/unix"
)

// chunk is what one descriptor moves before the next has its turn, in bytes:
// large enough that system calls do not count, small enough for a second-level
// cache.
const chunk = 128 << 10

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
	from, to int // process IDs
	result   uint64
}

// engine is the hardware's side of the RDMA channels.
type engine struct {
	d      *Device
	writes [][mmio.Descriptors]write
	bounce []byte
	word   []byte // one notification
	fence  atomic.Uint32
}

// runEngine carries out descriptors, a chunk of each in turn.
func (d *Device) runEngine() {
	e := engine{
		d:      d,
		writes: make([][mmio.Descriptors]write, len(d.channels)),
		bounce: make([]byte, chunk),
		word:   make([]byte, 16),
	}
	var p pace
	for !d.stop.Load() {
		worked := false
		for i := range e.writes {
			for k := range e.writes[i] {
				if e.step(i, k) {
					worked = true
				}
			}
		}
		p.wait(worked)
	}
}

// step carries descriptor k of channel i one chunk further and reports
// whether there was something to do.
func (e *engine) step(i, k int) bool {
	page, w := e.d.channels[i], &e.writes[i][k]
	base := mmio.DescBase + k*mmio.DescSize
	submit := page.Reg(base + mmio.DescSubmit).Load() // acquire: the descriptor is filled
	if !w.active {
		if submit == w.submit {
			return false
		}
		e.take(i, page.Words(base, mmio.DescSubmit/8), w)
		w.submit, w.active = submit, true
	}
	if w.result == mmio.OK && w.moved < w.size {
		w.result = e.move(w)
	}
	if w.result == mmio.OK && w.moved < w.size {
		return true
	}
	if w.result == mmio.OK {
		w.result = e.notify(w)
	}
	page.Reg(base + mmio.DescError).Store(w.result)
	page.Reg(base + mmio.DescDone).Store(w.submit) // release: ERROR is there
	w.active = false
	return true
}

// take reads a descriptor and finds the two processes.
func (e *engine) take(i int, r []uint64, w *write) {
	*w = write{
		src: r[mmio.DescSrc/8], dst: r[mmio.DescDst/8], notif: r[mmio.DescNotif/8], size: r[mmio.DescBytes/8],
		data: [2]uint64{r[mmio.DescData/8], r[mmio.DescData/8+1]},
	}
	w.from = int(e.d.channels[i].Reg(mmio.RegOwner).Load())
	w.to, w.notif, w.result = e.resolve(i, w.notif)
	if w.result == mmio.OK && w.size > 0 {
		w.to, w.dst, w.result = e.resolve(i, w.dst)
	}
	switch {
	case w.result != mmio.OK:
	case w.from == 0:
		w.result = mmio.Gone
	case w.notif%16 != 0:
		w.result = mmio.BadAlign
	}
}

// resolve finds the process and the local address behind an Exanet address,
// if channel i may write there.
func (e *engine) resolve(i int, addr uint64) (pid int, local, result uint64) {
	node, index, local := mmio.SplitExanet(addr)
	if node != e.d.cfg.Node || int(index) >= len(e.d.channels) {
		return 0, 0, mmio.BadRoute
	}
	if e.d.cfg.PDIDs[index] != e.d.cfg.PDIDs[i] {
		return 0, 0, mmio.BadPDID
	}
	pid = int(e.d.channels[index].Reg(mmio.RegOwner).Load())
	if pid == 0 {
		return 0, 0, mmio.Gone
	}
	return pid, local, mmio.OK
}

// move copies the next chunk. Cross-memory attach even within this process:
// a wrong address is then an answer and not the end of the device.
func (e *engine) move(w *write) (result uint64) {
	n := min(w.size-w.moved, chunk)
	for at := uint64(0); at < n; {
		got, err := sys.VMRead(w.from, w.src+w.moved+at, e.bounce[at:n])
		if err != nil || got == 0 {
			return why(err)
		}
		at += uint64(got)
	}
	if result = e.put(w.to, w.dst+w.moved, e.bounce[:n]); result == mmio.OK {
		w.moved += n
	}
	return result
}

// why says in the terms of the ERROR register what a system call answered.
func why(err error) uint64 {
	if errors.Is(err, unix.ESRCH) {
		return mmio.Gone
	}
	return mmio.Fault
}

// put writes all of b into a process.
func (e *engine) put(pid int, addr uint64, b []byte) uint64 {
	for at := 0; at < len(b); {
		n, err := sys.VMWrite(pid, addr+uint64(at), b[at:])
		if err != nil || n == 0 {
			return why(err)
		}
		at += n
	}
	return mmio.OK
}

// notify delivers the notification: three words, and the third, which the
// receiver polls, last. What a system call stores has no order of its own, so
// the first call leaves the third word at -1 and a fence stands between the two.
func (e *engine) notify(w *write) (result uint64) {
	words := mem.Slice[uint64](e.word)
	words[0], words[1] = w.data[0], w.data[1]|0xffffffff
	if result = e.put(w.to, w.notif, e.word); result != mmio.OK {
		return result
	}
	// A full barrier: release before acquire. One read-modify-write would be none on
	// ARM64 without LSE, such as the prototype's cores.
	e.fence.Store(1)
	e.fence.Load()
	words[1] = w.data[1]
	return e.put(w.to, w.notif+8, e.word[8:12])
}
