package regs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/endpoint"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

// A random program for the three blocks, against a model: endpoints of one group on several nodes, and a stranger of
// another group. One goroutine does everything, so the model knows what each endpoint must see next.
type conformance struct {
	*rand.Rand
	d        *Device
	ends     []*endpoint.Endpoint // of the group
	stranger *endpoint.Endpoint
	book     []packetizer.Address
	patience time.Duration

	sent   uint64       // messages, each with a number
	flying [][][]uint64 // numbers of those that are on their way from each to each
	strays [2]uint64    // messages and writes of the stranger that were refused
}

const (
	ours     = 9
	another  = 8
	depth    = 4
	longest  = 2*chunk + chunk/2
	stepsRun = 60
)

// conform plays a program on a device with a fault and returns what is wrong with it.
func conform(fault Fault, seed uint64, patience time.Duration) (err error) {
	d, err := New(Config{Fault: fault, Depth: depth, Nodes: []Node{
		{ID: 1, PDIDs: []uint32{ours, another, ours}},
		{ID: 2, PDIDs: []uint32{ours}},
		{ID: 6, PDIDs: []uint32{ours}},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	c := &conformance{Rand: rand.New(rand.NewPCG(seed, 39)), d: d, patience: patience}
	attach := func(node int, pdid uint32) (e *endpoint.Endpoint, err error) {
		var b endpoint.Blocks
		b.Packetizer, b.Mailbox, b.Channel = d.Blocks(node)
		return endpoint.Attach(b, pdid)
	}
	for _, node := range []int{0, 1, 2, 0} {
		e, err := attach(node, ours)
		if err != nil {
			return err
		}
		defer e.Close()
		if e.NodeID() != uint16(d.nodes[node].id) {
			return fmt.Errorf("node %d says that it is node %d", d.nodes[node].id, e.NodeID())
		}
		c.ends, c.book = append(c.ends, e), append(c.book, e.Entry().Mailbox)
	}
	if c.stranger, err = attach(0, another); err != nil {
		return err
	}
	defer c.stranger.Close()
	for range c.ends {
		c.flying = append(c.flying, make([][]uint64, len(c.ends)))
	}
	c.rejoin()
	steps := []func() error{c.send, c.send, c.send, c.receive, c.receive, c.receive, c.write, c.write, c.fetch,
		c.intrude, c.astray, c.flood}
	for i := range stepsRun {
		if err := steps[c.IntN(len(steps))](); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return c.drain()
}

// rejoin makes everybody forget what was refused.
func (c *conformance) rejoin() {
	for _, e := range append([]*endpoint.Endpoint{c.stranger}, c.ends...) {
		e.SetBook(c.book)
	}
}

// until polls until cond holds.
func (c *conformance) until(what string, cond func() (bool, error)) error {
	for end := time.Now().Add(c.patience); ; runtime.Gosched() {
		if ok, err := cond(); ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("gave up waiting for %s", what)
		}
	}
}

// body is what message number n carries.
func body(n uint64) []byte {
	b := make([]byte, packetizer.PayloadLimit)
	for i := 0; i < len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], n<<8|uint64(i))
	}
	return b
}

// send sends a message if there is room.
func (c *conformance) send() error {
	from, to := c.IntN(len(c.ends)), c.IntN(len(c.ends))
	if len(c.flying[from][to]) < depth {
		c.push(from, to)
	}
	return nil
}

func (c *conformance) push(from, to int) bool {
	if !c.ends[from].TrySend(to, packetizer.Header{7 << 32, uint64(from), c.sent}, body(c.sent)) {
		return false
	}
	c.flying[from][to] = append(c.flying[from][to], c.sent)
	c.sent++
	return true
}

// receive takes one message, if one is on its way to a rank.
func (c *conformance) receive() error {
	to := c.IntN(len(c.ends))
	for from := range c.ends {
		if len(c.flying[from][to]) > 0 {
			return c.until("a message", func() (bool, error) { return c.take(to) })
		}
	}
	if _, _, ok := c.ends[to].Next(); ok {
		return fmt.Errorf("rank %d has got a message that nobody has sent", to)
	}
	return nil
}

