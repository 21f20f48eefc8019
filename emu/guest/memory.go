// Package guest is how the software device (emu/regs) reaches the memory of processes in a
// guest whose RAM is a file of this machine: by the tables of the process, as an SMMU does on
// the prototype.
//
//	memory.go   Memory: reads and writes for the RDMA engine
//	walk.go     the way from a virtual address to a physical one
//	root.go     finds the tables of a process in the RAM
//
// An SMMU is told by a driver where the tables are. Here there is none: the process gives
// pairs of a virtual and a physical address in the context of its RDMA channel
// (docs/registers.md), and the tables are those that join all of them. The guest's kernel
// knows nothing of this. It must not move pages, and the process keeps them present; else a
// transfer ends with mmio.Fault, or, where a page has been given to somebody else between a
// walk and the copy, goes wrong as with any device without an SMMU that is told.
package guest

import (
	"fmt"
	"os"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// Memory is the memory of a guest's processes, as regs.Memory asks for it. It belongs to
// one goroutine.
type Memory struct {
	ram       ram
	file      *os.File
	registers mmio.Region
	contexts  map[int]*context // by RDMA channel
}

// context is what is known of the owner of a channel.
type context struct {
	owner, count uint64 // of its registers, when they were read
	pairs        [mmio.Pairs]pair
	root         uint64
}

// New maps the RAM of a guest, which begins at the physical address base, and its register
// file, which the device may fill later.
func New(file *os.File, base uint64, registers *os.File) (*Memory, error) {
	st, err := registers.Stat()
	if err != nil {
		return nil, err
	}
	b, err := sys.Map(file)
	if err != nil {
		return nil, fmt.Errorf("RAM of a guest: %w", err)
	}
	r, err := mmio.Map(registers, 0, int(st.Size()))
	if err != nil {
		_ = sys.Unmap(b)
		return nil, err
	}
	return &Memory{ram: ram{b, base}, file: file, registers: r, contexts: make(map[int]*context)}, nil
}

// Close unmaps both. The device must have stopped.
func (m *Memory) Close() {
	_ = sys.Unmap(m.ram.b)
	_ = m.registers.Close()
}

// Read implements regs.Memory.
func (m *Memory) Read(channel int, owner, addr uint64, b []byte) uint64 {
	return m.each(channel, owner, addr, len(b), forReading, func(page []byte, at int) { copy(b[at:], page) })
}

// Write implements regs.Memory.
func (m *Memory) Write(channel int, owner, addr uint64, b []byte) uint64 {
	return m.each(channel, owner, addr, len(b), forWriting, func(page []byte, at int) { copy(page, b[at:]) })
}

// each calls do for each part of some memory that lies in one page, with where it begins.
func (m *Memory) each(channel int, owner, addr uint64, size int, how access, do func(page []byte, at int)) uint64 {
	c := m.context(channel, owner)
	if c == nil {
		return mmio.Fault
	}
	for at := 0; at < size; {
		phys, left, ok := m.ram.walk(c.root, addr+uint64(at), how)
		if !ok {
			return mmio.Fault
		}
		page := m.ram.at(phys, min(left, uint64(size-at)))
		if page == nil {
			return mmio.Fault
		}
		do(page, at)
		at += len(page)
	}
	return mmio.OK
}

// context finds the tables of a channel's owner, nil if they are not known. Those that were
// found serve as long as they join all pairs: when the process ends, its tables go first.
func (m *Memory) context(channel int, owner uint64) *context {
	block := int(m.registers.Reg(mmio.DirChannel).Load())
	stride := int(m.registers.Reg(block + mmio.RegStride).Load())
	page := m.registers.Sub(block+channel*stride, mmio.PageSize)
	if page.Reg(mmio.CtxOwner).Load() != owner || owner == 0 { // acquire: the context is there
		return nil
	}
	count := page.Reg(mmio.CtxCount).Load()
	c := m.contexts[channel]
	if c != nil && c.owner == owner && c.count == count && m.ram.joins(c.root, c.pairs[:]) {
		return c
	}
	c = &context{owner: owner, count: count}
	for i := range c.pairs {
		c.pairs[i] = pair{page.Reg(mmio.CtxPairs + 16*i).Load(), page.Reg(mmio.CtxPairs + 16*i + 8).Load()}
	}
	roots := m.ram.roots(m.ram.written(m.file), c.pairs[:])
	if len(roots) != 1 {
		return nil
	}
	c.root = roots[0]
	m.contexts[channel] = c
	return c
}
