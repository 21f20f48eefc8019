package regs

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
	"github.com/stretchr/testify/require"
)

const roleVariable = "EXANET_TEST_REGISTERS"

// TestMain lets the test binary be the process that dies.
func TestMain(m *testing.M) {
	if path := os.Getenv(roleVariable); path != "" {
		holdPages(path)
		return
	}
	os.Exit(m.Run())
}

// holdPages takes a page of each block of the device at path, exposes a
// buffer, says so on standard output and waits to be killed.
func holdPages(path string) {
	l := Config{Nodes: []Node{{PDIDs: []uint32{2, 2}}}}.layout(0)
	_, err := packetizer.Attach(packetizer.Block{Path: path, Offset: l.packetizer}, 2)
	must(err)
	b, err := mbox.Attach(packetizer.Block{Path: path, Offset: l.mailbox}, 2)
	must(err)
	c, err := rdmaeng.AllocChannel(rdmaeng.Block{Path: path, Offset: l.channel}, 2)
	must(err)
	_, w := c.Expose(make([]byte, 1<<20))
	fmt.Println(uint64(b.Address()), w.Addr, w.Notify)
	time.Sleep(time.Minute)
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	for end := time.Now().Add(time.Minute); !cond(); runtime.Gosched() {
		require.True(t, time.Now().Before(end), "gave up waiting: %s", what)
	}
}

// A process is killed while others send to it and write to its memory: they
// are not held up, they learn of failed writes, and its pages are free again.
func TestProcessDies(t *testing.T) {
	d, err := New(Config{Nodes: []Node{{PDIDs: []uint32{2, 2}}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	pb, mb, cb := d.Blocks(0)
	port, err := packetizer.Attach(pb, 2)
	require.NoError(t, err)
	box, err := mbox.Attach(mb, 2)
	require.NoError(t, err)
	channel, err := rdmaeng.AllocChannel(cb, 2)
	require.NoError(t, err)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleVariable+"="+d.Path(0))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var addr packetizer.Address
	var w rdmaeng.Window
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &addr, &w.Addr, &w.Notify)
	require.NoError(t, err)
	port.SetBook([]packetizer.Address{addr, box.Address()})
	_, err = packetizer.Attach(pb, 2)
	require.ErrorIs(t, err, packetizer.ErrExhausted)

	write := func() error {
		x := &rdmaeng.Transfer{Src: make([]byte, 1<<20), Dst: w}
		channel.Start(x)
		var err error
		eventually(t, "transfer", func() bool {
			var done bool
			done, err = channel.Test(x)
			return done
		})
		return err
	}
	require.NoError(t, write())

	// The child never reads: its mailbox fills up.
	for refused := 0; refused < 1000; {
		if !port.TrySend(0, packetizer.Header{}, nil) {
			refused++
			runtime.Gosched()
		}
	}
	require.NoError(t, child.Process.Kill())
	// Not reaped yet, and nevertheless gone.
	for range 1000 {
		eventually(t, "message to the dead", func() bool { return port.TrySend(0, packetizer.Header{}, nil) })
	}
	require.ErrorIs(t, write(), rdmaeng.ErrGone)
	_ = child.Wait()
	eventually(t, "delivery", port.Drained)
	require.NoError(t, port.Refused())

	for range 2 {
		p, err := packetizer.Attach(pb, 2)
		require.NoError(t, err, "the page of the dead process is free")
		require.NoError(t, p.Close())
	}
	require.True(t, port.TrySend(1, packetizer.Header{}, nil))
	eventually(t, "message", func() bool { _, _, ok := box.Next(); return ok })
	for _, close := range []func() error{port.Close, box.Close, channel.Close} {
		require.NoError(t, close())
	}
}

// Whatever a process writes to its pages, the device goes on for the others.
func TestScribbling(t *testing.T) {
	d, err := New(Config{Nodes: []Node{{PDIDs: []uint32{1, 1, 7}}}, Depth: 8})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	pb, mb, _ := d.Blocks(0)
	port, err := packetizer.Attach(pb, 1)
	require.NoError(t, err)
	box, err := mbox.Attach(mb, 1)
	require.NoError(t, err)
	port.SetBook([]packetizer.Address{box.Address()})

	random := rand.New(rand.NewPCG(1, 2))
	small := func() uint64 { return random.Uint64() >> random.IntN(64) }
	n := uint64(0)
	for range 500 {
		for _, p := range []mmio.Region{d.nodes[0].senders[2].page, d.nodes[0].mailboxes[2].page} {
			words := p.Words(0, mmio.PageSize/8)
			for range 20 {
				i := random.IntN(len(words))
				p.Reg(8 * i).Store(small())
			}
			p.Reg(mmio.RegSend).Store(small())
		}
		c := d.nodes[0].channels[2].page
		for range 20 {
			base := mmio.DescBase + random.IntN(mmio.Descriptors)*mmio.DescSize
			// Another node's address: nothing of this process may be hit.
			c.Reg(base + mmio.DescDst).Store(small() | 1<<63)
			c.Reg(base + mmio.DescNotif).Store(small() | 1<<63)
			c.Reg(base + mmio.DescBytes).Store(small())
			c.Reg(base + mmio.DescDone).Store(small())
			c.Reg(base + mmio.DescSubmit).Store(small())
		}
		require.True(t, port.TrySend(0, packetizer.Header{0, n}, nil))
		eventually(t, "message", func() bool {
			h, _, ok := box.Next()
			if ok {
				require.Equal(t, n, h[1])
				box.Release()
			}
			return ok
		})
		n++
	}
	require.NoError(t, port.Close())
	require.NoError(t, box.Close())
}

func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	d, err := New(Config{Nodes: []Node{{PDIDs: []uint32{1}}}})
	require.NoError(t, err)
	pb, _, _ := d.Blocks(0)
	p, err := packetizer.Attach(pb, 1)
	require.NoError(t, err)
	p.SetBook([]packetizer.Address{0})
	require.Error(t, d.File(0).Truncate(0), "a process could cut pages off")
	require.NoError(t, d.Close())
	require.ErrorIs(t, d.Close(), os.ErrClosed)
	eventually(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before })
	require.True(t, p.TrySend(0, packetizer.Header{}, nil), "the mapping of a process outlives the device")
	require.NoError(t, p.Close())
}

func TestConfig(t *testing.T) {
	one := Node{PDIDs: []uint32{1}}
	small, err := os.Create(t.TempDir() + "/registers")
	require.NoError(t, err)
	defer small.Close()
	for _, c := range []Config{
		{},
		{Nodes: []Node{{}}},
		{Nodes: []Node{{PDIDs: make([]uint32, 257)}}},
		{Nodes: []Node{one}, Depth: -1},
		{Nodes: []Node{one, one}},                                      // two of one ID
		{Nodes: []Node{one, {ID: 1, PDIDs: []uint32{1}, File: small}}}, // no room
	} {
		_, err := New(c)
		require.Error(t, err)
	}
}
