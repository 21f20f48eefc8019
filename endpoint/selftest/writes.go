package selftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
)

// channel is an RDMA channel.
type channel struct {
	*mmio.Page
	offset uint64
	used   int                      // bytes of its pinned memory
	word   int                      // notifications in it
	submit [mmio.Descriptors]uint64 // transfers that were submitted
}

func (c *channel) begin() {
	c.offset = c.Reg(mmio.RegOffset).Load()
	for k := range c.submit {
		c.submit[k] = c.at(k, mmio.DescSubmit).Load()
	}
}

// at is a register of a descriptor.
func (c *channel) at(k, reg int) mmio.Reg { return c.Reg(mmio.DescBase + k*mmio.DescSize + reg) }

func (c *channel) done(k int) bool { return c.at(k, mmio.DescDone).Load() == c.submit[k] }

// write is a transfer and what has to come of it.
type write struct {
	src      area
	dst      area // with room around it, whose bytes must stay
	guard    int  // bytes of dst before and after those that are written
	word     area // notification
	note     [4]int32
	to       uint64 // offset of the channel that leads to dst and word
	k        int    // descriptor
	dstAddr  uint64 // other Exanet addresses than those of dst and word, if not 0
	noteAddr uint64
	srcAddr  uint64
}

const (
	guard = 64
	stale = 0xa5 // what a destination holds before the write
)

// prepare makes a write of n bytes to memory behind a channel. The source and
// the destination begin off bytes after a multiple of 64.
func (b *bench) prepare(to *channel, n, off int) *write {
	w := &write{src: b.area(&b.own.channel, n+off).part(off, n), dst: b.area(to, n+off+2*guard), guard: guard + off,
		word: b.notification(to), to: to.offset}
	b.refresh(w)
	return w
}

// refresh gives a write new data.
func (b *bench) refresh(w *write) {
	seed := b.word()
	for i := range w.src.b {
		w.src.b[i] = byte(seed>>(i%8*8)) ^ byte(i) ^ byte(i>>8)
	}
	for i := range w.dst.b {
		w.dst.b[i] = stale
	}
	w.src.show()
	w.dst.see()
	w.note = [4]int32{int32(len(w.src.b)), int32(seed), int32(seed >> 63), int32(seed >> 32)}
	w.rearm()
}

// rearm sets the notification back to -1.
func (w *write) rearm() {
	for i := range 16 {
		w.word.b[i] = 0xff
	}
	w.word.see()
}

// third is the word of the notification that is written last.
func (w *write) third() int32 {
	w.word.see()
	return int32(mem.U32(w.word.b, 8).Load())
}

func (w *write) notified() bool { t := w.third(); return t == 0 || t == 1 }

// target is where the data belong.
func (w *write) target() []byte { return w.dst.b[w.guard : w.guard+len(w.src.b)] }

func (w *write) arrived() bool {
	w.dst.see()
	return bytes.Equal(w.target(), w.src.b)
}

// start submits a write to descriptor k of a channel.
func (b *bench) start(c *channel, k int, w *write) error {
	if !b.wait(func() bool { return c.done(k) }) {
		return c.busy(k, b.waited)
	}
	or := func(other, addr uint64) uint64 {
		if other != 0 {
			return other
		}
		return addr
	}
	note := make([]byte, 16)
	for i, v := range w.note {
		binary.LittleEndian.PutUint32(note[4*i:], uint32(v))
	}
	w.k = k
	c.at(k, mmio.DescSrc).Store(or(w.srcAddr, w.src.addr))
	c.at(k, mmio.DescDst).Store(or(w.dstAddr, w.dst.addr+uint64(w.guard)+w.to))
	c.at(k, mmio.DescBytes).Store(uint64(len(w.src.b)))
	c.at(k, mmio.DescNotif).Store(or(w.noteAddr, w.word.addr+w.to))
	c.at(k, mmio.DescData).Store(binary.LittleEndian.Uint64(note))
	c.at(k, mmio.DescData+8).Store(binary.LittleEndian.Uint64(note[8:]))
	c.submit[k]++
	c.at(k, mmio.DescSubmit).Store(c.submit[k])
	return nil
}

func (c *channel) busy(k int, after time.Duration) error {
	return fmt.Errorf("a write stays in descriptor %d: SUBMIT was set to %d and DONE is still %d after %v: the RDMA "+
		"engine does not see the store to SUBMIT, or is stuck in the transfer", k, c.submit[k],
		c.at(k, mmio.DescDone).Load(), after)
}

