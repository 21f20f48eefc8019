package selftest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/mem"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
)

// bench is what the checks work with.
type bench struct {
	reader  *mmio.Reader  // of headers; with a driver, a page that is held belongs to an open file of its own
	limit   time.Duration // of a wait
	shorter time.Duration // the limit when a wait has failed already
	left    time.Duration // of all waits together
	waited  time.Duration // in the last wait that has failed
	pid     uint64
	blocks  [blockCount]block

	own, other, foreign *set // the last two may be nil
	random              uint64
	areas               [][]byte // that the device may write to
}

// set is an interface of each block, with what its owner has to remember.
type set struct {
	port    port
	box     box
	channel channel
}

func (s *set) pages() []*mmio.Page { return []*mmio.Page{s.port.Page, s.box.Page, s.channel.Page} }

func newBench(text string, limit time.Duration) (*bench, error) {
	path, base, err := endpoint.Place(text)
	if err != nil {
		return nil, err
	}
	r, err := mmio.NewReader(path)
	if err != nil {
		return nil, err
	}
	b := &bench{reader: r, limit: limit, shorter: limit / 20, left: allWaits * limit,
		pid: uint64(os.Getpid()), random: uint64(time.Now().UnixNano())}
	if err := b.locate(path, base); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return b, nil
}

func (b *bench) claims() bool { return b.blocks[mailboxes].head.claims() }

// take takes a page of each block with a protection ID, 0: any.
func (b *bench) take(pdid uint32) (s *set, err error) {
	s = &set{}
	if s.box.Page, err = mmio.Claim(b.blocks[mailboxes].Block, mmio.KindMailbox, pdid); err != nil {
		return nil, err
	}
	if pdid == 0 && b.claims() {
		pdid = s.box.PDID
	}
	if s.port.Page, err = mmio.Claim(b.blocks[packetizers].Block, mmio.KindPacketizer, pdid); err == nil {
		s.channel.Page, err = mmio.Claim(b.blocks[channels].Block, mmio.KindChannel, pdid)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	if b.claims() {
		sys.AllowAttach() // the software device reaches our memory as another process
	}
	s.port.begin()
	s.box.begin()
	s.channel.begin()
	return s, nil
}

func (s *set) release() (err error) {
	for _, p := range s.pages() {
		if p != nil {
			err = errors.Join(err, p.Release())
		}
	}
	return err
}

func (b *bench) sets() (all []*set) {
	for _, s := range []*set{b.own, b.other, b.foreign} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

func (b *bench) close() {
	for _, s := range b.sets() {
		_ = s.release()
	}
	_ = b.reader.Close()
	runtime.KeepAlive(b.areas) // the device may have written there until now
}

// Rounds of a wait that do nothing else, so that what is seen is what the
// device has just stored, and those that let others run. A round counts at most
// longestRound: else this process was not running, and so perhaps neither was a
// device in software.
const (
	spinRounds   = 200
	yieldRounds  = 20000
	longestRound = 5 * time.Millisecond
)

// wait polls until cond holds, and reports false if the limit is over first, or the time for all waits.
func (b *bench) wait(cond func() bool) bool {
	limit := min(b.limit, b.left)
	left, last := limit, time.Now()
	for round := 0; !cond(); round++ {
		switch {
		case round < spinRounds:
			continue
		case round < yieldRounds:
			runtime.Gosched()
		default:
			time.Sleep(50 * time.Microsecond)
		}
		now := time.Now()
		passed := min(now.Sub(last), longestRound)
		b.left = max(b.left-passed, 0)
		left -= passed
		if last = now; left >= 0 {
			continue
		}
		if cond() {
			return true
		}
		b.limit, b.waited = b.shorter, limit.Round(time.Millisecond)
		return false
	}
	return true
}

// watch polls for a while and reports whether cond holds at any time.
func watch(d time.Duration, cond func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		if cond() {
			return true
		}
	}
	return cond()
}

// word is another random number.
func (b *bench) word() uint64 {
	b.random = b.random*6364136223846793005 + 1442695040888963407
	return b.random ^ b.random>>29
}

// meaning is what a code of RESULT or ERROR stands for.
func meaning(code uint64) string {
	names := []string{"done", "protection IDs differ", "no such node or interface", "nobody holds the interface",
		"an address is not mapped", "the notification address is not a multiple of 16"}
	if code < uint64(len(names)) {
		return fmt.Sprintf("%d, %s", code, names[code])
	}
	return fmt.Sprintf("%d, which means nothing", code)
}

// area is memory of this process that the device reaches through a channel.
type area struct {
	b      []byte
	addr   uint64       // as the device knows it
	pinned *mmio.Pinned // whose part it is, nil: the device knows virtual addresses
}

// area allocates n bytes at a multiple of a line, until forget.
func (b *bench) area(c *channel, n int) area {
	if p := c.Pinned; p != nil {
		at := c.used
		c.used += (n + mem.CacheLine - 1) &^ (mem.CacheLine - 1)
		return area{p.Bytes()[at : at+n : at+n], uint64(at), p}
	}
	raw := make([]byte, n+mem.CacheLine)
	pad := int(-mem.Addr(raw) % mem.CacheLine)
	b.areas = append(b.areas, raw)
	return area{b: raw[pad : pad+n : pad+n], addr: mem.Addr(raw) + uint64(pad)}
}

// words is how many notification words in pinned memory are used in turn.
const words = 128

// notification allocates a line for a notification, which is not where other areas are:
// a device that notifies too late, or again, does no harm there.
func (b *bench) notification(c *channel) area {
	p := c.Pinned
	if p == nil {
		return b.area(c, mem.CacheLine)
	}
	at := len(p.Bytes()) - (1+c.word%words)*mem.CacheLine
	c.word++
	return area{p.Bytes()[at : at+mem.CacheLine : at+mem.CacheLine], uint64(at), p}
}

// forget gives up all areas of pinned memory. Others are kept: who knows what
// the device still writes there.
func (b *bench) forget() {
	for _, s := range b.sets() {
		s.channel.used = 0
	}
}

// most is how many bytes one write may have, so that there is room for two.
func (b *bench) most() int {
	if p := b.own.channel.Pinned; p != nil {
		return len(p.Bytes()) / 8
	}
	return 1 << 20
}

// part is n bytes of an area.
func (a area) part(off, n int) area {
	return area{a.b[off : off+n : off+n], a.addr + uint64(off), a.pinned}
}

// show has the device read what this process has written there, and see has this
// process read what the device writes, until it touches the area again.
func (a area) show() {
	if a.pinned != nil {
		a.pinned.Clean(a.b)
	}
}

func (a area) see() {
	if a.pinned != nil {
		a.pinned.Purge(a.b)
	}
}
