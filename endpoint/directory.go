package endpoint

import (
	"errors"
	"fmt"
	"os"
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

// directory is what the registers of a node begin with: where the blocks are, and in software devices a table of
// ranks. The table serves one job: the entry of a rank that has joined is never cleared, so a rank that leaves early is
// still found by one that reads late.
type directory struct {
	path     string // as it was given
	file     *os.File
	base     int64 // where the registers begin in the file
	region   mmio.Region
	capacity int // of the table
}

// openDirectory maps the directory of the device at a place, see Locate.
func openDirectory(text string) (*directory, error) {
	path, base, err := Place(text)
	if err != nil {
		return nil, err
	}
	f, err := mmio.Open(path)
	if err != nil {
		return nil, err
	}
	d := &directory{path: text, file: f, base: base}
	head, err := mmio.Map(f, base, mmio.PageSize)
	if err == nil {
		err = mmio.CheckID(packetizer.Block{Path: text, Offset: base}, head.Reg(mmio.RegID).Load(), mmio.KindDirectory)
		d.capacity = int(head.Reg(mmio.RegCount).Load())
		_ = head.Close()
	}
	if err == nil {
		d.region, err = mmio.Map(f, base, mmio.DirBase+d.capacity*mmio.DirSize)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return d, nil
}

// blocks are those that the directory names, once they are checked.
func (d *directory) blocks() (Blocks, error) {
	var found [3]packetizer.Block
	for i, x := range []struct {
		kind uint32
		reg  int
	}{
		{mmio.KindPacketizer, mmio.DirPacketizer}, {mmio.KindMailbox, mmio.DirMailbox},
		{mmio.KindChannel, mmio.DirChannel},
	} {
		found[i] = packetizer.Block{Path: d.file.Name(), Offset: d.base + int64(d.region.Reg(x.reg).Load())}
		if err := checkBlock(d.file, found[i], x.kind, d.region.Reg(mmio.RegNode).Load()); err != nil {
			return Blocks{}, err
		}
	}
	return Blocks{found[0], found[1], found[2]}, nil
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

func (d *directory) close() {
	_ = d.region.Close()
	_ = d.file.Close()
}
