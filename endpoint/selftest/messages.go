package selftest

import (
	"errors"
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// message is the 64 bytes of a message.
type message [mmio.MessageSize / 8]uint64

// port is a packetizer page.
type port struct {
	*mmio.Page
	seq uint64 // number of the last message
}

// begin goes on from the counters of the former owner.
func (p *port) begin() {
	p.seq = p.Reg(mmio.RegSend).Load()
	for k := range mmio.Windows {
		if p.at(k, mmio.WinSeq).Load() > p.seq {
			p.at(k, mmio.WinSeq).Store(p.at(k, mmio.WinDone).Load())
		}
	}
}

// at is a register of a window.
func (p *port) at(window, reg int) mmio.Reg {
	return p.Reg(mmio.WindowBase + window*mmio.WindowSize + reg)
}

func (p *port) free(window int) bool {
	return p.at(window, mmio.WinDone).Load() == p.at(window, mmio.WinSeq).Load()
}

// fill puts a message into a window. It leaves when submit is called.
func (p *port) fill(window int, dest uint64, m message) {
	p.seq++
	at := mmio.WindowBase + window*mmio.WindowSize
	copy(p.Words(at+mmio.WinData, len(m)), m[:])
	p.at(window, mmio.WinSeq).Store(p.seq)
	p.at(window, mmio.WinDest).Store(dest)
}

func (p *port) submit() { p.Reg(mmio.RegSend).Store(p.seq) }

// box is a mailbox.
type box struct {
	*mmio.Page
	taken uint64 // messages consumed
	extra int    // of them, those that nobody has sent
}

func (x *box) begin() {
	x.taken = x.tail()
	x.Reg(mmio.RegHead).Store(x.taken)
}

func (x *box) tail() uint64 { return x.Reg(mmio.RegTail).Load() }

func (x *box) address() uint64 { return mmio.MailboxAddress(x.Node, x.PDID, uint16(x.Index)) }

// oldest is the message at HEAD.
func (x *box) oldest() (m message) {
	copy(m[:], x.Words(mmio.SlotBase+int(x.taken%uint64(x.Units))*mmio.MessageSize, len(m)))
	return m
}

// release consumes the message at HEAD.
func (x *box) release() {
	x.taken++
	x.Reg(mmio.RegHead).Store(x.taken)
}

// make makes a message that has not been before.
func (b *bench) make() (m message) {
	for i := range m {
		m[i] = b.word()
	}
	return m
}

// stays says of a message that has not left its window why that is wrong.
func (p *port) stays(window int, after time.Duration) error {
	return fmt.Errorf("a message stays in window %d: SEND was set to %d, SEQ is %d, and DONE is still %d after %v: "+
		"the packetizer does not see the store to SEND, or has forgotten it", window, p.seq,
		p.at(window, mmio.WinSeq).Load(), p.at(window, mmio.WinDone).Load(), after)
}

// window waits for a free window.
func (b *bench) window(p *port) (window int, err error) {
	if !b.wait(func() bool {
		for window = range mmio.Windows {
			if p.free(window) {
				return true
			}
		}
		return false
	}) {
		return 0, p.stays(0, b.waited)
	}
	return window, nil
}

// send sends one message and waits for RESULT, which must be want.
func (b *bench) send(p *port, dest uint64, m message, want uint64, what string) error {
	k, err := b.window(p)
	if err != nil {
		return err
	}
	p.fill(k, dest, m)
	p.submit()
	if !b.wait(func() bool { return p.free(k) }) {
		return p.stays(k, b.waited)
	}
	if r := p.at(k, mmio.WinResult).Load(); r != want {
		// It may be on its way: see resultBeforeDone.
		if watch(late, func() bool { r = p.at(k, mmio.WinResult).Load(); return r == want }) {
			return resultLate(k)
		}
		return fmt.Errorf("RESULT of %s is %s; want %s", what, meaning(r), meaning(want))
	}
	return nil
}

// deliver sends a message to a mailbox and takes it out.
func (b *bench) deliver(p *port, x *box, m message) error {
	if err := b.send(p, x.address(), m, mmio.OK, "a message to a mailbox of this process"); err != nil {
		return err
	}
	return b.receive(x, m)
}

// receive takes a message out of a mailbox that has been sent there.
func (b *bench) receive(x *box, want message) error {
	if !b.wait(func() bool { return x.tail() != x.taken }) {
		return fmt.Errorf("RESULT says that a message was delivered to mailbox %d, but TAIL stays at %d: the mailbox "+
			"does not count it, or it went elsewhere", x.Index, x.tail())
	}
	got := x.oldest()
	if got != want {
		if b.wait(func() bool { return x.oldest() == want }) {
			return fmt.Errorf("TAIL counted a message before its slot was filled: the mailbox has to write the slot, " +
				"and TAIL when the slot is in place")
		}
		return differs(got, want)
	}
	x.release()
	return nil
}

func differs(got, want message) error {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("a message arrives damaged: bytes %d-%d are %#016x instead of %#016x", 8*i, 8*i+7, got[i],
				want[i])
		}
	}
	return nil
}

