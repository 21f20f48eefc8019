// Package regs is the prototype's hardware in software, register for register
// (docs/registers.md): the same pages, the same counters, the same order of
// writes. The wrappers packetizer.Device, mbox.Device and rdmaeng.Device
// cannot tell it from the real blocks, so what runs here exercises the code
// that runs there.
//
//	regs.go       the device: nodes, and the goroutines that serve all of them
//	node.go       a node: its register file, the pages in it and what their
//	              hardware remembers
//	packets.go    the packetizers, mailboxes and links: one goroutine
//	rdma.go       the RDMA engines: one goroutine
//	agent.go      what the agents of the nodes start writes for
//	memory.go     how the engines reach the memory of a node's processes
//	window.go     the same without an SMMU, and without coherent caches
//	directory.go  tells each node of the ranks of the others: one goroutine
//	owners.go     frees the pages of processes that have ended: one goroutine
//	faults.go     faults that tests plant
//	pace.go       how the goroutines wait when there is nothing to do
//
// A node is what the prototype calls by that name: it has a register file of
// its own, which is all that its processes see, and they reach other nodes by
// the node ID in an address alone. Nodes may share a machine or not: what
// tells them apart is Memory.
//
// Processes of this machine reach their node through Path and take pages by
// compare-and-swap on OWNER, which holds the process ID: device and processes
// share a PID namespace. The engine reaches into them by cross-memory attach,
// so all run as the same user. The device keeps protection IDs and the
// counters that it writes in memory of its own, and no value of a register
// stops it; but every process maps every page of its node, so protection IDs
// catch mistakes here, not malice.
package regs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/exanet-mpi/exanet/internal/mmio"
)

// Config describes a device.
type Config struct {
	Nodes []Node
	Depth int   // messages a mailbox holds; 0: 256
	Fault Fault // planted by tests; "": none
}

// Node describes a node of the device.
type Node struct {
	ID    uint8    // no other node has it
	PDIDs []uint32 // protection ID of each interface; there are 1 to 256

	// File is where the registers are to be: Size bytes at least, from its
	// start. It stays the caller's. Nil: a memory file of the device's own.
	File *os.File

	// Memory leads to the memory of the node's processes; whoever gives it also
	// frees the pages of those that have ended. Nil: they are processes of
	// this machine, and the device frees their pages.
	Memory Memory

	// Flags are those of its ID registers besides CLAIM: what processes have to do for Memory.
	Flags uint16

	// Window is for a device without an SMMU: how many bytes of pinned memory
	// each channel has, which are all that it reaches; whole pages. 0: the
	// memory of its owner. Incoherent: caches stand between that memory and
	// the processes, who have to maintain them.
	Window     int
	Incoherent bool
}

// Device is a running software device.
type Device struct {
	depth int
	fault Fault
	nodes []*node
	at    [MostNodes]*node // by node ID
	agents

	stop atomic.Bool
	wait sync.WaitGroup
}

// MostNodes is how many nodes there can be, since an Exanet address has 8 bits for them.
const MostNodes = 256

// defaultDepth is that of a mailbox whose depth nobody cares for.
const defaultDepth = 256

// interfaces is how many there are in all.
func (c Config) interfaces() (n int) {
	for _, x := range c.Nodes {
		n += len(x.PDIDs)
	}
	return n
}

// layout is that of a node's register file, whose directory has room for the
// ranks of all nodes.
func (c Config) layout(node int) layout {
	depth := c.Depth
	if depth == 0 {
		depth = defaultDepth
	}
	return layoutOf(len(c.Nodes[node].PDIDs), depth, c.interfaces()).withWindows(c.Nodes[node])
}

// Size is how many bytes the registers of a node take.
func (c Config) Size(node int) int64 { return c.layout(node).size }

// check says what is wrong with a configuration.
func (c Config) check() error {
	if len(c.Nodes) == 0 {
		return errors.New("no nodes: a software device has at least one")
	}
	if c.Depth < 0 {
		return fmt.Errorf("mailboxes of %d messages: they hold at least one", c.Depth)
	}
	ids := map[uint8]int{}
	for i, n := range c.Nodes {
		if len(n.PDIDs) < 1 || len(n.PDIDs) > 256 {
			return fmt.Errorf("node %d has %d interfaces: want 1 to 256", n.ID, len(n.PDIDs))
		}
		windows := n.Window > 0
		if n.Window%mmio.PageSize != 0 || n.Window < 0 || windows && n.Memory != nil || n.Incoherent && !windows {
			return fmt.Errorf("node %d has windows of %d bytes: want whole pages, and no other Memory", n.ID, n.Window)
		}
		if other, taken := ids[n.ID]; taken {
			return fmt.Errorf("nodes %d and %d of the list both have ID %d: each has one of its own", other, i, n.ID)
		}
		ids[n.ID] = i
	}
	return nil
}

// New makes a device and starts it. It runs until Close.
func New(cfg Config) (*Device, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("software device: %w", err)
	}
	if cfg.Depth == 0 {
		cfg.Depth = defaultDepth
	}
	d := &Device{depth: cfg.Depth, fault: cfg.Fault}
	for i, c := range cfg.Nodes {
		n, err := newNode(c, cfg, i)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("software device: node %d: %w", c.ID, err), d.closeNodes())
		}
		d.nodes = append(d.nodes, n)
		d.at[c.ID] = n
	}
	for _, run := range []func(){d.runPackets, d.runEngine, d.runOwners, d.runDirectory} {
		d.wait.Go(run)
	}
	return d, nil
}

// File is the file of a node's registers. A child process that inherits it
// opens it as /proc/self/fd/N. Nodes are numbered as in Config.
func (d *Device) File(node int) *os.File { return d.nodes[node].file }

// Path opens the registers of a node from any process of this user while the
// device runs. The directory of docs/registers.md is at offset 0.
func (d *Device) Path(node int) string { return d.nodes[node].file.Name() }

// Blocks returns the blocks' places in a node's file.
func (d *Device) Blocks(node int) (packetizer, mailbox, channel mmio.Block) {
	path, l := d.Path(node), d.nodes[node].lay
	return mmio.Block{Path: path, Offset: l.packetizer},
		mmio.Block{Path: path, Offset: l.mailbox},
		mmio.Block{Path: path, Offset: l.channel}
}

// Close stops the hardware. Processes that hold pages keep their mappings;
// what they submit from now on stays where it is.
func (d *Device) Close() error {
	if d.stop.Swap(true) {
		return os.ErrClosed
	}
	d.wait.Wait()
	return d.closeNodes()
}

func (d *Device) closeNodes() error {
	var errs []error
	for _, n := range d.nodes {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}
