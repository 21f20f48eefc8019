package mmio

import (
	"os"
	"slices"

	"github.com/exanet-mpi/exanet/internal/mem"
)

// Pinned is the memory that an RDMA channel reaches where there is no SMMU
// (FlagWindow): addresses are offsets in it. The process that holds the channel
// has it mapped, and copies into it and out of it.
//
// Where the device is not coherent with the processor's caches (FlagMaintain),
// the process says when: Clean before the device reads, Purge before the device
// writes, and again before the process reads what it wrote.
type Pinned struct {
	Region
	caches caches // nil: the device is coherent
}

// caches are the processor's, as far as they hold lines of pinned memory.
type caches interface {
	// clean writes the changed lines of b to memory.
	clean(b []byte)
	// purge does the same, and forgets the lines.
	purge(b []byte)
}

// Clean makes what the process has written to b, a part of Bytes, visible to the device.
func (p *Pinned) Clean(b []byte) {
	if p.caches != nil {
		p.caches.clean(b)
	}
}

// Purge makes what the device writes to b visible to the process, from now on
// until the process touches b again. Nothing that the process has written there
// before can overwrite what the device writes.
func (p *Pinned) Purge(b []byte) {
	if p.caches != nil {
		p.caches.purge(b)
	}
}

// pin maps the pinned memory of a channel, whose page is at an offset of the
// file, if it has such.
func (p *Page) pin(f *os.File, at int64) error {
	id := p.Reg(RegID).Load()
	flags := uint16(id >> 16)
	if flags&FlagWindow == 0 || uint32(id>>32) != KindChannel {
		return nil
	}
	size := int(p.Reg(RegWindowSize).Load())
	region := func(reg int) (Region, error) { return Map(f, at+int64(p.Reg(reg).Load()), size) }
	window, err := region(RegWindow)
	if err != nil {
		return err
	}
	p.Pinned = &Pinned{Region: window}
	switch {
	case flags&FlagMaintain == 0:
	case p.Reg(RegDRAM).Load() != 0:
		dram, err := region(RegDRAM)
		if err != nil {
			return err
		}
		p.Pinned.caches = &modelled{view: window.b, dram: dram.b, base: make([]byte, size), known: make([]bool,
			size/PageSize)}
	default:
		if err := mem.CanMaintain(); err != nil {
			return &Error{Op: "attach", Path: p.Path, Page: p.Index, Err: ErrNoDevice, Cause: err,
				Do: "use a device that is coherent with this processor's caches"}
		}
		p.Pinned.caches = instructions{}
	}
	return nil
}

// unpin undoes pin.
func (p *Page) unpin() (err error) {
	if p.Pinned == nil {
		return nil
	}
	if m, ok := p.Pinned.caches.(*modelled); ok {
		err = Region{m.dram}.Close()
	}
	if e := p.Pinned.Close(); err == nil {
		err = e
	}
	return err
}

// instructions are those of the processor.
type instructions struct{}

func (instructions) clean(b []byte) { mem.CleanCache(b) }
func (instructions) purge(b []byte) { mem.PurgeCache(b) }

// modelled stands for the caches of a processor that a software device is not
// coherent with. The process reads and writes view, and the device dram; what
// one writes gets to the other through here alone. A line is changed if it
// differs from what memory had when it was last looked at. So a line that is
// purged with old changes in it overwrites what the device has written, as it
// does in a cache.
type modelled struct {
	view, dram []byte
	base       []byte // of each line, what view and dram had in common last
	known      []bool // by page: base is that, and not what it was made with
}

const (
	lineWords = mem.CacheLine / 8
	pageWords = PageSize / 8
)

func (m *modelled) clean(b []byte) { m.lines(b, false) }
func (m *modelled) purge(b []byte) { m.lines(b, true) }

func (m *modelled) lines(b []byte, forget bool) {
	if len(b) == 0 {
		return
	}
	view, base := mem.Slice[uint64](m.view), mem.Slice[uint64](m.base)
	first := int(mem.Addr(b)-mem.Addr(m.view)) / mem.CacheLine
	last := (int(mem.Addr(b)-mem.Addr(m.view)) + len(b) - 1) / mem.CacheLine
	for at := first * lineWords; at < (last+1)*lineWords; at += lineWords {
		if page := at / pageWords; !m.known[page] { // what there was before this process came
			copy(m.base[page*PageSize:(page+1)*PageSize], m.dram[page*PageSize:])
			m.known[page] = true
		}
		line, was := view[at:at+lineWords], base[at:at+lineWords]
		changed := !slices.Equal(line, was)
		for i := range line {
			word := mem.U64(m.dram, 8*(at+i))
			if changed {
				word.Store(line[i])
			} else if forget {
				line[i] = word.Load()
			}
			was[i] = line[i]
		}
	}
}