// quiet takes everything out of the mailboxes, so that the next check begins
// anew. After a check that has found nothing wrong there is nothing in them.
func (b *bench) quiet(well bool) {
	b.wait(func() bool {
		idle := true
		for _, s := range b.sets() {
			for s.box.tail() > s.box.taken {
				s.box.release()
				if well {
					s.box.extra++
				}
			}
			for k := range mmio.Windows {
				idle = idle && s.port.free(k)
			}
		}
		return idle
	})
}

// message sends a message in every direction that there is.
func (b *bench) message() (string, error) {
	ends := []*set{b.own}
	if b.other != nil {
		ends = append(ends, b.other)
	}
	n := 0
	for _, from := range ends {
		for _, to := range ends {
			if err := b.deliver(&from.port, &to.box, b.make()); err != nil {
				return "", err
			}
			n++
		}
	}
	return fmt.Sprintf("%d of 64 bytes arrived whole", n), nil
}

// A check that waits for a coincidence goes on for so many rounds, or so long.
const (
	rounds   = 4000
	roundsIn = 400 * time.Millisecond
)

// often calls f until it fails or has been called often enough.
func often(most int, f func(i int) error) (n int, err error) {
	end := time.Now().Add(roundsIn)
	for n = 0; n < most && (n < 100 || time.Now().Before(end)); n++ {
		if err = f(n); err != nil {
			break
		}
	}
	return n, err
}

// slotBeforeTail looks into the slot in the moment in which TAIL counts it.
func (b *bench) slotBeforeTail() (string, error) {
	p, x := &b.own.port, &b.own.box
	n, err := often(rounds, func(int) error {
		m := b.make()
		k, err := b.window(p)
		if err != nil {
			return err
		}
		p.fill(k, x.address(), m)
		p.submit()
		if !b.wait(func() bool { return x.tail() != x.taken }) {
			if p.free(k) {
				return b.receive(x, m)
			}
			return p.stays(k, b.waited)
		}
		return b.receive(x, m)
	})
	return fmt.Sprintf("in %d messages", n), err
}

// order sends bursts, in windows of any order, submitted one by one and together.
func (b *bench) order() (string, error) {
	p, x := &b.own.port, &b.own.box
	burst := min(mmio.Windows, x.Units)
	n, err := often(rounds, func(round int) error {
		for k := range mmio.Windows { // all windows, which the burst takes in another order each time
			if !b.wait(func() bool { return p.free(k) }) {
				return p.stays(k, b.waited)
			}
		}
		first, step := int(b.word()%mmio.Windows), 1+2*int(b.word()%(mmio.Windows/2))
		sent := make([]message, burst)
		for i := range sent {
			sent[i] = b.make()
			p.fill((first+i*step)%mmio.Windows, x.address(), sent[i])
			if round%2 == 0 {
				p.submit()
			}
		}
		p.submit()
		return b.inOrder(p, x, sent)
	})
	return fmt.Sprintf("in %d bursts of %d messages", n, burst), err
}

