// Package endpoint joins the three device wrappers into one endpoint, which
// is what the mpi package needs of a fabric.
//
//	Attach       takes a page of each block: a mailbox, a packetizer page and
//	             an RDMA channel of one protection group
//	Entry        what the other ranks must know of this one
//	Join         makes the others known to this one
//	Locate       finds the blocks of a device by its path, and checks them
//	Find         finds that path where the system names the device
//	Open         all of it, with the directory of a software device
//	Detector     finds out which ranks have ended, where no launcher tells
//
// On the prototype the entries are exchanged by whatever starts the ranks
// (PMPI_Allgather in thesis 3.2.1). A software device (emu/regs) has no second
// network; it offers a table in its own memory instead, the directory.
package endpoint

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/internal/sys"
	"github.com/exanet-mpi/exanet/mbox"
	"github.com/exanet-mpi/exanet/packetizer"
	"github.com/exanet-mpi/exanet/rdmaeng"
)

// The wrappers under names of their own, since all three are called Device.
type (
	port    = packetizer.Device
	box     = mbox.Device
	channel = rdmaeng.Device
)

// Endpoint is a rank's access to the fabric: a packetizer.Port, an mbox.Box
// and an rdmaeng.Engine. It is not safe for concurrent use.
type Endpoint struct {
	*port
	*box
	*channel
	path       string // of the device
	rank, size int
	nodes      []uint16 // of the ranks
}

// Blocks says where the blocks of a device are.
type Blocks struct {
	Packetizer, Mailbox, Channel packetizer.Block
}

// Entry is what a rank tells the others.
type Entry struct {
	Mailbox packetizer.Address
	Offset  uint64 // of the RDMA channel, for rdmaeng.Address
	Table   uint64 // of the Detector, where there is one
}

// Attach takes a page of each block with the given protection ID, 0 for
// whatever the driver assigns. Errors are those of packetizer.Attach; what was
// taken before an error is given back.
func Attach(b Blocks, pdid uint32) (*Endpoint, error) {
	e := &Endpoint{path: b.Mailbox.Path}
	var err error
	if e.box, err = mbox.Attach(b.Mailbox, pdid); err != nil {
		return nil, err
	}
	// The three must agree, or others would be told an ID that this one does
	// not send with.
	pdid = e.box.ProtectionID()
	if e.port, err = packetizer.Attach(b.Packetizer, pdid); err == nil {
		e.channel, err = rdmaeng.AllocChannel(b.Channel, pdid)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Entry returns what the other ranks must know.
func (e *Endpoint) Entry() Entry {
	return Entry{Mailbox: e.box.Address(), Offset: e.channel.Offset()}
}

// Join makes the ranks known to this one, which is rank among them. Errors are those of ranks that it cannot reach.
func (e *Endpoint) Join(rank int, entries []Entry) error {
	if err := e.reachable(entries); err != nil {
		return err
	}
	e.rank, e.size, e.nodes = rank, len(entries), nil
	book := make([]packetizer.Address, len(entries))
	for i, x := range entries {
		book[i] = x.Mailbox
		node, _, _ := mmio.SplitMailboxAddress(uint64(x.Mailbox))
		e.nodes = append(e.nodes, node)
	}
	e.port.SetBook(book)
	return nil
}

// Open attaches to the software device at path, enters rank into its
// directory and waits until all size ranks are there, at most for timeout.
// Errors are those of Attach, ErrRank, and a *MissingError.
func Open(path string, rank, size int, pdid uint32, timeout time.Duration) (*Endpoint, error) {
	dir, err := openDirectory(path)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	if size < 1 || size > dir.capacity || rank < 0 || rank >= size {
		return nil, &RankError{Path: path, Rank: rank, Size: size, Capacity: dir.capacity}
	}
	blocks, err := dir.blocks()
	if err != nil {
		return nil, err
	}
	e, err := Attach(blocks, pdid)
	if err != nil {
		return nil, err
	}
	if err := dir.publish(rank, e.Entry()); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	entries, err := dir.wait(size, timeout)
	if err != nil {
		dir.withdraw(rank)
		return nil, errors.Join(err, e.Close())
	}
	// The entry stays, so that the others see the same and not a missing rank.
	if err := e.Join(rank, entries); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// reachable checks that every rank can be reached.
func (e *Endpoint) reachable(entries []Entry) error {
	pdid := e.ProtectionID()
	at := make(map[packetizer.Address]int)
	for i, x := range entries {
		if other, taken := at[x.Mailbox]; taken {
			node, _, index := mmio.SplitMailboxAddress(uint64(x.Mailbox))
			return &packetizer.Error{Op: fmt.Sprintf("join rank %d from", i), Path: e.path, Page: -1, Err: ErrNode,
				Cause: fmt.Errorf("ranks %d and %d both have mailbox %d of node %d", other, i, index, node),
				Do:    "give each node an ID of its own"}
		}
		at[x.Mailbox] = i
		if _, theirs, _ := mmio.SplitMailboxAddress(uint64(x.Mailbox)); theirs != pdid {
			return &packetizer.Error{Op: fmt.Sprintf("join rank %d from", i), Path: e.path, Page: -1, PDID: pdid,
				Err: packetizer.ErrProtection, Cause: fmt.Errorf("that rank has %d", theirs),
				Do: "start all ranks of a job with one protection ID"}
		}
	}
	return nil
}

// Rank is this endpoint's place among the ranks.
func (e *Endpoint) Rank() int { return e.rank }

// Size is the number of ranks.
func (e *Endpoint) Size() int { return e.size }

// Node is the node of a rank.
func (e *Endpoint) Node(rank int) uint16 { return e.nodes[rank] }

// ProtectionID is the ID of the protection group, MBOX_GET_PROTECTION_ID of
// the thesis (2.4).
func (e *Endpoint) ProtectionID() uint32 { return e.box.ProtectionID() }

// Rounds of Idle that return at once and that yield, and the sleep after that.
const (
	spinRounds  = 64
	yieldRounds = 512
	pause       = 50 * time.Microsecond
)

// Idle is called by a rank that waits, after its round-th poll in a row that
// found nothing. The device has no doorbell, so a rank that waits long polls
// at the pace of its sleeps.
func (e *Endpoint) Idle(round int) {
	switch {
	case round < spinRounds:
	case round < yieldRounds:
		runtime.Gosched() // ranks may be goroutines of one process,
		sys.Yield()       // or processes on one core
	default:
		time.Sleep(pause)
	}
}

// Close gives the pages back. Messages on their way are still delivered.
func (e *Endpoint) Close() error {
	var errs []error
	if e.channel != nil {
		errs = append(errs, e.channel.Close())
	}
	if e.port != nil {
		errs = append(errs, e.port.Close())
	}
	if e.box != nil {
		errs = append(errs, e.box.Close())
	}
	return errors.Join(errs...)
}