// end waits for a write to end as want says.
func (b *bench) end(c *channel, w *write, want uint64, what string) error {
	if !b.wait(func() bool { return c.done(w.k) }) {
		if w.notified() {
			return fmt.Errorf("%s was notified, but DONE of descriptor %d stays at %d", what, w.k,
				c.at(w.k, mmio.DescDone).Load())
		}
		return c.busy(w.k, b.waited)
	}
	if code := c.at(w.k, mmio.DescError).Load(); code != want {
		if watch(late, func() bool { code = c.at(w.k, mmio.DescError).Load(); return code == want }) {
			return errorLate(w.k)
		}
		return fmt.Errorf("ERROR of %s is %s; want %s", what, meaning(code), meaning(want))
	}
	return nil
}

// complete waits for a write to end well and compares everything.
func (b *bench) complete(c *channel, w *write) error {
	what := fmt.Sprintf("a write of %d bytes", len(w.src.b))
	if err := b.end(c, w, mmio.OK, what); err != nil {
		return err
	}
	return b.compare(w, what)
}

// compare compares everything, after a write has ended.
func (b *bench) compare(w *write, what string) error {
	if !b.wait(w.notified) {
		if t := w.third(); t != -1 {
			return fmt.Errorf("%s has ended, and word 2 of its notification is %d, where %d was to be written", what, t,
				w.note[2])
		}
		return fmt.Errorf("%s is said to have ended well, but its notification never came: word 2 is still -1", what)
	}
	w.word.see() // again: word 2 was the last to be written
	var got [4]int32
	for i := range got {
		got[i] = int32(mem.U32(w.word.b, 4*i).Load())
	}
	if got != w.note {
		return fmt.Errorf("%s has the notification %v instead of %v: the engine writes words 0, 1 and 3 before word 2",
			what, got, w.note)
	}
	if !w.arrived() {
		return w.wrong(what)
	}
	for i, v := range w.dst.b {
		if v != stale && (i < w.guard || i >= w.guard+len(w.src.b)) {
			return fmt.Errorf("%s has also written the byte %d bytes from its destination, where nothing belongs", what,
				i-w.guard)
		}
	}
	return nil
}