// inOrder takes messages out of a mailbox that must come in this order.
func (b *bench) inOrder(p *port, x *box, sent []message) error {
	for i, want := range sent {
		if !b.wait(func() bool { return x.tail() != x.taken }) {
			for k := range mmio.Windows {
				if !p.free(k) {
					return p.stays(k, b.waited)
				}
			}
			return fmt.Errorf("message %d of %d has left its window, and TAIL does not count it: it is lost", i+1,
				len(sent))
		}
		got := x.oldest()
		for k, other := range sent {
			switch {
			case k < i && got == other:
				return fmt.Errorf("message %d of %d arrived twice", k+1, len(sent))
			case k > i && got == other:
				return fmt.Errorf("message %d of one sender arrived as number %d: messages of one sender to one "+
					"mailbox keep the order of their numbers", k+1, i+1)
			}
		}
		if err := b.receive(x, want); err != nil {
			return err
		}
	}
	return nil
}

// behind is how many messages wait for a full mailbox: as many as a process sends there at most.
const behind = mmio.Windows / 4

// fullMailbox fills a mailbox and looks whether it refuses, whether that holds
// up others, and whether everything comes when there is room.
func (b *bench) fullMailbox() (string, error) {
	p, x := &b.own.port, &b.own.box
	if x.Units > 1<<16 {
		return "", notTried(fmt.Sprintf("the mailbox holds %d messages", x.Units))
	}
	full := x.taken + uint64(x.Units)
	overrun := func() error {
		if x.tail() > full {
			return fmt.Errorf("TAIL is %d and HEAD is %d, but the mailbox holds %d messages: it does not look at HEAD "+
				"and writes over messages that nobody has read", x.tail(), x.taken, x.Units)
		}
		return nil
	}
	sent := make([]message, x.Units+behind)
	for i := range sent {
		k, err := b.window(p)
		if err != nil {
			return "", err
		}
		sent[i] = b.make()
		p.fill(k, x.address(), sent[i])
		p.submit()
	}
	if !b.wait(func() bool { return x.tail() >= full }) {
		return "", fmt.Errorf("TAIL is %d after %v, and the mailbox has room for messages up to %d: it refuses too "+
			"early",
			x.tail(), b.waited, full)
	}
	waiting := func() (n int) {
		for k := range mmio.Windows {
			if !p.free(k) {
				n++
			}
		}
		return n
	}
	watch(20*time.Millisecond, func() bool { return x.tail() > full || waiting() < behind })
	if err := overrun(); err != nil {
		return "", err
	}
	if n := waiting(); n < behind {
		return "", fmt.Errorf("the mailbox is full, and %d of %d messages for it have left their windows: a message "+
			"that is refused stays in its window until there is room", behind-n, behind)
	}
	if b.other != nil {
		if err := b.deliver(p, &b.other.box, b.make()); err != nil {
			return "", fmt.Errorf("beside messages that wait for a full mailbox, one to another mailbox does not "+
				"pass: %w", err)
		}
	}
	if err := b.inOrder(p, x, sent); err != nil {
		return "", fmt.Errorf("after the mailbox was full: %w", err)
	}
	return fmt.Sprintf("refuses after %d messages, and delivers the rest later", x.Units), nil
}

// arrived says that a message is somewhere that must not be there.
func (b *bench) arrived(what string) error {
	for _, s := range b.sets() {
		if s.box.tail() != s.box.taken {
			return fmt.Errorf("%s was delivered to mailbox %d", what, s.box.Index)
		}
	}
	return nil
}

// refused sends a message that must be dropped with a RESULT.
func (b *bench) refused(dest uint64, want uint64, what string) error {
	if err := b.send(&b.own.port, dest, b.make(), want, what); err != nil {
		if e := b.arrived(what); e != nil {
			return fmt.Errorf("%w; %w", err, e)
		}
		return err
	}
	return b.arrived(what)
}

