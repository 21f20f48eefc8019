package bringup

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/exanet-mpi/exanet/emu/regs"
)

// documented are the registers that this driver knows.
func documented(t *testing.T) *registers {
	r, err := read("../../docs/registers.md", "../../docs/bring-up.md")
	require.NoError(t, err)
	return r
}

// device is a mapped register file.
type device struct {
	*testing.T
	*registers
	b []byte
}

func open(t *testing.T, r *registers, path string) *device {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	st, err := f.Stat()
	require.NoError(t, err)
	b, err := syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(b)) })
	return &device{t, r, b}
}

// word is the register at an offset of the file.
func (d *device) word(at int64) *atomic.Uint64 {
	require.Zero(d, at%8)
	return (*atomic.Uint64)(unsafe.Pointer(&d.b[at]))
}

// of is a register, by its name, of the page at an offset.
func (d *device) of(page int64, name string) *atomic.Uint64 {
	at, known := d.at[name]
	require.True(d, known, "the documents do not name %s", name)
	d.used[name] = true
	return d.word(page + at)
}

// nth is the offset of part i of a page: a window, say.
func (d *device) nth(page int64, name string, i uint64) int64 {
	at, known := d.at[name]
	require.True(d, known, "the documents do not name %s", name)
	d.used[name] = true
	return page + at + int64(i)*d.step[name]
}

func (d *device) eventually(what string, cond func() bool) {
	for end := time.Now().Add(time.Minute); !cond(); runtime.Gosched() {
		require.True(d, time.Now().Before(end), "gave up waiting: %s", what)
	}
}

const (
	claim    = 1 << 0 // flags
	window   = 1 << 2
	maintain = 1 << 3
	agent    = 1 << 4
)

// take checks the pages of a block and claims a free one with a protection ID.
func (d *device) take(block int64, kind string, node, pdid, units uint64) (page int64) {
	id := d.of(block, "Header/ID").Load()
	require.Equal(d, kind, string([]byte{byte(id >> 56), byte(id >> 48), byte(id >> 40), byte(id >> 32)}))
	require.EqualValues(d, 1, uint16(id))
	require.NotZero(d, id>>16&claim)
	for i := range d.of(block, "Header/COUNT").Load() {
		page := block + int64(i*d.of(block, "Header/STRIDE").Load())
		require.Zero(d, page%4096)
		require.Equal(d, node, d.of(page, "Header/NODE").Load())
		require.Equal(d, i, d.of(page, "Header/INDEX").Load())
		require.Equal(d, units, d.of(page, "Header/UNITS").Load())
		if d.of(page, "Header/PDID").Load() == pdid &&
			d.of(page, "Header/OWNER").CompareAndSwap(0, uint64(os.Getpid())) {
			return page
		}
	}
	require.Fail(d, "no page")
	return 0
}

// rank is what a process holds.
type rank struct {
	*device
	port, box, channel int64
	address            uint64 // of the mailbox
}

func (d *device) rank(node, pdid, depth uint64) (r rank) {
	at := func(name string) int64 { return int64(d.of(0, name).Load()) }
	r = rank{d, d.take(at("Software/PACKETIZERS"), "EXPK", node, pdid, 16),
		d.take(at("Software/MAILBOXES"), "EXMB", node, pdid, depth),
		d.take(at("Software/CHANNELS"), "EXDC", node, pdid, 16), 0}
	r.address = node<<48 | pdid<<16 | d.of(r.box, "Header/INDEX").Load()
	d.of(r.box, "Mailbox/HEAD").Store(d.of(r.box, "Mailbox/TAIL").Load()) // what a former owner has left
	require.Equal(d, node<<56|d.of(r.channel, "Header/INDEX").Load()<<48, d.of(r.channel, "Header/OFFSET").Load())
	return r
}

// send sends 64 bytes and returns RESULT.
func (r rank) send(dest uint64, words [8]uint64) (result uint64) {
	for i := range uint64(16) {
		w := r.nth(r.port, "Packetizer/window", i)
		seq, done := r.of(w, "Packetizer/window/SEQ"), r.of(w, "Packetizer/window/DONE")
		if seq.Load() != done.Load() {
			continue
		}
		for k, v := range words {
			r.of(w+int64(8*k), "Packetizer/window/DATA").Store(v)
		}
		send := r.of(r.port, "Packetizer/SEND")
		seq.Store(send.Load() + 1)
		r.of(w, "Packetizer/window/DEST").Store(dest)
		send.Store(send.Load() + 1)
		r.eventually("DONE", func() bool { return seq.Load() == done.Load() })
		return r.of(w, "Packetizer/window/RESULT").Load()
	}
	require.Fail(r, "no window is free")
	return 0
}

