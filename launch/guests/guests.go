//go:build linux

// Package guests boots ARM64 machines under QEMU as nodes of the prototype. The registers of
// a node are the memory of a PCI device of its guest (QEMU's ivshmem), the software device
// (emu/regs) on the host is the hardware behind them, and reaches the guests' memory by the
// page tables of their processes (emu/guest).
//
//	guests.go   Start and Close: the device, the memory files, the guests
//	qemu.go     a guest's QEMU
//	image.go    what a guest boots: our first process (init/), programs, modules
//	build.go    fetches the kernel, and builds programs and u-root's shell for the guests
//	keyboard.go what is typed on a console, from before a guest has booted
//	node.go     a node as the host sees it: the conversation with its first process
//	program.go  programs that run there, and jobs with a rank on each node
//
// The guests go with the thread that has started them, and their memory has no names: nothing
// is left when this process ends, whatever of.
package guests

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/exanet-mpi/exanet/emu/guest"
	"github.com/exanet-mpi/exanet/emu/regs"
	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/launch/guests/wire"
)

// Config describes some guests.
type Config struct {
	Kernel     string   // folder that scripts/guests.sh has filled
	Image      *os.File // of NewImage
	Nodes      int
	Memory     int    // of each, in MiB
	Interfaces int    // of each block, on each node; that is how many ranks a node can have
	Shell      string // program on the consoles; empty: none

	// Console is the console of each guest: what it prints is written there. Nil discards.
	Console []io.ReadWriter

	// Jobs gets what jobs print that people start in a guest. Nil discards.
	Jobs io.Writer
}

// Guests are running guests.
type Guests struct {
	Nodes  []*Node
	jobs   io.Writer
	device *regs.Device
	memory []*guest.Memory
	files  []*os.File
	door   net.Listener
	booted chan struct{} // closed when all have
	cancel context.CancelFunc
	wait   sync.WaitGroup // of the guests
}

const (
	ramBase      = 0x40000000 // of QEMU's machine "virt"
	protectionID = 1
	bootTime     = time.Minute // on a machine that is busy otherwise, too
)

// Start boots guests and returns when all have. They end with ctx, or Close.
func Start(ctx context.Context, cfg Config) (_ *Guests, err error) {
	qemu, err := findQEMU()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(cfg.Kernel, kernelFile)); err != nil {
		return nil, fmt.Errorf("no kernel for guests: %w: scripts/guests.sh fetches one", err)
	}
	g := &Guests{jobs: io.Discard, booted: make(chan struct{})}
	if cfg.Jobs != nil {
		g.jobs = cfg.Jobs
	}
	ctx, g.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	c := regs.Config{}
	for i := range cfg.Nodes {
		n := regs.Node{ID: uint8(i), Flags: mmio.FlagPresent}
		for range cfg.Interfaces {
			n.PDIDs = append(n.PDIDs, protectionID)
		}
		c.Nodes = append(c.Nodes, n)
	}
	for i := range c.Nodes {
		ram, err := g.file("exanet-ram", int64(cfg.Memory)<<20)
		if err != nil {
			return nil, err
		}
		size := int64(1 << 12) // a PCI device's memory is a power of two
		for size < c.Size(i) {
			size *= 2
		}
		bar, err := g.file("exanet-registers", size)
		if err != nil {
			return nil, err
		}
		m, err := guest.New(ram, ramBase, bar)
		if err != nil {
			return nil, err
		}
		g.memory = append(g.memory, m)
		c.Nodes[i].File, c.Nodes[i].Memory = bar, m
		g.Nodes = append(g.Nodes, &Node{Number: i, guests: g, ram: ram, bar: bar, gone: make(chan struct{}),
			programs: make(map[int]*Program)})
	}
	if g.device, err = regs.New(c); err != nil {
		return nil, err
	}
	if g.door, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	return g, g.boot(ctx, qemu, cfg)
}

// file makes a memory file without a name, which goes with Close.
func (g *Guests) file(label string, size int64) (*os.File, error) {
	fd, err := sys.SealedMemory(label, size)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), label)
	g.files = append(g.files, f)
	return f, nil
}

// boot starts the guests, and waits until each has said hello.
func (g *Guests) boot(ctx context.Context, qemu string, cfg Config) error {
	token := rand.Text()
	_, port, err := net.SplitHostPort(g.door.Addr().String())
	if err != nil {
		return err
	}
	var between [2]*os.File // the ends of the network between two guests
	if len(g.Nodes) == len(between) {
		ends, err := sys.Socketpair()
		if err != nil {
			return err
		}
		for i, fd := range ends {
			between[i] = os.NewFile(uintptr(fd), "between guests")
		}
	}
	started := make(chan error, cfg.Nodes)
	for i, n := range g.Nodes {
		q := machine{qemu: qemu, cfg: cfg, node: n}
		if i < len(cfg.Console) {
			q.console = cfg.Console[i]
		}
		if i < len(between) {
			q.between = between[i]
		}
		q.said = map[string]string{wire.Node: strconv.Itoa(i), wire.Host: net.JoinHostPort(wire.Gateway, port),
			wire.Token: token, wire.Shell: cfg.Shell}
		g.wait.Go(func() {
			runtime.LockOSThread() // the guest ends with this thread
			n.run(q, started)
		})
	}
	for range g.Nodes {
		err = errors.Join(err, <-started)
	}
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() {
		for _, n := range g.Nodes {
			n.Kill()
		}
	})
	if err := g.welcome(token); err != nil {
		return err
	}
	close(g.booted)
	for _, n := range g.Nodes {
		go n.keys.plug(n.line)
	}
	return nil
}

// welcome waits for all guests.
func (g *Guests) welcome(token string) error {
	late := time.AfterFunc(bootTime, func() { _ = g.door.Close() })
	defer late.Stop()
	dead := make(chan struct{})
	defer close(dead)
	for _, n := range g.Nodes {
		go func() {
			select {
			case <-n.gone:
				_ = g.door.Close()
			case <-dead:
			}
		}()
	}
	for missing := len(g.Nodes); missing > 0; {
		c, err := g.door.Accept()
		if err != nil {
			return g.absent()
		}
		if g.greet(c, token) {
			missing--
		} else {
			_ = c.Close() // of somebody else on this host
		}
	}
	return nil
}

// absent says why a guest has not come.
func (g *Guests) absent() error {
	for _, n := range g.Nodes {
		select {
		case <-n.gone:
			return fmt.Errorf("node %d has ended before it was there: %w", n.Number, n.err)
		default:
		}
	}
	return fmt.Errorf("the guests have not booted within %v", bootTime)
}

// Close ends the guests.
func (g *Guests) Close() {
	g.cancel()
	for _, n := range g.Nodes {
		n.Kill()
	}
	g.wait.Wait()
	if g.door != nil {
		_ = g.door.Close()
	}
	if g.device != nil {
		_ = g.device.Close()
	}
	for _, m := range g.memory {
		m.Close()
	}
	for _, f := range g.files {
		_ = f.Close()
	}
}
