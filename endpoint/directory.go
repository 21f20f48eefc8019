package endpoint

import (
	"errors"
	"fmt"
	"time"

	"github.com/exanet-mpi/exanet/internal/mmio"
	"github.com/exanet-mpi/exanet/packetizer"
)

// What Open reports besides the errors of the blocks, for errors.Is.
var (
	ErrRank    = errors.New("no such rank, or it is taken")
	ErrMissing = errors.New("ranks are missing")
)

// RankError is a rank that cannot be entered into a directory.
type RankError struct {
	Path       string
	Rank, Size int // as given to Open
	Capacity   int // ranks that the directory has room for
	Taken      bool
}

func (e *RankError) Error() string {
	if e.Taken {
		return fmt.Sprintf("directory of %s: rank %d has already joined; give every process a rank of its own, and "+
			"every job a device", e.Path, e.Rank)
	}
	return fmt.Sprintf("directory of %s: rank %d of %d, with room for %d; start fewer ranks or a device with more "+
		"interfaces",
		e.Path, e.Rank, e.Size, e.Capacity)
}

func (e *RankError) Is(target error) bool { return target == ErrRank }

// MissingError names the ranks that did not join in time.
type MissingError struct {
	Path    string
	Ranks   []int
	Size    int
	Timeout time.Duration
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("directory of %s: of %d ranks, %v have not joined within %v; see whether they were started "+
		"and what they print",
		e.Path, e.Size, e.Ranks, e.Timeout)
}

func (e *MissingError) Is(target error) bool { return target == ErrMissing }

// directory is the table of a software device. It serves one job: the entry of
// a rank that has joined is never cleared, so a rank that leaves early is still
// found by one that reads late.
type directory struct {
	path     string
	region   mmio.Region
	capacity int
}

// openDirectory maps the table, which is at offset 0 of the device.
func openDirectory(path string, rank, size int) (*directory, error) {
	f, err := mmio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head, err := mmio.Map(f, 0, mmio.PageSize)
	if err != nil {
		return nil, err
	}
	id, capacity := head.Reg(mmio.RegID).Load(), int(head.Reg(mmio.RegCount).Load())
	_ = head.Close()
	if uint32(id>>32) != mmio.KindDirectory || uint16(id) != mmio.Version {
		return nil, &packetizer.Error{Op: "open directory", Path: path, Page: -1, Err: packetizer.ErrNoDevice,
			Cause: fmt.Errorf("ID register is %#x", id), Do: "give the path of a software device of this version"}
	}
	if size < 1 || size > capacity || rank < 0 || rank >= size {
		return nil, &RankError{Path: path, Rank: rank, Size: size, Capacity: capacity}
	}
	region, err := mmio.Map(f, 0, mmio.DirBase+capacity*mmio.DirSize)
	if err != nil {
		return nil, err
	}
	return &directory{path, region, capacity}, nil
}

func (d *directory) blocks() Blocks {
	at := func(reg int) packetizer.Block {
		return packetizer.Block{Path: d.path, Offset: int64(d.region.Reg(reg).Load())}
	}
	return Blocks{at(mmio.DirPacketizer), at(mmio.DirMailbox), at(mmio.DirChannel)}
}

// publish enters a rank. STATE is claimed first and set to ready last.
func (d *directory) publish(rank int, e Entry) error {
	base := mmio.DirBase + rank*mmio.DirSize
	state := d.region.Reg(base + mmio.EntryState)
	if !state.CompareAndSwap(mmio.EntryEmpty, mmio.EntryFilling) {
		return &RankError{Path: d.path, Rank: rank, Capacity: d.capacity, Taken: true}
	}
	d.region.Reg(base + mmio.EntryMailbox).Store(uint64(e.Mailbox))
	d.region.Reg(base + mmio.EntryOffset).Store(e.Offset)
	state.Store(mmio.EntryReady)
	return nil
}

// withdraw takes back the entry of a rank that could not join after all, so
// that those who still wait do not count on it.
func (d *directory) withdraw(rank int) {
	d.region.Reg(mmio.DirBase + rank*mmio.DirSize + mmio.EntryState).Store(mmio.EntryEmpty)
}

// wait reads the entries of all ranks as they appear.
func (d *directory) wait(size int, timeout time.Duration) ([]Entry, error) {
	deadline := time.Now().Add(timeout)
	for {
		var missing []int
		entries := make([]Entry, size)
		for r := range entries {
			base := mmio.DirBase + r*mmio.DirSize
			if d.region.Reg(base+mmio.EntryState).Load() != mmio.EntryReady {
				missing = append(missing, r)
				continue
			}
			entries[r] = Entry{
				Mailbox: packetizer.Address(d.region.Reg(base + mmio.EntryMailbox).Load()),
				Offset:  d.region.Reg(base + mmio.EntryOffset).Load(),
			}
		}
		if len(missing) == 0 {
			return entries, nil
		}
		if !time.Now().Before(deadline) {
			return nil, &MissingError{Path: d.path, Ranks: missing, Size: size, Timeout: timeout}
		}
		time.Sleep(time.Millisecond)
	}
}

func (d *directory) close() { _ = d.region.Close() }