// take takes the next message of a rank, if it is there, and checks it.
func (c *conformance) take(to int) (bool, error) {
	h, b, ok := c.ends[to].Next()
	if !ok {
		return false, nil
	}
	if h[1] >= uint64(len(c.ends)) {
		return true, fmt.Errorf("rank %d has got %v", to, h)
	}
	expected := c.flying[h[1]][to]
	if len(expected) == 0 || h[0] != 7<<32 || h[2] != expected[0] || !bytes.Equal(b, body(h[2])) {
		return true, fmt.Errorf("rank %d has got %v %x of those that are on their way: %v", to, h, b, expected)
	}
	c.flying[h[1]][to] = expected[1:]
	c.ends[to].Release()
	return true, nil
}

// drain receives all that is on its way.
func (c *conformance) drain() error {
	for to := range c.ends {
		for from := range c.ends {
			for len(c.flying[from][to]) > 0 {
				if err := c.until("a message", func() (bool, error) { return c.take(to) }); err != nil {
					return err
				}
			}
		}
	}
	for _, e := range c.ends {
		if err := c.until("windows", func() (bool, error) { return e.Drained(), nil }); err != nil {
			return err
		}
		if _, _, ok := e.Next(); ok {
			return errors.New("a message comes that nobody has sent")
		}
		if err := e.Refused(); err != nil {
			return err
		}
	}
	return nil
}

// flood sends more than fits and receives all of it.
func (c *conformance) flood() error {
	from, to := c.IntN(len(c.ends)), c.IntN(len(c.ends))
	if err := c.drain(); err != nil {
		return err
	}
	for range 3 * depth {
		if !c.push(from, to) {
			break
		}
		time.Sleep(20 * time.Microsecond) // for the device, which a fault lets go on
	}
	return c.drain()
}

func fill(b []byte, seed uint64) []byte {
	r := rand.NewPCG(seed, 1)
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64()|1)
	}
	return b
}

// write writes to a rank, which looks at the data as soon as it is notified.
func (c *conformance) write() error {
	from, to := c.ends[c.IntN(len(c.ends))], c.ends[c.IntN(len(c.ends))]
	n := c.size()
	src, dst := fill(make([]byte, n), c.Uint64()), make([]byte, n)
	slot, w := to.Expose(dst)
	defer to.Withdraw(slot)
	x := &rdmaeng.Transfer{Src: src, Dst: w, Notify: rdmaeng.Notification{int32(n), c.Int32(), int32(c.IntN(2)), 0}}
	from.Start(x)
	if err := c.notified(to, slot, x.Notify, src, dst); err != nil {
		return err
	}
	return c.until("the end of a write", func() (bool, error) { return from.Test(x) })
}

func (c *conformance) size() int { return 8 * c.IntN([]int{2, 100, longest / 8}[c.IntN(3)]) }

// notified waits for a notification and checks what it is for.
func (c *conformance) notified(e *endpoint.Endpoint, slot int, want rdmaeng.Notification, src, dst []byte) error {
	err := c.until("a notification", func() (bool, error) {
		s, n, ok := e.Notified()
		if ok && (s != slot || n != want) {
			return true, fmt.Errorf("slot %d was notified with %v instead of slot %d with %v", s, n, slot, want)
		}
		return ok, nil
	})
	if err == nil && !bytes.Equal(src, dst) {
		return fmt.Errorf("notified, but not all of %d bytes are there", len(src))
	}
	if _, _, ok := e.Notified(); ok && err == nil {
		return errors.New("notified twice")
	}
	return err
}

// fetch has an agent write to a rank.
func (c *conformance) fetch() error {
	from := c.IntN(len(c.ends))
	to := c.ends[c.IntN(len(c.ends))]
	n := c.size()
	src, dst := fill(make([]byte, n), c.Uint64()), make([]byte, n)
	offered, at := c.ends[from].Offer(src)
	defer c.ends[from].Withdraw(offered)
	slot, w := to.Expose(dst)
	defer to.Withdraw(slot)
	note := rdmaeng.Notification{int32(n), c.Int32(), int32(c.IntN(2)), 0}
	ask := func() (bool, error) { return to.Fetch(from, at, w, n, note), nil }
	if err := c.until("room for the agent", ask); err != nil {
		return err
	}
	return c.notified(to, slot, note, src, dst)
}