func (b *bench) messageNowhere() (string, error) {
	own := b.own.box
	if err := b.refused(b.nowhere(), mmio.BadRoute, "a message to node 65535, which does not exist,"); err != nil {
		return "", err
	}
	if n := b.blocks[mailboxes].head.count; n < mmio.AgentIndex {
		err := b.refused(mmio.MailboxAddress(own.Node, own.PDID, uint16(n)), mmio.BadRoute,
			fmt.Sprintf("a message to mailbox %d, which does not exist,", n))
		if err != nil {
			return "", err
		}
	}
	return "dropped with RESULT 2", nil
}

// nowhere is the address of a mailbox on a node that does not exist.
func (b *bench) nowhere() uint64 { return mmio.MailboxAddress(0xffff, b.own.box.PDID, 0) }

func (b *bench) messageProtection() (string, error) {
	own := b.own.box
	type try struct {
		dest uint64
		what string
	}
	boxes := []*box{&b.own.box}
	tries := []try{{mmio.MailboxAddress(own.Node, own.PDID+1, uint16(own.Index)),
		fmt.Sprintf("a message with protection ID %d in its address, to a mailbox with %d,", own.PDID+1, own.PDID)}}
	if f := b.foreign; f != nil {
		boxes = append(boxes, &f.box)
		for _, pdid := range []uint32{f.box.PDID, own.PDID} {
			tries = append(tries, try{mmio.MailboxAddress(f.box.Node, pdid, uint16(f.box.Index)),
				fmt.Sprintf("a message from a page with protection ID %d to a mailbox with %d (its address has %d)",
					own.PDID, f.box.PDID, pdid)})
		}
	}
	var before uint64
	for _, x := range boxes {
		before += x.Reg(mmio.RegRefused).Load()
	}
	for _, t := range tries {
		if err := b.refused(t.dest, mmio.BadPDID, t.what); err != nil {
			return "", err
		}
	}
	var counted uint64
	b.wait(func() bool {
		counted = -before
		for _, x := range boxes {
			counted += x.Reg(mmio.RegRefused).Load()
		}
		return counted == uint64(len(tries))
	})
	if counted != uint64(len(tries)) {
		return "", fmt.Errorf("%d messages were refused for their protection ID, and REFUSED of the mailboxes "+
			"counts %d",
			len(tries), counted)
	}
	if b.foreign == nil {
		return "dropped with RESULT 1; no mailbox of another group could be had to send to", nil
	}
	return "dropped with RESULT 1, at mailboxes of this group and of another", nil
}

func (b *bench) messageToNobody() (string, error) {
	if b.other == nil {
		return "", notTried("there is one free interface only")
	}
	dest := b.other.box.address()
	if err := b.giveUpOther(); err != nil {
		return "", err
	}
	err := b.refused(dest, mmio.Gone, "a message to a mailbox that nobody holds")
	return "dropped with RESULT 3", errors.Join(err, b.retake())
}

func resultLate(window int) error {
	return fmt.Errorf("DONE of window %d was written before RESULT: whoever polls DONE reads the RESULT of an earlier "+
		"message; RESULT has to be in place first", window)
}

// resultBeforeDone has one window give two results in turn and reads RESULT in
// the moment in which DONE says that it is there.
func (b *bench) resultBeforeDone() (string, error) {
	p, x := &b.own.port, &b.own.box
	const window = 0
	n, err := often(rounds, func(round int) error {
		if !b.wait(func() bool { return p.free(window) }) {
			return p.stays(window, b.waited)
		}
		dest, want := x.address(), uint64(mmio.OK)
		if round%2 == 1 {
			dest, want = b.nowhere(), mmio.BadRoute
		}
		m := b.make()
		p.fill(window, dest, m)
		p.submit()
		if !b.wait(func() bool { return p.free(window) }) {
			return p.stays(window, b.waited)
		}
		if r := p.at(window, mmio.WinResult).Load(); r != want {
			if b.wait(func() bool { return p.at(window, mmio.WinResult).Load() == want }) {
				return resultLate(window)
			}
			return fmt.Errorf("RESULT is %s; want %s", meaning(r), meaning(want))
		}
		if want == mmio.OK {
			return b.receive(x, m)
		}
		return nil
	})
	return fmt.Sprintf("in %d messages", n), err
}