// wrong says where the data differ.
func (w *write) wrong(what string) error {
	first, last, n := -1, 0, 0
	for i, v := range w.target() {
		if v != w.src.b[i] {
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	untouched := true
	for _, v := range w.target()[first : last+1] {
		untouched = untouched && v == stale
	}
	if untouched {
		return fmt.Errorf("%s is said to have ended well, but bytes %d to %d of it were never written", what, first,
			last)
	}
	return fmt.Errorf("%s has put wrong bytes into its destination: %d of them, the first at %d, the last at %d", what,
		n,
		first, last)
}

// sizes have ends within a word, a line, a page and a burst, and beside them.
var sizes = []int{0, 1, 7, 8, 63, 64, 65, 500, 4095, 4096, 4097, 65535, 131072, 131073, 300_001}

// sizes are those that there is room for.
func (b *bench) sizes() (n []int) {
	for _, size := range sizes {
		if size <= b.most() {
			n = append(n, size)
		}
	}
	return n
}

// largest is the last of sizes.
func (b *bench) largest() int { return slices.Max(b.sizes()) }

// write writes each size to and from every alignment that matters.
func (b *bench) write() (string, error) {
	c := &b.own.channel
	for i, n := range b.sizes() {
		for _, to := range b.ends() {
			b.forget()
			w := b.prepare(to, n, i*3%16)
			if n == 0 {
				w.dstAddr = 1<<mmio.ChannelShift - 1 // counts for nothing
			}
			if err := b.start(c, i%mmio.Descriptors, w); err != nil {
				return "", err
			}
			if err := b.complete(c, w); err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("of 0 to %d bytes, with ends in the middle of words", b.largest()), nil
}

// ends are the channels of this process's group.
func (b *bench) ends() (all []*channel) {
	all = append(all, &b.own.channel)
	if b.other != nil {
		all = append(all, &b.other.channel)
	}
	return all
}

// dataFirst looks at the data in the moment in which the notification is there.
func (b *bench) dataFirst() (string, error) {
	c := &b.own.channel
	w := b.prepare(c, b.largest(), 0)
	n, err := often(150, func(int) error {
		b.refresh(w)
		if err := b.start(c, 0, w); err != nil {
			return err
		}
		if !b.wait(w.notified) {
			return b.complete(c, w) // says what is missing
		}
		got, want := w.target(), w.src.b
		w.dst.part(w.guard+len(want)-guard, guard).see()
		early := !bytes.Equal(got[len(got)-guard:], want[len(want)-guard:]) || !w.arrived()
		if early && b.wait(func() bool { return c.done(0) && w.arrived() }) {
			return fmt.Errorf("the notification of a write of %d bytes was there before its data: the engine has to "+
				"see all data in place before it writes the notification", len(want))
		}
		return b.complete(c, w)
	})
	return fmt.Sprintf("in %d writes", n), err
}

// oneNotification sets a notification back to -1 and looks whether it comes again.
func (b *bench) oneNotification() (string, error) {
	c := &b.own.channel
	w, others := b.prepare(c, 64, 0), b.prepare(c, 64, 0)
	for i := range 20 {
		b.refresh(w)
		if err := b.start(c, i%mmio.Descriptors, w); err != nil {
			return "", err
		}
		if err := b.complete(c, w); err != nil {
			return "", err
		}
		w.rearm()
		for k := range 3 {
			b.refresh(others)
			if err := b.start(c, k, others); err != nil {
				return "", err
			}
			if err := b.complete(c, others); err != nil {
				return "", err
			}
		}
		if watch(2*time.Millisecond, w.notified) {
			return "", fmt.Errorf("the notification of a write came twice: after it was seen and set back to -1 it " +
				"was written again")
		}
	}
	return "of each of 20 writes", nil
}

// manyWrites has all descriptors of a channel at work at once.
func (b *bench) manyWrites() (string, error) {
	c, n := &b.own.channel, 0
	most := b.largest() / mmio.Descriptors
	for round := range 4 {
		b.forget()
		var ws []*write
		for k := range mmio.Descriptors {
			ends := b.ends()
			ws = append(ws, b.prepare(ends[k%len(ends)], 1+int(b.word()%uint64(most)), (k+round)%8))
		}
		for k, w := range ws {
			if err := b.start(c, k, w); err != nil {
				return "", err
			}
		}
		for _, w := range ws {
			if err := b.complete(c, w); err != nil {
				return "", fmt.Errorf("with all %d descriptors at work, %w", len(ws), err)
			}
			n++
		}
	}
	return fmt.Sprintf("%d, %d at a time", n, mmio.Descriptors), nil
}

// fails starts a write that must end with an error, and without a notification.
func (b *bench) fails(w *write, want uint64, what string) error {
	c := &b.own.channel
	if err := b.start(c, 1, w); err != nil {
		return err
	}
	if err := b.end(c, w, want, what); err != nil {
		return err
	}
	if w.third() != -1 {
		return fmt.Errorf("%s has failed, and its notification was written all the same", what)
	}
	return nil
}

// nowhereRDMA is an Exanet address on a node that does not exist.
func (b *bench) nowhereRDMA() uint64 {
	node := uint8(255)
	if b.own.channel.Node == 255 {
		node = 254
	}
	return mmio.ChannelOffset(node, 0) + 4096
}

func (b *bench) writeNowhere() (string, error) {
	c := &b.own.channel
	w := b.prepare(c, 64, 0)
	w.dstAddr, w.noteAddr = b.nowhereRDMA(), b.nowhereRDMA()
	if err := b.fails(w, mmio.BadRoute, "a write to a node that does not exist"); err != nil {
		return "", err
	}
	w.dstAddr = 0
	if err := b.fails(w, mmio.BadRoute, "a write with its notification to a node that does not exist"); err != nil {
		return "", err
	}
	if n := b.blocks[channels].head.count; n < 256 {
		w.dstAddr = mmio.ChannelOffset(uint8(c.Node), uint8(n)) + 4096
		w.noteAddr = w.dstAddr
		if err := b.fails(w, mmio.BadRoute, "a write to a channel that does not exist"); err != nil {
			return "", err
		}
	}
	return "ends with ERROR 2", nil
}

func (b *bench) writeProtection() (string, error) {
	if b.foreign == nil {
		return "", notTried("no channel of another protection group could be had to write to")
	}
	w := b.prepare(&b.foreign.channel, 64, 0)
	what := fmt.Sprintf("a write from a channel with protection ID %d to one with %d", b.own.channel.PDID,
		b.foreign.channel.PDID)
	refused := func() uint64 { return b.foreign.channel.Reg(mmio.RegRefused).Load() }
	before := refused()
	if err := b.fails(w, mmio.BadPDID, what); err != nil {
		if w.arrived() {
			return "", fmt.Errorf("%w; its data were written", err)
		}
		return "", err
	}
	if !b.wait(func() bool { return refused() == before+1 }) {
		return "", fmt.Errorf("%s was refused, and REFUSED of that channel has gone from %d to %d", what, before,
			refused())
	}
	return "ends with ERROR 1", nil
}

func (b *bench) writeToNobody() (string, error) {
	if b.other == nil {
		return "", notTried("there is one free interface only")
	}
	w := b.prepare(&b.own.channel, 64, 0)
	w.dstAddr, w.noteAddr = b.other.channel.offset+4096, b.other.channel.offset+4096
	if err := b.giveUpOther(); err != nil {
		return "", err
	}
	err := b.fails(w, mmio.Gone, "a write to a channel that nobody holds")
	return "ends with ERROR 3", errors.Join(err, b.retake())
}

// unmappedAddress is a local address at which there is nothing.
func (b *bench) unmappedAddress() uint64 {
	if p := b.own.channel.Pinned; p != nil {
		return uint64(len(p.Bytes()))
	}
	return 4096
}

func (b *bench) unmapped() (string, error) {
	c := &b.own.channel
	bad := b.unmappedAddress()
	for _, t := range []struct {
		what string
		w    write
	}{
		{"a write whose source is not mapped", write{srcAddr: bad}},
		{"a write whose destination is not mapped", write{dstAddr: c.offset + bad}},
		{"a write whose notification is not mapped", write{noteAddr: c.offset + bad}},
	} {
		w := b.prepare(c, 64, 0)
		w.srcAddr, w.dstAddr, w.noteAddr = t.w.srcAddr, t.w.dstAddr, t.w.noteAddr
		if err := b.fails(w, mmio.Fault, t.what); err != nil {
			return "", err
		}
	}
	return "source, destination, notification: ERROR 4", nil
}

func (b *bench) misaligned() (string, error) {
	c := &b.own.channel
	for _, off := range []uint64{4, 8} {
		w := b.prepare(c, 64, 0)
		w.noteAddr = c.offset + w.word.addr + off
		what := fmt.Sprintf("a write with its notification %d bytes after a multiple of 16", off)
		if err := b.fails(w, mmio.BadAlign, what); err != nil {
			return "", err
		}
	}
	return "ends with ERROR 5", nil
}

func errorLate(k int) error {
	return fmt.Errorf("DONE of descriptor %d was written before ERROR: whoever polls DONE reads the ERROR of an "+
		"earlier write; ERROR has to be in place first", k)
}

// errorBeforeDone has one descriptor end well and badly in turn and reads ERROR
// in the moment in which DONE says that it is there.
func (b *bench) errorBeforeDone() (string, error) {
	c, w := &b.own.channel, b.prepare(&b.own.channel, 0, 0)
	n, err := often(rounds, func(round int) error {
		want := uint64(mmio.OK)
		if w.noteAddr = 0; round%2 == 1 {
			w.noteAddr, want = b.nowhereRDMA(), mmio.BadRoute
		}
		if err := b.start(c, 0, w); err != nil {
			return err
		}
		return b.end(c, w, want, "a write of 0 bytes")
	})
	return fmt.Sprintf("in %d writes", n), err
}

// agent asks the agent of this node to write, by a message.
func (b *bench) agent() (string, error) {
	if !b.blocks[channels].head.flag(mmio.FlagAgent) {
		return "", notTried("the node has no agent")
	}
	c, own := &b.own.channel, b.own.box
	to := mmio.MailboxAddress(own.Node, own.PDID, mmio.AgentIndex)
	for _, n := range []int{0, 100, b.largest()} {
		b.forget()
		w := b.prepare(c, n, 0)
		ask := func(src uint64) (m message) {
			note := make([]byte, 16)
			for i, v := range w.note {
				binary.LittleEndian.PutUint32(note[4*i:], uint32(v))
			}
			m[mmio.AgentData/8] = binary.LittleEndian.Uint64(note)
			m[mmio.AgentData/8+1] = binary.LittleEndian.Uint64(note[8:])
			m[mmio.AgentSrc/8], m[mmio.AgentBytes/8] = src+c.offset, uint64(n)
			m[mmio.AgentDst/8] = w.dst.addr + uint64(w.guard) + c.offset
			m[mmio.AgentNotif/8] = w.word.addr + c.offset
			return m
		}
		what := fmt.Sprintf("a message that asks the agent for %d bytes", n)
		if err := b.send(&b.own.port, to, ask(w.src.addr), mmio.OK, what); err != nil {
			return "", err
		}
		if err := b.compare(w, fmt.Sprintf("a write of %d bytes by the agent", n)); err != nil {
			return "", err
		}
		if n == 0 {
			continue
		}
		w.rearm()
		if err := b.send(&b.own.port, to, ask(b.unmappedAddress()), mmio.Fault,
			what+" that are not mapped"); err != nil {
			return "", err
		}
	}
	return "writes what a message asks for", nil
}
