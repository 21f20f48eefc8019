package guest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

const base = 0x40000000

// kernel makes tables in a RAM, as a guest's kernel does, and knows what they mean.
type kernel struct {
	file *os.File
	ram  ram
	free []uint64 // physical pages, in no order
}

func newKernel(t require.TestingT, pages int, seed uint64) *kernel {
	fd, err := sys.SealedMemory("ram", int64(pages)*pageSize)
	require.NoError(t, err)
	k := &kernel{file: os.NewFile(uintptr(fd), "ram")}
	b, err := sys.Map(k.file)
	require.NoError(t, err)
	k.ram = ram{b, base}
	for _, p := range rand.New(rand.NewPCG(seed, 0)).Perm(pages) {
		k.free = append(k.free, base+uint64(p)*pageSize)
	}
	return k
}

func (k *kernel) close() {
	_ = sys.Unmap(k.ram.b)
	_ = k.file.Close()
}

func (k *kernel) page() uint64 {
	p := k.free[0]
	k.free = k.free[1:]
	return p
}

func (k *kernel) put(at, entry uint64) { binary.LittleEndian.PutUint64(k.ram.at(at, 8), entry) }

// set sets the entry for an address in the tables from root, at a level.
func (k *kernel) set(root, addr uint64, level int, entry uint64) {
	at := root
	for l := range level {
		e := k.ram.word(at + slot(addr, l))
		if e&valid == 0 {
			e = k.page() | table | valid
			k.put(at+slot(addr, l), e)
		}
		at = e & address
	}
	k.put(at+slot(addr, level), entry)
}

const (
	page  = table | valid | user
	block = valid | user
)

// What is mapped is found at all its addresses, and nothing else is.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKernel(t, 300, rapid.Uint64().Draw(t, "seed"))
		defer k.close()
		root := k.page()
		type mapping struct{ virtual, physical, size, flags uint64 }
		var all []mapping
		top := make(map[uint64]bool)
		for range rapid.IntRange(1, 20).Draw(t, "mappings") {
			level := rapid.IntRange(1, 3).Draw(t, "level")
			m := mapping{size: span(level)}
			m.virtual = rapid.Uint64Range(0, virtual-1).Draw(t, "address") &^ (m.size - 1)
			if top[m.virtual/span(1)] {
				continue // mappings do not overlap
			}
			top[m.virtual/span(1)] = true
			m.flags = rapid.SampledFrom([]uint64{0, user, user | readOnly}).Draw(t, "flags")
			m.physical = rapid.Uint64Range(0, virtual-1).Draw(t, "physical") &^ (m.size - 1)
			kind := uint64(valid)
			if level == 3 {
				kind |= table
			}
			k.set(root, m.virtual, level, m.physical|m.flags|kind|rapid.Uint64().Draw(t, "rest")&^(1<<54-1))
			all = append(all, m)
		}
		for _, m := range all {
			within := rapid.Uint64Range(0, m.size-1).Draw(t, "within")
			for _, how := range []access{forReading, forWriting} {
				phys, left, ok := k.ram.walk(root, m.virtual+within, how)
				require.Equal(t, m.flags&user != 0 && (how == forReading || m.flags&readOnly == 0), ok)
				if ok {
					require.Equal(t, []uint64{m.physical + within, m.size - within}, []uint64{phys, left})
				}
			}
		}
		_, _, ok := k.ram.walk(root, all[0].virtual+virtual, forReading)
		require.False(t, ok, "an address has 48 bits")
		other := rapid.Uint64().Draw(t, "other")
		if !top[other/span(1)] || other >= virtual {
			_, _, ok := k.ram.walk(root, other, forReading)
			require.False(t, ok)
		}
	})
}

// Entries that the architecture has not got, and tables without RAM.
func TestWalkRefuses(t *testing.T) {
	const addr = 0x123456789000
	for name, c := range map[string]struct {
		level int
		entry uint64
	}{
		"a block in the table of the first level": {0, block | base},
		"a page without its second bit":           {3, block | base},
		"an entry that is not valid":              {3, page&^valid | base},
		"a page of the kernel":                    {3, page&^user | base},
		"a table beyond the RAM":                  {1, table | valid | base + 1<<30},
		"a table below the RAM":                   {1, table | valid | base - pageSize},
		"a table at the end of all":               {1, table | valid | address},
	} {
		k := newKernel(t, 20, 1)
		root := k.page()
		k.set(root, addr, c.level, c.entry)
		_, _, ok := k.ram.walk(root, addr, forReading)
		require.False(t, ok, name)
		k.close()
	}
}

// Whatever the RAM holds, no walk leaves it, and none goes on for ever.
func FuzzWalk(f *testing.F) {
	f.Add(uint64(1), uint64(base), uint64(0x1000))
	f.Add(uint64(2), uint64(base+8*pageSize), uint64(0xffff_ffff_f000))
	f.Fuzz(func(t *testing.T, seed, root, addr uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		k := newKernel(t, 16, seed)
		defer k.close()
		for at := 0; at < len(k.ram.b); at += 8 {
			e := r.Uint64()
			if e&4 != 0 { // mostly what leads on
				e = base + e>>8%17*pageSize | page
			}
			binary.LittleEndian.PutUint64(k.ram.b[at:], e)
		}
		root &^= 7 // tables are aligned
		for _, how := range []access{forReading, forWriting} {
			if phys, left, ok := k.ram.walk(root, addr, how); ok {
				require.NotZero(t, left)
				require.Less(t, phys, uint64(virtual))
			}
		}
		k.ram.roots(k.ram.written(k.file), []pair{{addr, root}, {addr + pageSize, root}})
	})
}