// receive takes a message out of the mailbox.
func (r rank) receive() (words [8]uint64) {
	head, tail := r.of(r.box, "Mailbox/HEAD"), r.of(r.box, "Mailbox/TAIL")
	r.eventually("message", func() bool { return head.Load() != tail.Load() })
	slot := r.nth(r.box, "Mailbox/message", head.Load()%r.of(r.box, "Header/UNITS").Load())
	for k := range words {
		words[k] = r.word(slot + int64(8*k)).Load()
	}
	head.Store(head.Load() + 1)
	return words
}

// write has the engine write and returns ERROR.
func (r rank) write(i, src, dst, size, notif uint64, data [2]uint64) (result uint64) {
	p := r.nth(r.channel, "RDMA/descriptor", i)
	submit, done := r.of(p, "RDMA/descriptor/SUBMIT"), r.of(p, "RDMA/descriptor/DONE")
	require.Equal(r, submit.Load(), done.Load(), "a descriptor is free")
	r.of(p, "RDMA/descriptor/SRC").Store(src)
	r.of(p, "RDMA/descriptor/DST").Store(dst)
	r.of(p, "RDMA/descriptor/SIZE").Store(size)
	r.of(p, "RDMA/descriptor/NOTIF").Store(notif)
	r.of(p, "RDMA/descriptor/DATA").Store(data[0])
	r.of(p+8, "RDMA/descriptor/DATA").Store(data[1])
	submit.Store(submit.Load() + 1)
	r.eventually("DONE", func() bool { return submit.Load() == done.Load() })
	return r.of(p, "RDMA/descriptor/ERROR").Load()
}

func (r rank) release() {
	for _, page := range []int64{r.port, r.box, r.channel} {
		require.True(r, r.of(page, "Header/OWNER").CompareAndSwap(uint64(os.Getpid()), 0))
	}
}

// memory is what the engine reads and writes: 256 bytes for data, and a notification.
type memory struct {
	data [256]byte
	note [2]uint64
}

func (m *memory) notification() [2]uint64 {
	return [2]uint64{atomic.LoadUint64(&m.note[0]), atomic.LoadUint64(&m.note[1])}
}

const none = 1<<64 - 1 // half of a notification that has not come