// intrude is what a stranger tries: a message, a write, and a write by an agent. Nothing of it may arrive, and the
// device counts it.
func (c *conformance) intrude() error {
	to := c.IntN(len(c.ends))
	victim := c.ends[to]
	dst := make([]byte, 64)
	slot, w := victim.Expose(dst)
	defer victim.Withdraw(slot)
	refused := func() (bool, error) {
		if !c.stranger.Drained() {
			return false, nil
		}
		if err := c.stranger.Refused(); !errors.Is(err, packetizer.ErrProtection) {
			return true, fmt.Errorf("a message of another group has not been refused: %v", err)
		}
		c.rejoin()
		return true, nil
	}
	c.stranger.TrySend(to, packetizer.Header{}, nil)
	if err := c.until("a refusal", refused); err != nil {
		return err
	}
	note := rdmaeng.Notification{64, 0, 1, 0}
	stolen, own := c.stranger.Expose(make([]byte, 64))
	defer c.stranger.Withdraw(stolen)
	c.stranger.Fetch(to, rdmaeng.Window{Addr: w.Addr}, own, 64, note)
	if err := c.until("a refusal", refused); err != nil {
		return err
	}
	x := &rdmaeng.Transfer{Src: fill(make([]byte, 64), 1), Dst: w, Notify: note}
	c.stranger.Start(x)
	err := c.until("the end of a write", func() (bool, error) {
		done, err := c.stranger.Test(x)
		if done && !errors.Is(err, rdmaeng.ErrProtection) {
			return true, fmt.Errorf("a write of another group has not been refused: %v", err)
		}
		return done, nil
	})
	if err != nil {
		return err
	}
	if _, _, ok := victim.Notified(); ok || !bytes.Equal(dst, make([]byte, 64)) {
		return errors.New("a write of another group has arrived")
	}
	c.strays[0], c.strays[1] = c.strays[0]+1, c.strays[1]+2 // one by the agent
	var messages, writes uint64
	for _, e := range c.ends {
		messages += e.Counts().Mailbox.Strangers
		writes += e.Counts().RDMA.Strangers
	}
	if got := [2]uint64{messages, writes}; got != c.strays {
		return fmt.Errorf("messages and writes of another group that were counted: %d instead of %d", got, c.strays)
	}
	return nil
}

// astray sends and writes to what does not exist.
func (c *conformance) astray() error {
	if err := c.drain(); err != nil {
		return err
	}
	e := c.ends[c.IntN(len(c.ends))]
	node := []uint8{1, 3, 200}[c.IntN(3)]
	e.SetBook([]packetizer.Address{packetizer.MailboxAddress(uint16(node), ours, 100)})
	e.TrySend(0, packetizer.Header{}, nil)
	err := c.until("an answer", func() (bool, error) {
		if !e.Drained() {
			return false, nil
		}
		if err := e.Refused(); !errors.Is(err, packetizer.ErrNoDevice) {
			return true, fmt.Errorf("a message to nowhere was reported as delivered: %v", err)
		}
		return true, nil
	})
	c.rejoin()
	if err != nil {
		return err
	}
	nowhere := mmio.ChannelOffset(node, 100) + 64
	x := &rdmaeng.Transfer{Src: make([]byte, 8), Dst: rdmaeng.Window{Addr: nowhere, Notify: nowhere}}
	e.Start(x)
	return c.until("an answer", func() (bool, error) {
		done, err := e.Test(x)
		if done && !errors.Is(err, rdmaeng.ErrNoDevice) {
			return true, fmt.Errorf("a write to nowhere was reported as written: %v", err)
		}
		return done, nil
	})
}

func TestConformance(t *testing.T) {
	programs := uint64(60)
	if testing.Short() {
		programs = 10
	}
	for seed := range programs {
		require.NoError(t, conform("", seed, time.Minute), "seed %d", seed)
	}
}

// Each fault is noticed, and nothing hangs because of it.
func TestFaultsAreNoticed(t *testing.T) {
	for _, f := range Faults {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			if underRace && (f == TailEarly || f == HeadIgnored) {
				t.Skip("the race detector sees a slot that is written while it is read, and fails the test")
			}
			var err error
			for seed := uint64(0); err == nil && seed < 50; seed++ {
				err = conform(f, seed, 2*time.Second)
			}
			require.Error(t, err)
			t.Log(err)
		})
	}
}