// device is a Memory with a register file that has a channel.
func device(t *testing.T, k *kernel) (*Memory, mmio.Region) {
	fd, err := sys.SealedMemory("registers", 2*mmio.PageSize)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "registers")
	defer f.Close()
	m, err := New(k.file, base, f)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	m.registers.Reg(mmio.DirChannel).Store(mmio.PageSize)
	m.registers.Reg(mmio.PageSize + mmio.RegStride).Store(mmio.PageSize)
	return m, m.registers.Sub(mmio.PageSize, mmio.PageSize)
}

// process makes the tables of a process with some pages beside each other, and says in the
// context of a channel whose they are.
func (k *kernel) process(channel mmio.Region, pid, addr uint64, pages int, flags uint64) (root uint64) {
	root = k.page()
	for i := range mmio.Pairs {
		v, p := (pid*7+uint64(i)*61)%512<<39|uint64(i)<<20, k.page()
		k.set(root, v, 3, p|page)
		channel.Reg(mmio.CtxPairs + 16*i).Store(v)
		channel.Reg(mmio.CtxPairs + 16*i + 8).Store(p)
	}
	for i := range pages {
		k.set(root, addr+uint64(i)*pageSize, 3, k.page()|page|flags)
	}
	channel.Reg(mmio.CtxCount).Store(channel.Reg(mmio.CtxCount).Load() + 1)
	channel.Reg(mmio.CtxOwner).Store(pid)
	return root
}

const somewhere = 0x7fff_0000_0000

func TestMemory(t *testing.T) {
	k := newKernel(t, 400, 3)
	defer k.close()
	m, channel := device(t, k)
	require.EqualValues(t, mmio.Fault, m.Read(0, 9, somewhere, make([]byte, 8)), "there is no context")

	k.process(channel, 9, somewhere, 5, 0)
	data, got := make([]byte, 4*pageSize), make([]byte, 4*pageSize)
	for i := range data {
		data[i] = byte(i*7 + i>>8)
	}
	require.EqualValues(t, mmio.OK, m.Write(0, 9, somewhere+100, data))
	require.EqualValues(t, mmio.OK, m.Read(0, 9, somewhere+100, got))
	require.Equal(t, data, got)
	require.EqualValues(t, mmio.Fault, m.Write(0, 9, somewhere+2*pageSize, data), "the last page is not there")
	require.EqualValues(t, mmio.Fault, m.Read(0, 8, somewhere, got), "another process")
	require.EqualValues(t, mmio.Fault, m.Read(0, 0, somewhere, got), "nobody")

	// Another owner of the same channel, with the same addresses.
	k.process(channel, 10, somewhere, 4, readOnly)
	require.EqualValues(t, mmio.Fault, m.Read(0, 9, somewhere, got))
	require.EqualValues(t, mmio.OK, m.Read(0, 10, somewhere, got))
	require.Equal(t, make([]byte, len(got)), got)
	require.EqualValues(t, mmio.Fault, m.Write(0, 10, somewhere, got))
}

// RAM ends where it ends.
func TestRAM(t *testing.T) {
	r := ram{make([]byte, pageSize), base}
	for _, c := range []struct {
		phys, size uint64
		there      bool
	}{
		{base, pageSize, true}, {base + 8, pageSize - 8, true}, {base + pageSize, 0, true},
		{base - 8, 8, false}, {base, pageSize + 1, false}, {base + pageSize - 4, 8, false}, {0, 8, false},
		{1<<64 - 8, 16, false}, {base, 1<<64 - 1, false}, {base + pageSize + 8, 8, false},
	} {
		require.Equal(t, c.there, r.at(c.phys, c.size) != nil, "%#x", c)
	}
}

// The tables of a process that has ended are tables no more once others use the pages.
func TestEndedProcess(t *testing.T) {
	k := newKernel(t, 400, 4)
	defer k.close()
	m, channel := device(t, k)
	old := k.process(channel, 9, somewhere, 1, 0)
	b := make([]byte, 8)
	require.EqualValues(t, mmio.OK, m.Write(0, 9, somewhere, b))
	k.put(old+slot(channel.Reg(mmio.CtxPairs).Load(), 0), 0) // the rest leads on
	require.EqualValues(t, mmio.Fault, m.Write(0, 9, somewhere, b))

	k.process(channel, 10, somewhere, 1, 0)
	require.EqualValues(t, mmio.OK, m.Write(0, 10, somewhere, b))
	channel.Reg(mmio.CtxOwner).Store(0)
	require.EqualValues(t, mmio.Fault, m.Write(0, 10, somewhere, b))
	require.EqualValues(t, mmio.Fault, m.Write(0, 0, somewhere, b))
}

// What looks like the tables in part is not taken for them, and if two look alike, neither is.
func TestLikeness(t *testing.T) {
	k := newKernel(t, 400, 5)
	defer k.close()
	m, channel := device(t, k)
	root := k.process(channel, 11, somewhere, 1, 0)
	like := k.page()
	first := slot(channel.Reg(mmio.CtxPairs).Load(), 0)
	k.put(like+first, k.ram.word(root+first))
	b := make([]byte, 8)
	require.EqualValues(t, mmio.OK, m.Write(0, 11, somewhere, b))

	channel.Reg(mmio.CtxCount).Store(7)
	copy(k.ram.at(like, pageSize), k.ram.at(root, pageSize))
	require.EqualValues(t, mmio.Fault, m.Write(0, 11, somewhere, b))
}
