package regs

import "github.com/exanet-mpi/exanet/internal/mmio"

// windowLayout says where the pinned memory of the channels is in the register
// file, for a node without an SMMU; and if it is not coherent, where its DRAM
// is: what the engine reads and writes, while processes see the former only,
// and move lines from one to the other when they maintain their caches.
type windowLayout struct {
	each       int   // bytes of a channel; 0: there is an SMMU
	at         int64 // of the first channel's
	dram       int64 // of the first channel's; 0: processes and engine see the same
	interfaces int
}

// withWindows puts the pinned memory of a node's channels behind its registers.
func (l layout) withWindows(c Node) layout {
	w := windowLayout{each: c.Window, at: l.size, interfaces: len(c.PDIDs)}
	l.size += int64(w.interfaces * w.each)
	if c.Incoherent {
		w.dram = l.size
		l.size += int64(w.interfaces * w.each)
	}
	l.windows = w
	return l
}

// flags are those of the ID registers.
func (w windowLayout) flags() (f uint16) {
	if w.each > 0 {
		f |= mmio.FlagWindow
	}
	if w.dram > 0 {
		f |= mmio.FlagMaintain
	}
	return f
}

// fill writes the registers of channel i, whose page is at an offset of the file.
func (w windowLayout) fill(page mmio.Region, i int, at int64) {
	if w.each == 0 {
		return
	}
	page.Reg(mmio.RegWindowSize).Store(uint64(w.each))
	page.Reg(mmio.RegWindow).Store(uint64(w.at + int64(i*w.each) - at))
	if w.dram > 0 {
		page.Reg(mmio.RegDRAM).Store(uint64(w.dram + int64(i*w.each) - at))
	}
}

// windows is the Memory of a node without an SMMU: by channel, what it reaches.
// An address is an offset in it.
type windows [][]byte

func (n *node) windows() (w windows) {
	l := n.lay.windows
	at := l.at
	if l.dram > 0 {
		at = l.dram
	}
	for i := range l.interfaces {
		w = append(w, n.mem.Sub(int(at)+i*l.each, l.each).Bytes())
	}
	return w
}

func (w windows) part(channel int, addr uint64, n int) []byte {
	m := w[channel]
	if addr > uint64(len(m)) || uint64(n) > uint64(len(m))-addr {
		return nil
	}
	return m[addr : addr+uint64(n)]
}

func (w windows) Read(channel int, _, addr uint64, b []byte) uint64 {
	return moved(copy(b, w.part(channel, addr, len(b))), b)
}

func (w windows) Write(channel int, _, addr uint64, b []byte) uint64 {
	return moved(copy(w.part(channel, addr, len(b)), b), b)
}

func moved(n int, b []byte) uint64 {
	if n < len(b) {
		return mmio.Fault
	}
	return mmio.OK
}