// Two nodes: messages, writes, refusals, the directory, the agents.
func TestDriverFromTheDocuments(t *testing.T) {
	const depth, pdid, other = 4, 21, 22
	model, err := regs.New(regs.Config{Depth: depth, Nodes: []regs.Node{{ID: 3, PDIDs: []uint32{pdid, other}},
		{ID: 7, PDIDs: []uint32{pdid}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, model.Close()) }()
	r := documented(t)
	near, far := open(t, r, model.Path(0)), open(t, r, model.Path(1))
	for d, node := range map[*device]uint64{near: 3, far: 7} {
		require.EqualValues(t, 0x45584452, d.of(0, "Software/ID").Load()>>32)
		require.Equal(t, node, d.of(0, "Software/NODE").Load())
		require.EqualValues(t, 3, d.of(0, "Software/COUNT").Load())
	}
	a, b, stranger := near.rank(3, pdid, depth), far.rank(7, pdid, depth), near.rank(3, other, depth)

	// The directory of a node has the ranks of both.
	entry := func(d *device, i uint64, name string) *atomic.Uint64 {
		return d.of(d.nth(0, "Software/entry", i), "Software/entry/"+name)
	}
	offset := b.of(b.channel, "Header/OFFSET").Load()
	require.True(t, entry(far, 1, "STATE").CompareAndSwap(0, 1))
	entry(far, 1, "MAILBOX").Store(b.address)
	entry(far, 1, "OFFSET").Store(offset)
	entry(far, 1, "STATE").Store(2)
	near.eventually("entry", func() bool { return entry(near, 1, "STATE").Load() == 2 })
	require.Equal(t, b.address, entry(near, 1, "MAILBOX").Load())
	require.Equal(t, offset, entry(near, 1, "OFFSET").Load())

	// Messages, more than the mailbox holds; and one of another group, one to no node, one to nobody.
	for i := range uint64(3 * depth) {
		words := [8]uint64{i, 1, 2, 3, 4, 5, 6, ^i}
		require.Zero(t, a.send(b.address, words))
		require.Equal(t, words, b.receive())
	}
	require.EqualValues(t, 1, stranger.send(b.address, [8]uint64{}))
	require.EqualValues(t, 1, a.send(b.address+1<<16, [8]uint64{}))
	require.EqualValues(t, 2, b.of(b.box, "Mailbox/REFUSED").Load())
	require.EqualValues(t, 2, a.send(200<<48|pdid<<16, [8]uint64{}))

	// Writes, and what is wrong with some.
	from, to := &memory{}, &memory{note: [2]uint64{none, none}}
	for i := range from.data {
		from.data[i] = byte(i + 1)
	}
	at := func(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }
	src, dst, notif := at(unsafe.Pointer(&from.data)), at(unsafe.Pointer(&to.data))+offset,
		at(unsafe.Pointer(&to.note))+offset
	data := [2]uint64{200, 7<<32 | 1}
	require.Zero(t, a.write(5, src, dst, 200, notif, data))
	near.eventually("notification", func() bool { return to.notification() == data })
	require.Equal(t, from.data[:200], to.data[:200])
	require.Zero(t, to.data[200])
	require.EqualValues(t, 1, stranger.write(0, src, dst, 200, notif, data))
	require.EqualValues(t, 1, b.of(b.channel, "RDMA/REFUSED").Load())
	require.EqualValues(t, 2, a.write(1, src, 200<<56, 8, 200<<56, data))
	require.EqualValues(t, 4, a.write(2, 64, dst, 8, notif, data))
	require.EqualValues(t, 5, a.write(3, src, dst, 8, notif+8, data))

	// a asks the agent of b's node for b's data.
	require.NotZero(t, b.of(b.channel, "Header/ID").Load()>>16&agent)
	from.note = [2]uint64{none, none}
	back := a.of(a.channel, "Header/OFFSET").Load()
	var message [8]uint64
	put := func(name string, i int, v uint64) {
		r.used["Agent/"+name] = true
		message[int(r.at["Agent/"+name])/8+i] = v
	}
	put("DATA", 0, 100)
	put("DATA", 1, 1)
	put("SRC", 0, dst)
	put("DST", 0, at(unsafe.Pointer(&from.data[100]))+back)
	put("NOTIF", 0, at(unsafe.Pointer(&from.note))+back)
	put("SIZE", 0, 100)
	require.Zero(t, a.send(7<<48|pdid<<16|65535, message))
	near.eventually("notification", func() bool { return from.notification() == [2]uint64{100, 1} })
	require.Equal(t, to.data[:100], from.data[100:200])

	b.release()
	require.EqualValues(t, 3, a.send(b.address, [8]uint64{}))
	require.EqualValues(t, 3, a.write(0, src, dst, 8, notif, data))
	a.release()
	stranger.release()
	runtime.KeepAlive(from)
	runtime.KeepAlive(to)

	pinned(t, r)
	require.Empty(t, r.unused(), "registers that the documents name and this test does not touch")
}

// pinned is a device that is neither coherent nor knows virtual addresses. The
// process has to carry lines of 64 bytes from WINDOW to DRAM and back.
func pinned(t *testing.T, r *registers) {
	const size = 64 << 10
	model, err := regs.New(regs.Config{Depth: 1,
		Nodes: []regs.Node{{ID: 1, PDIDs: []uint32{1}, Window: size, Incoherent: true}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, model.Close()) }()
	d := open(t, r, model.Path(0))
	x := d.rank(1, 1, 1)
	require.EqualValues(t, window|maintain, d.of(x.channel, "Header/ID").Load()>>16&(window|maintain))
	require.EqualValues(t, size, d.of(x.channel, "Memory/WINSIZE").Load())
	view := d.b[x.channel+int64(d.of(x.channel, "Memory/WINDOW").Load()):][:size]
	dram := d.b[x.channel+int64(d.of(x.channel, "Memory/DRAM").Load()):][:size]
	offset := d.of(x.channel, "Header/OFFSET").Load()

	const src, dst, notif = 128, 4096, 8192
	copy(view[src:], "what the process has written")
	for i := range 16 {
		view[notif+i] = 0xff
	}
	write := func(at uint64) uint64 {
		return x.write(0, src, offset+dst, 64, offset+at, [2]uint64{64, 1})
	}
	require.Zero(t, write(notif))
	require.Zero(t, dram[dst], "the engine does not see what is in the caches")
	copy(dram[src:src+64], view[src:]) // clean
	copy(dram[notif:notif+64], view[notif:])
	require.Zero(t, write(notif))
	require.EqualValues(t, 0xff, view[notif], "nor does the process see what the engine has written")
	copy(view[notif:notif+64], dram[notif:]) // invalidate
	copy(view[dst:dst+64], dram[dst:])
	require.EqualValues(t, 64, view[notif])
	require.Equal(t, view[src:src+64], view[dst:dst+64])
	require.EqualValues(t, 4, write(size))
	x.release()
}
